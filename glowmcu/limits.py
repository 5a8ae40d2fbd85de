"""How much memory a compilation may ask for: sizes are checked before anything is allocated.

A hundred bytes of a model can name a tensor of terabytes. The limit belongs to the computer, not to
the model: nothing that is computed depends on it, only what is refused does. So it is no option of
a stage but set around a call, as `numpy.errstate` is: `with glowmcu.memory_limit(8 << 30): …`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from glowmcu.argument_types import arguments_checked

DEFAULT_MEMORY_BYTES = 2 << 30
_MEMORY: ContextVar[int] = ContextVar("glowmcu_memory_bytes", default=DEFAULT_MEMORY_BYTES)
#: What nobody's computer has is not named as a way out.
_MOST_GIB = 64


@arguments_checked
@contextmanager
def memory_limit(memory_bytes: int) -> Iterator[None]:
    """Within the block a compilation may use about `memory_bytes`; 2 GiB are the default.

    >>> with glowmcu.memory_limit(8 << 30):
    ...     bundle = glowmcu.compile("digits_int8.tflite", output="build/digits")
    """
    if memory_bytes < 1:
        raise ValueError(f"a limit of {memory_bytes} bytes; at least 1 is needed")
    token = _MEMORY.set(memory_bytes)
    try:
        yield
    finally:
        _MEMORY.reset(token)


def memory_bytes() -> int:
    """For all that a call allocates."""
    return _MEMORY.get()


def tensor_bytes() -> int:
    """For one tensor of a model, 16 MiB by default: its meaning widens int8 to 64 bits, and a
    window of an image to a column each.
    """
    return _MEMORY.get() >> 7


def results_bytes() -> int:
    """For all tensors together that nodes make, 128 MiB by default: what runs the model may keep
    them.
    """
    return _MEMORY.get() >> 4


def file_bytes() -> int:
    """For one file of a model, 256 MiB by default."""
    return _MEMORY.get() >> 3


def label_bytes() -> int:
    """For the names of a model's classes, 1 MiB by default."""
    return _MEMORY.get() >> 11


def hint(size_bytes: int, allowed_bytes: int) -> str:
    """The option with which `size_bytes` would be allowed where `allowed_bytes` are: in powers of
    two of 1 GiB.
    """
    needed = -(-size_bytes * _MEMORY.get() // max(allowed_bytes, 1))
    gib = max(-(-needed // (1 << 30)), 1)
    gib = 1 << (gib - 1).bit_length()
    given = f"--max-memory {gib}G" if gib <= _MOST_GIB else "--max-memory"
    return f"{given} raises what is allowed"


def size_text(size_bytes: int) -> str:
    """For people: `16 MiB`, rounded to three digits."""
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size_bytes >= 1 << power:
            return f"{_three_digits(size_bytes, power)} {unit}"
    return f"{size_bytes} B"


def _three_digits(number: int, power: int) -> str:
    if number >> power >= 100:
        return str(number >> power)
    shown = number / (1 << power)
    return f"{shown:.{2 - int(math.log10(shown))}f}".rstrip("0").rstrip(".")
