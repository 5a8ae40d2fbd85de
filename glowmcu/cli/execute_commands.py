"""`glowmcu run`, `glowmcu verify`, `glowmcu bench`: use a bundle."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from glowmcu.bundle import Bundle, load
from glowmcu.cli.input_arguments import read_array
from glowmcu.cli.output import console, json_option, print_json
from glowmcu.errors import error
from glowmcu.report.json_report import bench_json, run_json
from glowmcu.report.tables import bench_table, count
from glowmcu.verify.executors import EXECUTOR_NAMES
from glowmcu.verify.measurement import Measurement
from glowmcu.verify.verification import seeded_inputs

_BUNDLE = click.argument("bundle", type=click.Path(path_type=Path))
_BOARD = click.option("--board", help="Another board than the bundle was compiled for.")


def _write_outputs(folder: Path | None, measured: Measurement) -> list[Path | None]:
    if folder is None:
        return [None] * len(measured.outputs)
    files: list[Path | None] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for index, array in enumerate(measured.outputs):
            file = folder / f"out_{index}.npy"
            np.save(file, array)
            files.append(file)
    except OSError as cause:
        raise error(
            "GM713",
            f"cannot write outputs: {'it is a file' if folder.is_file() else cause.strerror}",
            str(folder),
            "choose another --output",
        ) from cause
    return files


@click.command("run")
@_BUNDLE
@_BOARD
@click.option("--on", "where", default="host", show_default=True, metavar="EXECUTOR",
              help=f"One of {', '.join(EXECUTOR_NAMES)}.")  # fmt: skip
@click.option("--input", "inputs", multiple=True, type=click.Path(path_type=Path),
              help="A .npy file a model input, in order.")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), help="Folder for out_0.npy, out_1.npy …")
@json_option
def run_command(
    bundle: Path,
    board: str | None,
    where: str,
    inputs: tuple[Path, ...],
    output: Path | None,
    as_json: bool,
) -> None:
    """Run one inference of BUNDLE and show its outputs."""
    loaded = load(bundle, board)
    measured = loaded.measure([read_array(path) for path in inputs], on=where)
    files = _write_outputs(output, measured)
    if as_json:
        print_json(run_json(loaded.manifest, measured, files))
        return
    out = console()
    for entry, array, file in zip(loaded.manifest.outputs, measured.outputs, files, strict=True):
        out.print(f"{entry.name}  {array.dtype}{list(array.shape)}", markup=False)
        out.print(np.array2string(array, threshold=40, max_line_width=96), markup=False)
        if file is not None:
            out.print(f"  -> {file}", markup=False)
    if measured.instructions is not None:
        out.print(
            f"{where}: {count(measured.instructions)} instructions, "
            f"{count(measured.cycles)} cycles, {count(measured.stack_bytes)} B of stack"
        )


@click.command("bench")
@_BUNDLE
@_BOARD
@click.option("--core", help="Measure on another core than the board's, cortex-m0plus say.")
@json_option
def bench_command(bundle: Path, board: str | None, core: str | None, as_json: bool) -> None:
    """Cost of BUNDLE per layer on the modelled core: instructions, cycles, stack."""
    loaded = load(bundle, board)
    measured = _bench(loaded, core)
    name = core or loaded.board.core
    if as_json:
        print_json(bench_json(loaded.manifest, measured, name))
        return
    out = console()
    out.print(bench_table(loaded.manifest, measured))
    clock = loaded.board.clock_hz if core is None else None
    time = (
        f", {1e3 * (measured.cycles or 0) / clock:.2f} ms at {clock // 10**6} MHz" if clock else ""
    )
    out.print(
        f"{name}, zero wait states: {count(measured.cycles)} cycles{time}, "
        f"{count(measured.stack_bytes)} B of stack"
    )


def _bench(loaded: Bundle, core: str | None) -> Measurement:
    return loaded.measure(seeded_inputs(loaded.manifest, 1), on="cortex-m", core=core)
