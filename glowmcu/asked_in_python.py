"""Hints for who has no command line: a model in memory comes from a Python program, and what would
help it are arguments of `glowmcu.compile`, not options of the command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Where a model in memory is said to be. No file is there: data beside it cannot be meant.
MEMORY = "<memory>"


def is_in_memory(where: str) -> bool:
    """Whether a place (`<memory>/model.onnx, input 'x'`) is of a model that is no file."""
    return where.startswith(f"{MEMORY}/")


def shapes_argument(shapes: Mapping[str, Sequence[int | str]]) -> str:
    """`input_shapes={'x': (1, 4)}`."""
    return f"input_shapes={ {name: tuple(shape) for name, shape in shapes.items()} }"


def define_argument(sizes: Mapping[str, int | tuple[int, int]]) -> str:
    """`define={'T': 1}`."""
    return f"define={dict(sizes)}"
