"""`--rounding`: whose numbers an int8 model has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, get_args

import click

from glowmcu.option_words import RoundingWord

_F = TypeVar("_F", bound=Callable[..., object])


def rounding_option(function: _F) -> _F:
    """Of `compile` and `export`."""
    return click.option(
        "--rounding",
        type=click.Choice(get_args(RoundingWord)),
        default="double",
        show_default=True,
        help="Whose numbers: double, TensorFlow Lite Micro; single, XNNPACK, which LiteRT uses "
        "by default; litert, LiteRT's reference kernels.",
    )(function)
