"""Kinds of constant arrays of a bundle, by the name that the kernel gives an array."""

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
#: Start values of sums: biases plus what a zero point adds to them.
_BIASES = frozenset({"offsets"})
_REQUANTIZATION = frozenset({"multipliers", "shifts", "scales", "factors"})


def constant_kind(name: str) -> ConstantKind:
    """The kind of an array of that name; one with none of the usual names is a table."""
    if name in _STREAMS:
        return ConstantKind.STREAM
    if "weights" in name or name in _WEIGHTS:
        return ConstantKind.WEIGHTS
    if "bias" in name or name in _BIASES:
        return ConstantKind.BIASES
    return ConstantKind.REQUANTIZATION if name in _REQUANTIZATION else ConstantKind.TABLES
