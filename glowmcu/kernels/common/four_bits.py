"""Weights of four bits: which ones they are, whatever bits their file has for each."""

from __future__ import annotations

from glowmcu.ir.operation import Array

#: What four bits hold.
LEAST_NIBBLE, MOST_NIBBLE = -8, 7
#: What the comment of a layer says where its kernel stores them so.
FOUR_BITS_NOTES = ("weights of four bits, two in a byte",)


def are_nibbles(weights: Array) -> bool:
    """Whether every value is one of four bits; two of them fit a byte."""
    return bool(weights.min(initial=0) >= LEAST_NIBBLE and weights.max(initial=0) <= MOST_NIBBLE)
