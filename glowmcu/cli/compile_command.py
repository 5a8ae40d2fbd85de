"""`glowmcu compile`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from glowmcu.cli.completion import complete_board
from glowmcu.cli.given_words import NamedPath
from glowmcu.cli.help_groups import GroupedCommand
from glowmcu.cli.input_arguments import input_options, place_options
from glowmcu.cli.interface_arguments import InterfaceArguments, interface_options
from glowmcu.cli.memory_arguments import MemoryArguments, memory_options
from glowmcu.cli.output import (
    console,
    json_option,
    print_json,
    report_option,
    write_report,
    write_text,
)
from glowmcu.cli.package_arguments import package_options
from glowmcu.cli.progress import progress_bars
from glowmcu.cli.quantization_arguments import (
    QuantizationArguments,
    quantization_and_weights_options,
)
from glowmcu.cli.rounding_option import rounding_option
from glowmcu.cli.simplify_option import simplify_option
from glowmcu.cli.training_arguments import TrainingArguments, training_options
from glowmcu.given_paths import as_argument
from glowmcu.input_options import InputOptions
from glowmcu.option_words import Optimize, PackageName, RoundingWord
from glowmcu.shell_words import quoted

if TYPE_CHECKING:
    from rich.console import Console

    from glowmcu.bundle import Bundle

GROUPS = {
    "Target and output": (
        "--board", "--output", "--name", "--optimize", "--emit", "--package", "--json",
    ),
    "A float model to int8": (
        "--profile", "--samples", "--preprocess", "--io", "--quantization", "--schema",
        "--calibration", "--equalize", "--adaround", "--bias-correction", "--no-bias-correction",
        "--weights", "--per-tensor-weights", "--keep-float", "--int16", "--require-sqnr",
        "--require-agreement",
    ),
    "Inputs and states": (
        "--input-shape", "--define", "--bind", "--custom", "--state", "--input-layout", "--camera",
        "--slide", "--labels",
    ),
    "Memory": (
        "--arena-budget", "--flash-budget", "--place", "--stream-input", "--outside-input",
        "--keep-input",
    ),
    "What is shown and written": ("--explain", "--pareto", "--report", "--dump-ir"),
    "Code on the target": ("--steps", "--cores", "--accelerator", "--prefetch", "--instrument",
                           "--dump-tensors"),
    "Learning on the device": (
        "--train", "--loss", "--learning-rate", "--momentum", "--train-numbers",
    ),
    "Numbers and kernels": ("--rounding", "--simplify", "--kernels"),
    "This computer": ("--max-memory",),
}  # fmt: skip


@click.command("compile", cls=GroupedCommand, groups=GROUPS)
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--board",
    default="generic",
    show_default=True,
    shell_complete=complete_board,
    help="See `glowmcu boards`.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Default: build/<name>.")
@click.option("--name", help="Prefix of the C API. Default: the model file's name.")
@click.option(
    "--optimize",
    type=click.Choice(["balanced", "speed", "size", "ram", "flash"]),
    default="balanced",
    show_default=True,
    help="What to minimise first.",
)
@rounding_option
@memory_options
@simplify_option
@quantization_and_weights_options
@input_options
@place_options
@click.option(
    "--kernels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take the kernels that `glowmcu tune --kernels` chose.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Show all possible kernels, the arena over time, what was simplified.",
)
@report_option
@click.option("--dump-ir", type=NamedPath(path_type=Path), help="Write the IR after every pass.")
@click.option(
    "--pareto", is_flag=True, help="Show what other plans would take: arena, cycles, flash."
)
@interface_options
@package_options
@training_options
@json_option
def compile_command(
    model: Path, board: str, output: Path | None, name: str | None, optimize: Optimize,
    rounding: RoundingWord, memory: MemoryArguments, simplify: bool,
    quantized: QuantizationArguments, inputs: InputOptions, kernels: Path | None, explain: bool,
    report: Path | None, dump_ir: Path | None, pareto: bool, interface: InterfaceArguments,
    training: TrainingArguments, emit: PackageName, package: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Compile MODEL (.tflite, .onnx or TOSA's .mlir) into a C bundle."""
    # Not above: --help and completion need no compiler.
    from glowmcu.api import compile as compile_model

    with progress_bars(quiet=as_json) as observers:
        bundle = compile_model(
            model,
            board=board,
            output=output,
            name=name,
            optimize=optimize,
            rounding=rounding,
            flash_budget=memory.flash_budget,
            arena_budget=memory.arena_budget,
            keep_inputs=memory.keep_inputs,
            place=memory.place,
            simplify=simplify,
            profile=quantized.profile,
            samples=quantized.samples,
            preprocess=quantized.preprocess,
            quantization=quantized.quantization,
            weights=quantized.weights,
            require_sqnr=quantized.require_sqnr,
            require_agreement=quantized.require_agreement,
            input_shapes=inputs.given_shapes,
            define=inputs.define,
            bind=inputs.bind,
            custom=inputs.custom,
            states=inputs.states_given,
            slide=inputs.slides,
            camera=inputs.cameras,
            stream_inputs=inputs.streamed,
            outside_inputs=inputs.external,
            input_layouts=dict.fromkeys(inputs.nhwc, "nhwc"),
            kernels=kernels,
            dump_ir=dump_ir,
            pareto=pareto,
            **asdict(interface),
            **asdict(training),
            emit=emit,
            package=package,
            observer=observers.profiling,
            planning_observer=observers.planning,
        )
    if quantized.profile is not None:
        _keep_tuning(bundle, Path(quantized.profile))
    if report is not None:
        write_report(report, bundle)
    _show(bundle, explain, as_json)


def _keep_tuning(bundle: Bundle, profile: Path) -> None:
    """Where the profile is what `glowmcu tune` wrote."""
    from glowmcu.facts.document import keep_facts
    from glowmcu.facts.tuning import kept_tuning

    tuned = kept_tuning(profile)
    if tuned is not None:
        keep_facts(bundle.path, tune=tuned)


def _show(bundle: Bundle, explain: bool, as_json: bool) -> None:
    """What was made, for a reader or a program."""
    if as_json:
        from glowmcu.facts.compilation import compile_json

        print_json(compile_json(bundle))
        return
    from glowmcu.report.tables import layer_table, summary_lines

    out = console()
    if explain:
        _explain(bundle, out)
    else:
        out.print(layer_table(bundle.manifest))
    if bundle.curve:
        _show_curve(bundle, out)
    for line in summary_lines(bundle):
        out.print(line)
    # Paths and commands are to be copied: a terminal that wraps them gives them back whole.
    header = bundle.path / f"{bundle.manifest.name}.h"
    out.print(f"  bundle   {header}", markup=False, soft_wrap=True)
    out.print(f"  next     {_next_command(bundle)}", markup=False, soft_wrap=True)


def _next_command(bundle: Bundle) -> str:
    from glowmcu.cores import core

    if "renode" in bundle.manifest.packages:
        folder = bundle.path / "renode"
        robot = folder / f"{bundle.manifest.name}.robot"
        return f"make -C {quoted(str(folder))} && renode-test {quoted(str(robot))}"
    emulator = core(bundle.board.core).modelled_by
    return f"glowmcu verify {quoted(as_argument(bundle.path))} --on host,{emulator}"


def _explain(bundle: Bundle, out: Console) -> None:
    """All kernels, what was simplified, what each memory pass saved, and the arena over time."""
    from glowmcu.report.arena_map import arena_map_text
    from glowmcu.report.devices import device_table
    from glowmcu.report.flash_table import flash_table
    from glowmcu.report.kernels import choice_table
    from glowmcu.report.memory_passes import memory_pass_table
    from glowmcu.report.simplification import simplification_table

    if bundle.manifest.delegation is not None:
        out.print(device_table(bundle.manifest))
    out.print(choice_table(bundle.choices))
    if bundle.manifest.simplification is not None:
        out.print(simplification_table(bundle.manifest.simplification))
    out.print(flash_table(bundle))
    out.print(memory_pass_table(bundle.memory_passes))
    out.print(arena_map_text(bundle.manifest), markup=False)


def _show_curve(bundle: Bundle, out: Console) -> None:
    """The other plans, and a picture of them beside the bundle where one can be drawn."""
    from glowmcu.report.curve import curve_svg, curve_table
    from glowmcu.report.plots import can_plot

    out.print(curve_table(bundle.curve))
    if can_plot():
        picture = bundle.path.with_name(f"{bundle.path.name}.pareto.svg")
        write_text(picture, curve_svg(bundle.curve))
        out.print(f"  Pareto   {picture}", markup=False, soft_wrap=True)
