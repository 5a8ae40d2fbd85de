"""What a constant array of a bundle holds, by the name that its kernel gives it."""

from __future__ import annotations

from enum import Enum


class ConstantKind(Enum):
    """`STREAM`: weights with biases and multipliers between them, in the order of their reading."""

    WEIGHTS = "weights"
    STREAM = "weights with biases and multipliers"
    BIASES = "biases"
    REQUANTIZATION = "requantization"
    TABLES = "tables"


_STREAMS = frozenset({"stream", "blocks"})
_WEIGHTS = frozenset({"recurrent"})
#: What sums start from: biases with what a zero point adds to them.
_BIASES = frozenset({"offsets"})
_REQUANTIZATION = frozenset({"multipliers", "shifts", "scales", "factors"})


def constant_kind(name: str) -> ConstantKind:
    """Of an array of that name; what has none of the usual names is a table."""
    if name in _STREAMS:
        return ConstantKind.STREAM
    if "weights" in name or name in _WEIGHTS:
        return ConstantKind.WEIGHTS
    if "bias" in name or name in _BIASES:
        return ConstantKind.BIASES
    return ConstantKind.REQUANTIZATION if name in _REQUANTIZATION else ConstantKind.TABLES
