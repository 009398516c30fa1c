"""What is wrong with the files that an encoder or tokenizer comes from."""


class CheckpointError(ValueError):
    """Raised for a folder, file or tensor that cannot be loaded.

    The message names the file or tensor, what was expected, what was found
    and what to do.
    """
