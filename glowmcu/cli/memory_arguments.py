"""What `compile` may take and where things go: budgets, regions, inputs that stay."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, TypeVar

import click

from glowmcu.cli.amount_types import byte_count
from glowmcu.cli.completion import complete_place
from glowmcu.errors import error
from glowmcu.given_once import given_once
from glowmcu.lazy_dataclass import dataclass

_F = TypeVar("_F", bound=Callable[..., object])


@dataclass(frozen=True)
class MemoryArguments:
    """As `glowmcu.compile` takes them."""

    flash_budget: int | None = None
    arena_budget: int | None = None
    keep_inputs: tuple[str, ...] = ()
    place: Mapping[str, str] = field(default_factory=dict)


def memory_options(function: _F) -> _F:
    """The options, as one argument `memory`."""

    @functools.wraps(function)
    def with_memory(
        flash_budget: int | None,
        arena_budget: int | None,
        keep_input: tuple[str, ...],
        place: tuple[str, ...],
        **others: Any,  # noqa: ANN401 - whatever the command takes besides
    ) -> object:
        memory = MemoryArguments(flash_budget, arena_budget, keep_input, parse_places(place))
        return function(memory=memory, **others)

    options = (
        click.option("--flash-budget", type=byte_count, metavar="BYTES",
                     help="Most flash for code and constants: 65536, 64K."),
        click.option("--arena-budget", "--ram-budget", type=byte_count, metavar="BYTES",
                     help="Most RAM for the arena: 20480, 20K."),
        click.option("--keep-input", multiple=True, metavar="NAME",
                     help="An input that a run leaves as it was written."),
        click.option("--place", multiple=True, metavar="WHAT=REGION|auto",
                     shell_complete=complete_place,
                     help="Put arena, weights, code or weights:LAYER, code:LAYER into a region of "
                     "the board."),
    )  # fmt: skip
    wrapped: Any = with_memory
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


def parse_places(texts: tuple[str, ...]) -> dict[str, str]:
    """`WHAT=REGION`, several times, as a dictionary; `auto` stands for itself. Raises GM154,
    GM721.
    """
    return given_once("--place", texts, _place)


def _place(text: str) -> tuple[str, str]:
    what, _, region = ("auto", "", "auto") if text == "auto" else text.rpartition("=")
    if not what or not region:
        raise error(
            "GM721",
            f"--place takes WHAT=REGION or auto, got {text!r}",
            hint="for example --place arena=dtcm --place weights:conv_3=itcm",
        )
    return what, region
