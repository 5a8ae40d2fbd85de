"""`glowmcu tune --kernels`: which kernels are best, measured."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from glowmcu.api import KernelProgress, tune_kernels
from glowmcu.cli.given_options import refuse_given
from glowmcu.cli.input_arguments import inputs_again
from glowmcu.cli.output import console, print_json
from glowmcu.given_paths import as_argument
from glowmcu.input_options import InputOptions
from glowmcu.report.kernel_tuning import (
    kernel_tuning_json,
    kernel_tuning_lines,
    kernel_tuning_table,
)
from glowmcu.shell_words import command_line

__all__ = ["check_sample_search", "kernel_options", "run_kernel_tuning"]

_F = TypeVar("_F", bound=Callable[..., object])
#: Parameters of `tune` that both searches take; the rest belongs to the search on samples.
_COMMON = (
    "model", "output", "profile", "board", "optimize", "flash_budget", "arena_budget", "simplify",
    "jobs",
)  # fmt: skip
_OF_SAMPLES = (
    "samples", "preprocess", "labels", "io", "cycle_budget", "trials", "time_limit", "measure",
    "report",
)  # fmt: skip


def kernel_options(function: _F) -> _F:
    """`--kernels` and `--cache`."""
    with_cache = click.option(
        "--cache", type=click.Path(path_type=Path), metavar="DIR",
        help="With --kernels: what was measured already. Default: in the user's cache folder.",
    )(function)  # fmt: skip
    return click.option(
        "--kernels", is_flag=True, help="Measure kernels, do not search the quantization."
    )(with_cache)


def check_sample_search(context: click.Context) -> None:
    """Usage errors of the search on samples."""
    refuse_given(context, ("cache",), "goes with --kernels only")
    if not context.params["samples"]:
        (option,) = (item for item in context.command.params if item.name == "samples")
        raise click.MissingParameter(ctx=context, param=option)


def run_kernel_tuning(
    context: click.Context,
    output: Path | None,
    cache: Path | None,
    inputs: InputOptions,
    as_json: bool,
) -> int:
    """Tune, show, and the exit code."""
    refuse_given(context, _OF_SAMPLES, "has no meaning with --kernels")
    model: Path = context.params["model"]
    common = {name: context.params[name] for name in _COMMON if name not in ("model", "output")}
    file = Path(f"{model.stem}.kernels.json") if output is None else output
    with _bar(as_json) as observer:
        result = tune_kernels(
            model,
            output=file,
            cache=cache,
            input_shapes=inputs.shapes,
            define=inputs.symbols,
            bind=inputs.bind,
            custom=inputs.custom,
            states=inputs.states_given,
            observer=observer,
            **common,
        )
    if as_json:
        print_json(kernel_tuning_json(result))
        return 0
    out = console()
    out.print(kernel_tuning_table(result))
    for line in kernel_tuning_lines(result):
        out.print(line, markup=False)
    profile = context.params["profile"]
    which = ["--profile", as_argument(profile)] if profile else []
    which += ["--board", str(context.params["board"]), "--kernels", as_argument(file)]
    again = command_line(["glowmcu", "compile", as_argument(model), *inputs_again(), *which])
    out.print(f"  next     {again}", markup=False, soft_wrap=True)
    return 0


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[KernelProgress], None] | None]:
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("measuring"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[kernel]}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("measuring", total=None, kernel="")

        def observe(now: KernelProgress) -> None:
            bar.update(task, completed=now.done, total=now.total, kernel=now.kernel)

        yield observe
