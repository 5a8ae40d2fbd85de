"""`--max-memory`: how much memory what a file asks for may take."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from glowmcu.cli.amount_types import byte_count
from glowmcu.limits import memory_limit

_F = TypeVar("_F", bound=Callable[..., object])


def memory_limit_option(function: _F) -> _F:
    """The option; it holds for the command as a whole and is no argument of it."""
    return click.option(
        "--max-memory", type=byte_count, metavar="BYTES", expose_value=False, callback=_limit,
        is_eager=True,
        help="Refuse what would take more memory than this: 2G unless given. A tensor of the model "
        "may have 1/128 of it, all results together 1/16, the file 1/8.",
    )(function)  # fmt: skip


def _limit(context: click.Context, option: click.Parameter, value: int | None) -> None:
    if value is not None:
        context.with_resource(memory_limit(value))
