"""Constructor checks that several layers share; each names the argument."""


def check_positive(**arguments):
    """Raises ValueError unless every argument is an integer of 1 or more."""
    for name, value in arguments.items():
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        if not is_integer or value < 1:
            raise ValueError(
                f"`{name}` must be an integer of 1 or more. Received: "
                f"{name}={value!r}"
            )


def check_rate(**arguments):
    """Raises ValueError unless every argument is a rate in [0, 1)."""
    for name, value in arguments.items():
        is_number = isinstance(value, (int, float))
        if not is_number or isinstance(value, bool) or not 0 <= value < 1:
            raise ValueError(
                f"`{name}` must be a number in [0, 1). Received: "
                f"{name}={value!r}"
            )


def check_epsilon(**arguments):
    """Raises ValueError unless every argument is a number of 0 or more."""
    for name, value in arguments.items():
        is_number = isinstance(value, (int, float))
        if not is_number or isinstance(value, bool) or not value >= 0:
            raise ValueError(
                f"`{name}` must be a number of 0 or more. Received: "
                f"{name}={value!r}"
            )


def check_heads(hidden_dim, num_heads):
    """Raises ValueError unless `num_heads` divides `hidden_dim`."""
    if hidden_dim % num_heads:
        raise ValueError(
            "`hidden_dim` must be a multiple of `num_heads`. Received: "
            f"hidden_dim={hidden_dim}, num_heads={num_heads}"
        )
