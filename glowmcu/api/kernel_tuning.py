"""`glowmcu.tune_kernels`: measure which kernels are best for a model, as a file for `compile`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from glowmcu.api.compilation import budgets_of, choice_of
from glowmcu.api.given_model import ExampleInputs, ModelGiven, read_given
from glowmcu.api.quantization import ProfileGiven, quantization_request
from glowmcu.argument_types import arguments_checked
from glowmcu.board import find_board
from glowmcu.compilation import Options
from glowmcu.custom_c import CustomGiven
from glowmcu.errors import error
from glowmcu.file_writing import write_text_file
from glowmcu.goals import Goal
from glowmcu.input_options import inputs_of
from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.types import Shape
from glowmcu.lazy_dataclass import dataclass
from glowmcu.notebook import Card, Column, Record, Shown
from glowmcu.number_text import count
from glowmcu.option_words import Optimize, RoundingWord
from glowmcu.tuning.kernel_cache import KernelCache, default_cache
from glowmcu.tuning.kernel_file import KernelFile, kernel_file_text
from glowmcu.tuning.kernel_tuner import (
    Cycles,
    KernelProgress,
    KernelTuning,
    KernelTuningObserver,
)
from glowmcu.tuning.kernel_tuner import tune_kernels as tune
from glowmcu.tuning.workers import read_workers
from glowmcu.version import __version__

__all__ = ["KernelProgress", "KernelTuningResult", "MeasuredLayer", "tune_kernels"]


@dataclass(frozen=True)
class MeasuredLayer:
    """A layer: kernels by estimate and by measurement, and the measured cycles of all."""

    index: int
    name: str
    op: str
    estimated: str
    chosen: str
    cycles: dict[str, float]


_COLUMNS = (
    Column("step", "index", "count"), Column("operator", "op"), Column("kernel", "chosen"),
    Column("estimated", "estimated"), Column("cycles", "cycles", "count"),
    Column("layer", "name"),
)  # fmt: skip


@dataclass(frozen=True)
class KernelTuningResult(Shown):
    """`cycles_before` and `cycles_after` are sums of measured layers, with the kernels that
    estimates would choose and with the chosen ones. `measured` ran now, `known` were in the cache,
    `equal` are candidates that another layer has, too. With `on_board` cycles are those on the
    board, waits for its memories included, in the middle of their range.

    >>> found = glowmcu.tune_kernels("digits_int8.tflite", board="nrf52", cache="cache")
    >>> found.cycles_after <= found.cycles_before, found.layers[0].op
    (True, 'conv_2d')
    """

    core: str
    cycles_before: float
    cycles_after: float
    layers: tuple[MeasuredLayer, ...]
    measured: int
    known: int
    equal: int
    output: Path | None
    on_board: bool = False

    def _card(self) -> Card:
        records: list[Record] = [
            {
                "index": layer.index,
                "name": layer.name,
                "op": layer.op,
                "estimated": layer.estimated,
                "chosen": layer.chosen,
                "cycles": layer.cycles[layer.chosen],
                "cycles_estimated_kernel": layer.cycles[layer.estimated],
            }
            for layer in self.layers
        ]
        before, after = (count(round(x)) for x in (self.cycles_before, self.cycles_after))
        where = ", on the board" if self.on_board else ""
        facts = (("core", self.core + where), ("cycles", f"{after}; {before} by estimates alone"))
        return Card("Measured kernels", facts, _COLUMNS, records)


@arguments_checked
def tune_kernels(
    model: ModelGiven,
    *,
    output: str | Path | None = None,
    board: str = "generic",
    optimize: Optimize = "balanced",
    rounding: RoundingWord = "double",
    profile: ProfileGiven | None = None,
    flash_budget: int | None = None,
    arena_budget: int | None = None,
    simplify: bool = True,
    input_shapes: Mapping[str, Shape] | None = None,
    define: Mapping[str, int] | None = None,
    bind: Mapping[str, Array] | None = None,
    states: Mapping[str, str] | None = None,
    custom: Mapping[str, CustomGiven] | None = None,
    cache: str | Path | None = None,
    jobs: int | str = 1,
    observer: KernelTuningObserver | None = None,
    example_inputs: ExampleInputs | None = None,
) -> KernelTuningResult:
    """Run every kernel that can compute a layer of the model on the board's modelled core, with
    waits for its memories if the board's file describes them, and keep the set that is best for
    the goal `optimize`, in the file `output` for `compile(kernels=...)`.

    Measurements are kept in `cache`, a folder (default: the user's cache folder). `jobs` are
    processes, or the scheduler of a Dask cluster (`"dask://192.168.1.5:8786"`) whose workers have
    the same cross compiler. A float model is quantized by `profile`. `observer` is called with a
    `KernelProgress` for each measurement. Options are those of `compile`; those that decide the
    layers must be the same there. Raises GM344 and GM353 for jobs, GM348 if the cache cannot be
    written, and as `compile` does.

    >>> found = glowmcu.tune_kernels(
    ...     "digits_int8.tflite", board="nrf52", output="kernels.json", cache="cache"
    ... )
    >>> bundle = glowmcu.compile(
    ...     "digits_int8.tflite", board="nrf52", kernels="kernels.json", output="build/digits"
    ... )
    """
    given, found = read_given(model, example_inputs), find_board(board)
    given.check_output(output)
    options = Options(
        name="tuned",
        board=found.name,
        core=found.core,
        goal=choice_of(Goal, optimize, "optimize"),
        rounding=choice_of(Rounding, rounding, "rounding"),
        inputs=inputs_of(input_shapes, define, bind, states, custom=custom),
        quantization=quantization_request(profile, None, None, None, None),
        budgets=budgets_of(flash_budget, arena_budget),
        simplify=simplify,
    )
    folder = KernelCache(default_cache() if cache is None else Path(cache))
    workers = read_workers(jobs)
    tuned = tune(given.data, given.name, options, folder, observer, found, workers)
    file = None if output is None else Path(output)
    result = _result(tuned, found.core, file)
    if file is not None:
        _write(file, given.data, result, tuned.cycles, optimize)
    return result


def _write(
    file: Path, data: bytes, result: KernelTuningResult, cycles: Cycles, optimize: str
) -> None:
    stored = KernelFile(
        hashlib.sha256(data).hexdigest(), result.core, optimize, __version__,
        {layer.name: layer.chosen for layer in result.layers}, cycles,
    )  # fmt: skip
    try:
        write_text_file(file, kernel_file_text(stored))
    except OSError as cause:
        raise error("GM718", f"cannot write the kernels: {cause.strerror}", str(file)) from cause


def _result(tuned: KernelTuning, core: str, output: Path | None) -> KernelTuningResult:
    layers = tuple(
        MeasuredLayer(
            index,
            run.node.name,
            run.node.op.name,
            tuned.before.selections[run.node].kernel_name,
            tuned.after[run.node].kernel_name,
            tuned.cycles[run.node.name],
        )
        for index, run in enumerate(tuned.before.plan.program.runs)
    )
    return KernelTuningResult(
        core,
        sum(layer.cycles[layer.estimated] for layer in layers),
        sum(layer.cycles[layer.chosen] for layer in layers),
        layers,
        tuned.measured,
        tuned.known,
        tuned.equal,
        output,
        tuned.on_board,
    )
