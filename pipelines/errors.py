"""The errors that tell the user something; all others are faults of ours."""


class InputError(ValueError):
    """Raised for a wrong file, option or argument of the user's.

    The message names what was expected, what was found, where (file and
    line, row or option) and what to do. The command line prints it as it is
    and exits with code 2.
    """


class RunFailed(RuntimeError):
    """Raised when right options and data led nowhere, as in divergence.

    The command line prints the message as it is and exits with code 1.
    """
