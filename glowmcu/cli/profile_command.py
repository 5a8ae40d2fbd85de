"""`glowmcu profile` and `glowmcu export`."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from glowmcu.api import export as export_model
from glowmcu.api import profile as profile_model
from glowmcu.api.quantization import known_quality, notes_on
from glowmcu.cli.input_arguments import input_options, inputs_again
from glowmcu.cli.output import console, json_option, print_json
from glowmcu.cli.progress import progress_bars
from glowmcu.cli.quantization_arguments import (
    QuantizationArguments,
    preprocess_option,
    quantization_options,
    samples_option,
    search_option,
)
from glowmcu.cli.rounding_option import rounding_option
from glowmcu.given_paths import as_argument
from glowmcu.input_options import InputOptions
from glowmcu.option_words import ExportWord, RoundingWord, SearchWord
from glowmcu.quality import quality_record
from glowmcu.report.profiles import profile_json, profile_table
from glowmcu.report.quality import quality_lines
from glowmcu.report.tables import count
from glowmcu.shell_words import command_line

_MODEL = click.argument("model", type=click.Path(path_type=Path))


@click.command("profile")
@_MODEL
@samples_option(required=True)
@preprocess_option
@click.option(
    "--limit", type=click.IntRange(1), help="Use at most this many samples, evenly spread."
)
@click.option("--merge", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
              help="Add what another profile of the same model saw.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path),
              help="Default: <model>.profile.json.")  # fmt: skip
@search_option
@input_options
@json_option
def profile_command(
    model: Path,
    samples: tuple[Path, ...],
    preprocess: Path | None,
    limit: int | None,
    merge: tuple[Path, ...],
    output: Path | None,
    search: SearchWord | None,
    inputs: InputOptions,
    as_json: bool,
) -> None:
    """Measure what every tensor of the float MODEL holds, for `compile --profile`."""
    file = Path(f"{model.stem}.profile.json") if output is None else output
    with progress_bars(quiet=as_json) as observers:
        made = profile_model(
            model,
            samples,
            output=file,
            preprocess=preprocess,
            limit=limit,
            merge_with=merge,
            input_shapes=inputs.shapes,
            define=inputs.symbols,
            bind=inputs.bind,
            custom=inputs.custom,
            states=inputs.states_given,
            observer=observers.profiling,
            search=search or "automatic",
        )
    quality = known_quality(file)
    notes = notes_on(model, inputs.shapes, inputs.symbols, inputs.bind, inputs.states_given)
    if as_json:
        record = quality_record(quality)
        print_json({**profile_json(made, file), "quality": record, "notes": list(notes)})
        return
    out = console()
    out.print(profile_table(made))
    for line in quality_lines(quality):
        out.print(line, markup=False)
    for note in notes:
        out.print(f"  note     {note}", markup=False)
    out.print(f"{count(made.sample_count)} samples -> {file}", markup=False)
    call = ["glowmcu", "compile", as_argument(model), "--profile", as_argument(file)]
    again = command_line([*call, *inputs_again()])
    out.print(f"  next     {again}", markup=False, soft_wrap=True)


@click.command("export")
@_MODEL
@click.option("-o", "--output", type=click.Path(path_type=Path),
              help="Default: <model>_int8.tflite, or <model>.tflite.")  # fmt: skip
@click.option("--format", "format_", type=click.Choice(get_args(ExportWord)), default="tflite",
              show_default=True, help="tflm: weights compressed, for TensorFlow Lite Micro alone; "
              "tosa (int8) and stablehlo (float): MLIR's text for other compilers.")  # fmt: skip
@rounding_option
@quantization_options
@input_options
@json_option
def export_command(
    model: Path,
    output: Path | None,
    format_: ExportWord,
    rounding: RoundingWord,
    quantized: QuantizationArguments,
    inputs: InputOptions,
    as_json: bool,
) -> None:
    """Write MODEL as a .tflite that TensorFlow Lite Micro runs, in int8 with a profile.

    With --format it becomes text that other compilers read. Which runtime gives the bundle's bytes
    for a .tflite depends on --rounding and is said at the end.
    """
    is_int8 = quantized.profile is not None or quantized.samples is not None
    suffix = "tflite" if format_ in ("tflite", "tflm") else "mlir"
    default = model.with_name(f"{model.stem}{'_int8' if is_int8 else ''}.{suffix}").name
    with progress_bars(quiet=as_json) as observers:
        made = export_model(
            model,
            output or default,
            rounding=rounding,
            format=format_,
            profile=quantized.profile,
            samples=quantized.samples,
            preprocess=quantized.preprocess,
            quantization=quantized.quantization,
            require_sqnr=quantized.require_sqnr,
            require_agreement=quantized.require_agreement,
            input_shapes=inputs.shapes,
            define=inputs.symbols,
            bind=inputs.bind,
            custom=inputs.custom,
            states=inputs.states_given,
            observer=observers.profiling,
        )
    if as_json:
        quality = quality_record(made.quality)
        print_json(
            {"file": str(made.path), "bytes": made.bytes, "quality": quality,
             "rounding": rounding, "runtime": made.runtime or None, "notes": list(made.notes)}
        )  # fmt: skip
        return
    out = console()
    out.print(f"{made.path}  {count(made.bytes)} B", markup=False)
    for line in (*quality_lines(made.quality), *(f"note: {note}" for note in made.notes)):
        out.print(line, markup=False)
    if not made.runtime:
        return
    word = "" if rounding == "double" else f" --rounding {rounding}"
    out.print(f"  runtime  {made.runtime} gives the bytes of compile{word}", markup=False)
    against = command_line(["glowmcu", "verify", "BUNDLE", "--against", as_argument(made.path)])
    out.print(f"  next     {against}", markup=False, soft_wrap=True)
