"""`glowmcu run`: one inference of a bundle."""

from __future__ import annotations

import io
from pathlib import Path

import click
import numpy as np

from glowmcu.bundle import load
from glowmcu.cli.completion import complete_board, complete_executor
from glowmcu.cli.input_arguments import read_array
from glowmcu.cli.output import console, json_option, print_json
from glowmcu.cli.stream_file import heard, joined, read_stream
from glowmcu.errors import error
from glowmcu.file_writing import write_file
from glowmcu.given_paths import is_file
from glowmcu.manifest import Manifest, TensorEntry
from glowmcu.option_words import Where
from glowmcu.report.classes import class_line, is_stream, stream_lines
from glowmcu.report.json_report import run_json
from glowmcu.report.tables import count
from glowmcu.verify.executors import executors_shown
from glowmcu.verify.measurement import Array, Measurement, output_entries

_BUNDLE = click.argument("bundle", type=click.Path(path_type=Path))
_BOARD = click.option(
    "--board", shell_complete=complete_board, help="Another board than the bundle was compiled for."
)


def _write_outputs(folder: Path | None, measured: Measurement) -> list[Path | None]:
    if folder is None:
        return [None] * len(measured.outputs)
    files: list[Path | None] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for index, array in enumerate(measured.outputs):
            file = folder / f"out_{index}.npy"
            content = io.BytesIO()
            np.save(content, array)
            write_file(file, content.getvalue())
            files.append(file)
    except OSError as cause:
        raise error(
            "GM713",
            f"cannot write outputs: {'it is a file' if is_file(folder) else cause.strerror}",
            str(folder),
            "choose another --output",
        ) from cause
    return files


def _classes(manifest: Manifest, entry: TensorEntry, array: Array) -> list[str]:
    """What of the output has a name: of one run, or of each of a stream."""
    if is_stream(entry, array):
        return stream_lines(manifest, entry, array)
    told = class_line(manifest.labels, entry, array)
    return [] if told is None else [told]


@click.command("run")
@_BUNDLE
@_BOARD
@click.option("--on", "where", default="host", show_default=True, metavar="EXECUTOR",
              shell_complete=complete_executor,
              help=f"One of {executors_shown()}.")  # fmt: skip
@click.option("--input", "inputs", multiple=True, type=click.Path(path_type=Path),
              help="A .npy file a model input, in order.")  # fmt: skip
@click.option("--stream", type=click.Path(path_type=Path), metavar="FILE",
              help="Inputs of many invocations, one stream: .npz of N x shape by input name, or of "
                   "samples one behind the other; .npy or .wav of the only input.")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), help="Folder for out_0.npy, out_1.npy …")
@json_option
def run_command(
    bundle: Path,
    board: str | None,
    where: Where,
    inputs: tuple[Path, ...],
    stream: Path | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Run one inference of BUNDLE and show its outputs.

    With --stream many, one behind the other in one arena: outputs are N x shape then, and the costs
    those of the dearest.
    """
    loaded = load(bundle, board)
    if stream is not None and inputs:
        raise click.UsageError("--input is one inference, --stream are many: give one of them")
    notes: tuple[str, ...] = ()
    if stream is not None:
        read = read_stream(stream, loaded.manifest)
        runs = loaded.measure_all(read.inputs, on=where)
        measured, notes = joined(runs), (*read.notes, *heard(loaded.manifest, runs))
    else:
        measured = loaded.measure([read_array(path) for path in inputs], on=where)
    files = _write_outputs(output, measured)
    if as_json:
        print_json(run_json(loaded.manifest, measured, files) | {"notes": list(notes)})
        return
    out = console()
    entries = output_entries(loaded.manifest, measured)
    for entry, array, file in zip(entries, measured.outputs, files, strict=True):
        out.print(f"{entry.name}  {array.dtype}{list(array.shape)}", markup=False)
        out.print(
            np.array2string(array, threshold=40, max_line_width=min(out.width, 96)), markup=False
        )
        for told in _classes(loaded.manifest, entry, array):
            out.print(f"  {told}", markup=False)
        if file is not None:
            out.print(f"  -> {file}", markup=False)
    for note in notes:
        out.print(f"note: {note}", markup=False)
    if measured.instructions is not None or measured.cycles is not None:
        out.print(
            f"{where}: {count(measured.instructions)} instructions, "
            f"{count(measured.cycles)} cycles, {count(measured.stack_bytes)} B of stack",
            markup=False,
        )
