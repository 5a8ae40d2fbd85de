"""What the C interface of a bundle offers beyond a function that runs it all: parts, observers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from glowmcu.lazy_dataclass import dataclass

_F = TypeVar("_F", bound=Callable[..., object])


@dataclass(frozen=True)
class InterfaceArguments:
    """As `glowmcu.compile` takes them."""

    steps: bool = False
    instrument: bool = False
    dump_tensors: bool = False
    labels: str | None = None
    cores: int = 1
    accelerator: str | None = None
    prefetch: bool = False


def interface_options(function: _F) -> _F:
    """The options, as one argument `interface`."""

    @functools.wraps(function)
    def with_interface(
        steps: bool,
        instrument: bool,
        dump_tensors: bool,
        labels: str | None,
        cores: int,
        accelerator: str | None,
        prefetch: bool,
        **others: Any,  # noqa: ANN401 - whatever the command takes besides
    ) -> object:
        return function(
            interface=InterfaceArguments(
                steps, instrument, dump_tensors, labels, cores, accelerator, prefetch
            ),
            **others,
        )

    options = (
        click.option("--steps", is_flag=True,
                     help="Add NAME_run_steps: a run in parts, for watchdogs and schedulers."),
        click.option("--cores", type=click.IntRange(1, 2), default=1, show_default=True,
                     help="2: add NAME_help, with which a second core takes half of the work."),
        click.option("--accelerator", metavar="NAME|FILE.toml",
                     help="Give regions of the model to an accelerator: ethos-u55-128, or one that "
                     "a file describes."),
        click.option("--prefetch", is_flag=True,
                     help="A DMA copies a layer's weights out of slow flash while the layer before "
                     "runs."),
        click.option("--labels", metavar="FILE|none",
                     help="Names of the classes, one a line. Default: those in the model file."),
        click.option("--instrument", is_flag=True,
                     help="Call an observer before and after every layer: cycles on the target."),
        click.option("--dump-tensors", is_flag=True,
                     help="Show that observer what every layer made, too."),
    )  # fmt: skip
    wrapped: Any = with_interface
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]
