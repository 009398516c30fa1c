"""The precision that training computes in."""

import time

from keras import ops

from pipelines.console import say

POLICIES = {
    "float32": "float32",
    "bfloat16": "mixed_bfloat16",
    "float16": "mixed_float16",
}
# The rest of a step gains less from bfloat16 than its products do, or loses.
_WORTH_IT = 1.3
# A shorter product is measured together with the call of it.
_LONG_ENOUGH = 0.003
_REPEATS = 5


def choose_precision(precision: str) -> str:
    """The precision meant by `--precision`.

    `auto` is bfloat16 where this machine multiplies matrices in it at least
    1.3 times as fast on the running backend, and float32 elsewhere. Unlike
    float16, bfloat16 has the range of float32 and needs no scaled loss.

    Returns:
        A key of `POLICIES`.
    """
    if precision != "auto":
        return precision
    ratio = times_as_fast_in_bfloat16()
    precision = "bfloat16" if ratio >= _WORTH_IT else "float32"
    say(
        f"Precision: {precision} (products are {ratio:.1f} times as fast in "
        "bfloat16 as in float32 here; --precision chooses)"
    )
    return precision


def times_as_fast_in_bfloat16() -> float:
    """Seconds of a float32 product over those of the same in bfloat16."""
    size = 512
    while _seconds(size, "float32") < _LONG_ENOUGH:
        size *= 2
    return _seconds(size, "float32") / _seconds(size, "bfloat16")


def _seconds(size, dtype):
    """Of the fastest of some products of square matrices."""
    matrix = ops.ones((size, size), dtype)
    found = []
    for _ in range(_REPEATS + 1):  # the first one compiles
        start = time.perf_counter()
        # One number comes back, so the product is done.
        float(ops.matmul(matrix, matrix)[0, 0])
        found.append(time.perf_counter() - start)
    return min(found[1:])
