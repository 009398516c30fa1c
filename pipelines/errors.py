"""The one error that means "what you gave me is wrong", not "I am broken"."""


class InputError(ValueError):
    """Raised for a wrong file, option or argument of the user's.

    The message names what was expected, what was found, where (file and
    line, row or option) and what to do. The command line prints it as it is
    and exits with code 2; every other exception is a fault of ours.
    """
