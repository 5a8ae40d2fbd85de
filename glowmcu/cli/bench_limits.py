"""`bench --max-cycles` and `--max-stack`: what one inference may cost."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from glowmcu.api.benchmark import BenchLimits
from glowmcu.cli.amount_types import byte_count, cycle_count

_F = TypeVar("_F", bound=Callable[..., object])


def limit_options(function: _F) -> _F:
    """The options, as one argument `limits`. They do not go with `--hot`, which measures the first
    run only: in a pipeline that is not the dearest.
    """

    @functools.wraps(function)
    def with_limits(
        max_cycles: int | None,
        max_stack: int | None,
        **others: Any,  # noqa: ANN401 - whatever the command takes besides
    ) -> object:
        limits = BenchLimits(max_cycles, max_stack)
        if others["hot"] is not None and limits != BenchLimits():
            raise click.UsageError("--max-cycles and --max-stack do not go with --hot: call twice")
        return function(limits=limits, **others)

    options = (
        click.option("--max-cycles", type=cycle_count, metavar="CYCLES",
                     help="Exit code 4 where one inference takes more: 100000, 100K, 1.5M."),
        click.option("--max-stack", type=byte_count, metavar="BYTES",
                     help="Exit code 4 where one inference takes more stack: 2048, 2K."),
    )  # fmt: skip
    wrapped: Any = with_limits
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]
