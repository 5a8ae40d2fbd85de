"""`glowmcu verify`: against the reference in every byte, float by layers, or other runtimes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import click

from glowmcu.api import VerificationReport, verify
from glowmcu.api.float_comparison import compare
from glowmcu.api.runtime_comparison import verify_against
from glowmcu.bundle import load
from glowmcu.cli.completion import complete_board, complete_executor
from glowmcu.cli.given_options import refuse_given
from glowmcu.cli.input_arguments import bind_option, read_bound
from glowmcu.cli.memory_limit import memory_limit_option
from glowmcu.cli.output import (
    console,
    json_option,
    print_json,
    report_option,
    write_report,
    write_text,
)
from glowmcu.errors import ExitCode, GlowmcuError, Problem, error
from glowmcu.given_paths import is_there
from glowmcu.option_words import ExecutorName
from glowmcu.report.float_comparison import comparison_lines, comparison_table
from glowmcu.report.plots import comparison_svg
from glowmcu.report.verification import runtime_lines, runtime_table, verification_table
from glowmcu.verify.executors import executors_shown

_MOST_SAMPLES = 100_000
#: Parameters that mean nothing with each kind of --against.
_OF_OTHERS = {
    "reference": ("labels", "preprocess", "plot"),
    "float": ("where", "seed", "hooks", "allow_missing"),
    "FILE": (
        "model", "profile", "labels", "preprocess", "plot", "hooks", "allow_missing", "bind",
    ),
}  # fmt: skip


@click.command("verify")
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--board", shell_complete=complete_board, help="Another board than the bundle was compiled for."
)
@click.option(
    "--on",
    "where",
    default="host",
    show_default=True,
    metavar="EXECUTOR[,EXECUTOR…]",
    shell_complete=complete_executor,
    help=f"Any of {executors_shown()}.",
)
@click.option(
    "--samples",
    default="3",
    show_default=True,
    metavar="NUMBER|FILE|FOLDER",
    help="Random inputs; with --against also data, with --against float only data.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Of the random inputs.",
)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    help="Compare with this model's Python reference, not the host's C.",
)
@click.option(
    "--profile",
    type=click.Path(path_type=Path),
    help="With --model: what a float model was quantized by.",
)
@click.option(
    "--against",
    default="reference",
    show_default=True,
    metavar="reference|float|FILE.tflite",
    help="float: which layers lose accuracy, and what would help. A file: what TensorFlow Lite "
    "Micro and LiteRT compute for it.",
)
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --against float: class numbers of the samples, .npy or one a line.",
)
@click.option(
    "--preprocess",
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="With --against float: what pixels of images become.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE.svg",
    help="With --against float: a picture of the layers.",
)
@click.option(
    "--hooks",
    type=click.Path(path_type=Path),
    metavar="FILE.c",
    help="Functions of the accelerator: try them here, layer by layer.",
)
@click.option(
    "--allow-missing", is_flag=True, help="Pass where an executor cannot run on this computer."
)
@bind_option
@memory_limit_option
@report_option
@json_option
def verify_command(
    bundle: Path, board: str | None, where: str, samples: str, seed: int, model: Path | None,
    profile: Path | None, against: str, labels: Path | None, preprocess: Path | None,
    plot: Path | None, hooks: Path | None, allow_missing: bool, bind: tuple[str, ...],
    report: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Check that BUNDLE computes the same bytes on every executor; exit code 1 if not.

    Exit code 2 where an executor of --on could not run here: what to install is said.

    With --against float: compare the quantized BUNDLE (or a float model in its place) with float,
    layer by layer, on the data of --samples. With --against FILE.tflite: run that file in the
    runtimes that are installed; the one that the bundle's --rounding names must agree.
    """
    context = click.get_current_context()
    kind = against if against in ("reference", "float") else "FILE"
    refuse_given(context, _OF_OTHERS[kind], f"has no meaning with --against {kind}")
    if model is None and kind == "reference":
        refuse_given(context, ("profile", "bind"), "goes with --model")
    if kind == "FILE":
        return _against_file(bundle, board, where, samples, seed, _file(against), report, as_json)
    if against == "float":
        _against_float(
            bundle, board, samples, model, profile, labels, preprocess, plot, bind, as_json
        )
        if report is not None:
            write_report(report, load(bundle, board))
        return int(ExitCode.OK)
    names = [name for name in re.split(r"[,\s]+", where) if name]
    count = _count(samples)
    loaded = load(bundle, board)
    found = verify(
        loaded, cast("list[ExecutorName]", names), samples=count, seed=seed, model=model,
        profile=profile, bind=read_bound(bind), allow_missing=allow_missing, hooks=hooks,
    )  # fmt: skip
    if report is not None:
        write_report(report, loaded)
    if as_json:
        print_json(found.json())
    else:
        console().print(verification_table(found))
    if not found.equal:
        return int(ExitCode.MISMATCH)
    if not found.passed:
        raise _not_run(found)
    return int(ExitCode.OK)


def _file(against: str) -> Path:
    if Path(against).suffix.lower() != ".tflite":
        raise click.BadParameter(
            f"expected reference, float or a .tflite file, got {against!r}",
            click.get_current_context(),
            param_hint="--against",
        )
    return Path(against)


def _against_file(
    bundle: Path, board: str | None, where: str, samples: str, seed: int, file: Path,
    report: Path | None, as_json: bool,
) -> int:  # fmt: skip
    loaded = load(bundle, board)
    found = verify_against(
        loaded, file, cast("ExecutorName", where), seed=seed,
        samples=_count(samples) if samples.isdigit() else samples,
    )  # fmt: skip
    if report is not None:
        write_report(report, loaded)
    if as_json:
        print_json(found.json())
    else:
        console().print(runtime_table(found))
        for line in runtime_lines(found):
            console().print(line)
    promised = found.promised
    if promised.missing:
        raise error("GM676", f"{promised.title} is not installed", str(file), promised.missing)
    if promised.refused:
        raise error("GM673", promised.refused, str(file), found.advice)
    return int(ExitCode.OK if found.passed else ExitCode.MISMATCH)


def _not_run(report: VerificationReport) -> GlowmcuError:
    """What was named and is not known to be right, with what to install."""
    without = "" if report.allow_missing else "; --allow-missing passes without it"
    return GlowmcuError(
        [
            Problem("GM670", f"the {name} executor could not run{without}", hint=lacking)
            for name, lacking in report.skipped
        ]
    )


def _count(text: str) -> int:
    if not re.fullmatch(r"\d{1,6}", text) or int(text) > _MOST_SAMPLES:
        raise click.BadParameter(
            f"expected a number up to {_MOST_SAMPLES}, got {text!r}; data go with --against",
            click.get_current_context(),
            param_hint="--samples",
        )
    return int(text)


def _against_float(
    target: Path, board: str | None, samples: str, model: Path | None, profile: Path | None,
    labels: Path | None, preprocess: Path | None, plot: Path | None, bind: tuple[str, ...],
    as_json: bool,
) -> None:  # fmt: skip
    if re.fullmatch(r"\d+", samples) and not is_there(Path(samples)):
        raise error(
            "GM719",
            "--against float needs real data",
            hint="--samples FILE|FOLDER: .npy, .npz, raw, .csv, .wav, folders of these or images",
        )
    found = compare(
        target,
        samples,
        model=model,
        profile=profile,
        labels=labels,
        preprocess=preprocess,
        board=board,
        bind=read_bound(bind),
    )
    if plot is not None:
        write_text(plot, comparison_svg(found.comparison))
    if as_json:
        print_json(found.json())
        return
    out = console()
    out.print(comparison_table(found.comparison))
    for line in comparison_lines(found):
        out.print(line, markup=False)
    if plot is not None:
        out.print(f"  picture  {plot}", markup=False, soft_wrap=True)
