"""What a candidate is worth and what it costs.

Quality is measured with the operators' Python meaning, in batches: it equals the generated C in
every byte, and for a few hundred samples it is done before a C compiler would be (docs/tuning.md).
Cost is what the kernels estimate and the planner places, or what a bundle takes on the modelled
core.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.board import Board
from glowmcu.bundle import Bundle
from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.operation import Array
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection.select import Selection, code_bytes, select_kernels
from glowmcu.lazy_dataclass import dataclass
from glowmcu.lowering.passes import lower
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.planner import ARENA_ALIGN, aligned, plan_memory
from glowmcu.pipeline import compile_model, emitted
from glowmcu.quant.comparison import LayerError, compare_graphs, sqnr_db
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profile import Profile
from glowmcu.quant.quantizer import quantize
from glowmcu.quant.real_outputs import real_outputs, stored_samples
from glowmcu.quant.request import QuantizationRequest
from glowmcu.quant.sample_source import SampleSource, evenly_picked
from glowmcu.quant.samples import Sample
from glowmcu.quant.trajectories import MOST_STREAMED, in_memory, streamed_outputs
from glowmcu.tuning.trial import BEST_DB, Cost, Trial
from glowmcu.verify.modelled import model_of
from glowmcu.verify.verification import seeded_inputs

#: Samples that tell which layers are harmful.
_MOST_RANKED = 96


@dataclass(frozen=True, eq=False)
class Build:
    """What it takes to make a bundle and measure it."""

    data: bytes
    file_name: str
    options: Options
    board: Board


@dataclass(frozen=True, eq=False)
class Job:
    """Everything that a trial depends on. `graph` has gone through the float passes; `labels` are
    class numbers; `build` is there where cycles are to be measured. Of a model with states the
    samples are sequences of these `lengths`.
    """

    graph: Graph
    profile: Profile
    samples: tuple[Sample, ...]
    labels: Array | None
    target: Target
    build: Build | None = None
    simplify: bool = True
    lengths: tuple[int, ...] = ()


class Evaluator:
    """Tries candidates of one job; the float outputs are computed once. Of a model with states they
    are those along sequences, from their beginnings and with states of its own.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._samples = in_memory(job.graph, job.samples, job.lengths)
        self._wanted = self._outputs(job.graph)

    @property
    def float_accuracy(self) -> float | None:
        """What the float model gets right."""
        return self._accuracy(self._wanted)

    def evaluate(self, options: QuantizationOptions) -> Trial:
        """The trial; a candidate that cannot be made has a `problem`."""
        job = self._job
        try:
            graph = quantize(job.graph, job.profile, options, self._samples).graph
            cost = estimated_cost(graph, job.target, job.simplify)
            if job.build is not None:
                cost = self._measured_cost(job.build, options, cost)
        except GlowmcuError as cause:
            return Trial(options, problem=cause.problems[0].for_shell)
        outputs = self._outputs(graph)
        return Trial(options, self._accuracy(outputs), self._sqnr_db(outputs), cost)

    def layers(self, options: QuantizationOptions) -> tuple[LayerError, ...]:
        """By how much of the output's error is theirs. Raises what `quantize` does."""
        job = self._job
        made = quantize(job.graph, job.profile, options, self._samples)
        few = evenly_picked(self._samples, _MOST_RANKED)
        along = replace(few, sequences=self._samples.sequences)
        return compare_graphs(made.reference, made.graph, along, 0).layers

    def rank(self, options: QuantizationOptions) -> list[str]:
        """Names of layers that computed in int8, the most harmful first."""
        harmful = [layer for layer in self.layers(options) if layer.node and layer.share > 0.0]
        return list(dict.fromkeys(layer.node for layer in harmful))

    def _outputs(self, graph: Graph) -> list[Array]:
        if self._samples.sequences:
            return streamed_outputs(graph, self._samples.sequences, MOST_STREAMED)
        return real_outputs(graph, stored_samples(graph, self._samples))

    def _accuracy(self, outputs: Sequence[Array]) -> float | None:
        if self._job.labels is None:
            return None
        found = predictions(outputs[0])
        return float(np.mean(found == self._job.labels[: len(found)]))

    def _sqnr_db(self, outputs: Sequence[Array]) -> float:
        noise = 0.0
        for want, got in zip(self._wanted, outputs, strict=True):
            real = want.astype(np.float64)
            noise += float(np.sum((got - real) ** 2)) / max(float(np.sum(real**2)), 1e-30)
        return min(max(sqnr_db(1.0, noise / len(outputs)), -BEST_DB), BEST_DB)

    def _measured_cost(self, build: Build, options: QuantizationOptions, estimate: Cost) -> Cost:
        request = QuantizationRequest(
            options, self._job.profile, samples=SampleSource(self._samples)
        )
        compilation = compile_model(
            build.data, build.file_name, _with_request(build.options, request)
        )
        with emitted(compilation) as folder:
            bundle = Bundle(folder, compilation.manifest, build.board)
            inputs = seeded_inputs(compilation.manifest, 1)
            measured = bundle.measure(inputs, on=model_of(build.board.core))
            report = bundle.report
            return Cost(
                measured.cycles or estimate.cycles,
                report.arena_bytes,
                report.weights_bytes + (report.code_bytes or 0),
            )


def _with_request(options: Options, request: QuantizationRequest) -> Options:
    return replace(options, quantization=request)


def predictions(output: Array) -> Array:
    """Class numbers of `(samples, …)` scores: the greatest, or one score against a half; an output
    of integers is the class itself.
    """
    rows = output.reshape(len(output), -1)
    if not np.issubdtype(output.dtype, np.floating):
        return rows[:, 0]
    return (rows[:, 0] > 0.5).astype(np.int64) if rows.shape[1] == 1 else rows.argmax(axis=1)


def estimated_cost(graph: Graph, target: Target, simplify: bool = True) -> Cost:
    """Cycles and code by the kernels' own estimates, constants as packed, the arena as planned.

    Raises GM501 if no kernel computes a node.
    """
    lowered = lower(graph, simplified=simplify)
    selections = select_kernels(lowered, target)
    plan = plan_memory(build_program(lowered, selections))
    cycles = sum(item.cost.cycles for item in selections.values())
    return Cost(round(cycles), aligned(plan.arena_bytes, ARENA_ALIGN), _flash_bytes(selections))


def estimated_cycles(graph: Graph, target: Target) -> float:
    """As `estimated_cost`; infinity if no kernel computes a node."""
    try:
        return float(estimated_cost(graph, target).cycles)
    except GlowmcuError:
        return math.inf


def estimated_flash(graph: Graph, target: Target) -> int:
    """Bytes of code and constants, as `estimated_cost` has them."""
    return estimated_cost(graph, target).flash_bytes


def _flash_bytes(selections: dict[Node, Selection]) -> int:
    arrays = {
        (array.data.dtype.str, array.data.tobytes()): int(array.data.nbytes)
        for item in selections.values()
        for array in item.code.constants
    }
    return code_bytes(selections.values()) + sum(arrays.values())
