"""`--weights`: how many bits weights have, and how code reaches them; one option for both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import click

from glowmcu.lazy_dataclass import dataclass
from glowmcu.option_words import BitsWord, WeightsWord

_BITS = tuple(word for word in get_args(BitsWord) if isinstance(word, str))
_REACHED = get_args(WeightsWord)


@dataclass(frozen=True)
class WeightsGiven:
    """`bits` as `glowmcu.Quantization` takes them, `reached` as `glowmcu.compile` does; None for
    what was not said.
    """

    bits: BitsWord | None = None
    reached: WeightsWord | None = None


def _bits(text: str) -> WeightsGiven:
    """`4`."""
    return _given(text, _BITS)


def _bits_and_reached(text: str) -> WeightsGiven:
    """`4`, `pointer`, or both: `4,pointer`."""
    return _given(text, _BITS, _REACHED)


def _given(text: str, *kinds: tuple[str, ...]) -> WeightsGiven:
    """At most one word of each kind. Raises click's error of a wrong value."""
    found: dict[tuple[str, ...], str] = {}
    for word in map(str.strip, text.split(",")):
        kind = next((kind for kind in kinds if word in kind), None)
        if kind is None:
            words = ", ".join(word for kind in kinds for word in kind)
            raise click.BadParameter(f"{word!r} is not one of {words}")
        if kind in found:
            raise click.BadParameter(f"{found[kind]} and {word} exclude each other")
        found[kind] = word
    bits: Any = found.get(_BITS)
    reached: Any = found.get(_REACHED)
    return WeightsGiven(bits, reached)


def bits_option() -> Callable[[Any], Any]:
    """`--weights` of a command that makes no code."""
    return click.option(
        "--weights", type=_bits, metavar="4|8|mixed",
        help="Bits of the weights of matrix products. mixed: 4 where the samples bear it.",
    )  # fmt: skip


def weights_option() -> Callable[[Any], Any]:
    """`--weights` of `compile`."""
    return click.option(
        "--weights", type=_bits_and_reached, metavar="4|8|mixed,pointer",
        help="Bits of the weights of matrix products; mixed: 4 where the samples bear it. pointer: "
        "NAME_set_weights exchanges them without new code. One of these, or both: 4,pointer.",
    )  # fmt: skip
