"""`glowmcu tune`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from glowmcu.api import TuningProgress, TuningResult, tune
from glowmcu.api.tuning import DEFAULT_TRIALS
from glowmcu.cli.amount_types import byte_count, cycle_count
from glowmcu.cli.completion import complete_board
from glowmcu.cli.input_arguments import input_options, inputs_again
from glowmcu.cli.kernel_tuning import check_sample_search, kernel_options, run_kernel_tuning
from glowmcu.cli.output import console, json_option, print_json, write_text
from glowmcu.cli.quantization_arguments import preprocess_option, samples_option
from glowmcu.cli.simplify_option import simplify_option
from glowmcu.given_paths import as_argument
from glowmcu.input_options import InputOptions
from glowmcu.installation import extra
from glowmcu.report.plots import can_plot, pareto_svg
from glowmcu.report.tuning import tuning_files, tuning_json, tuning_lines, tuning_table
from glowmcu.report.tuning_page import tuning_page
from glowmcu.shell_words import command_line

_INTERRUPTED = 130


@click.command("tune")
@click.argument("model", type=click.Path(path_type=Path))
@samples_option(required=False)
@preprocess_option
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Class numbers, .npy or one a line; default: `labels` in the samples' .npz, if any.",
)
@click.option(
    "--profile",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take ranges from this profile, not from the samples.",
)
@click.option(
    "--board",
    default="generic",
    show_default=True,
    shell_complete=complete_board,
    help="See `glowmcu boards`.",
)
@click.option(
    "--optimize",
    default="balanced",
    show_default=True,
    type=click.Choice(["balanced", "speed", "size", "ram", "flash"]),
    help="As for `compile`.",
)
@click.option(
    "--io",
    type=click.Choice(["int8", "float"]),
    help="Type of the bundle's inputs and outputs. Left out: int8, and it is said where float "
    "would help.",
)
@click.option(
    "--arena-budget", type=byte_count, metavar="BYTES", help="Bytes of RAM for the arena."
)
@click.option(
    "--flash-budget",
    type=byte_count,
    metavar="BYTES",
    help="Bytes of flash for code and constants.",
)
@simplify_option
@click.option(
    "--cycle-budget", type=cycle_count, metavar="CYCLES", help="Cycles of one inference: 1.5M."
)
@click.option(
    "--trials", type=int, default=DEFAULT_TRIALS, show_default=True, help="Trials at most."
)
@click.option("--time", "time_limit", type=float, metavar="SECONDS", help="Time at most.")
@click.option(
    "-j",
    "--jobs",
    default="1",
    show_default=True,
    metavar="N|dask://HOST:PORT",
    help="Processes, or the scheduler of a Dask cluster.",
)
@click.option("--measure", is_flag=True, help="Run every trial on the modelled core.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Default: <model>.tuned.profile.json; with --kernels <model>.kernels.json.",
)
@kernel_options
@input_options
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Write the report: the quantizations that no other beats, as a page.",
)
@json_option
def tune_command(
    model: Path, samples: tuple[Path, ...], output: Path | None, inputs: InputOptions,
    as_json: bool, kernels: bool, cache: Path | None, report: Path | None, **others: object,
) -> int:  # fmt: skip
    """Search the quantization of the float MODEL that is best on SAMPLES, for `compile --profile`.

    Greatest accuracy with labels, least error of the outputs without. A search that was stopped
    goes on when it is started again.

    With --kernels: measure which kernels are best for MODEL on the board's modelled core, for
    `compile --kernels`. That needs no samples; a float model is quantized by --profile.
    """
    if kernels:
        return run_kernel_tuning(click.get_current_context(), output, cache, inputs, as_json)
    check_sample_search(click.get_current_context())
    file = Path(f"{model.stem}.tuned.profile.json") if output is None else output
    with _bar(as_json) as observer:
        result = tune(
            model,
            list(samples),
            output=file,
            input_shapes=inputs.shapes,
            define=inputs.symbols,
            bind=inputs.bind,
            custom=inputs.custom,
            states=inputs.states_given,
            observer=observer,
            **others,  # type: ignore[arg-type]
        )
    pictures = {".pareto.svg": pareto_svg(result)} if can_plot() else {}
    for suffix, text in {**tuning_files(result), **pictures}.items():
        write_text(file.with_suffix(suffix), text)
    if report is not None:
        write_text(report, tuning_page(model.name, result, _next_command(result, model)))
    if as_json:
        print_json(tuning_json(result))
    else:
        _show(result, model, bool(pictures))
        if report is not None:
            click.echo(f"  report   {report}")
    return _INTERRUPTED if result.stopped == "interrupted" else 0


def _show(result: TuningResult, model: Path, has_picture: bool) -> None:
    assert result.output is not None
    out = console()
    out.print(tuning_table(result))
    for line in tuning_lines(result):
        out.print(line, markup=False)
    stem = result.output.with_suffix("")
    kinds = "json, csv, svg" if has_picture else f"json, csv; svg needs {extra('plots')}"
    out.print(f"  Pareto   {stem}.pareto.* ({kinds})", markup=False)
    out.print(f"  next     {_next_command(result, model)}", markup=False, soft_wrap=True)


def _next_command(result: TuningResult, model: Path) -> str:
    again = ["--samples", "DATA"] if result.best.options.adaptive_rounding else []
    call = ["glowmcu", "compile", as_argument(model), "--profile", as_argument(str(result.output))]
    return command_line([*call, *inputs_again(), *again])


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[TuningProgress], None] | None]:
    """An observer that draws trials done, time left and the best so far, where somebody watches."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[state]}"),
    )  # fmt: skip
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("tuning", total=None, state="")

        def observe(progress: TuningProgress) -> None:
            bar.update(
                task, completed=progress.done, total=progress.total,
                description=progress.stage, state=_state(progress),
            )  # fmt: skip

        yield observe


def _state(progress: TuningProgress) -> str:
    best = progress.best
    if best is None:
        return f"at most {progress.remaining_s:.0f} s left"
    quality = f"{best.sqnr_db:.1f} dB"
    if best.accuracy is not None:
        quality = f"{100 * best.accuracy:.2f} %, {quality}"
    return f"at most {progress.remaining_s:.0f} s left, best {quality}"
