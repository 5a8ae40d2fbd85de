"""Why is it worse? Each layer's error against float, and what of the output's error is its doing.

- accumulated: the layer as it runs, on operands that earlier layers have already spoiled
- isolated: the layer on operands that are exact but for being stored in its operands' types
- alone: what the *output* loses when this layer's own error is all there is. Own means: between the
  quantized layer and the float layer on the very same stored operands, so that a tensor stored too
  coarsely is the fault of who made it, not of who reads it. This is what the ranking goes by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from glowmcu.errors import error
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.quant.own_errors import limits_of, masked_of, own_errors, reached, sites_of
from glowmcu.quant.profile import tensor_names
from glowmcu.quant.sample_source import evenly_picked
from glowmcu.quant.samples import Samples
from glowmcu.quant.side_by_side import (
    SideBySide,
    real_values,
    rerun,
    run_tensors,
)
from glowmcu.quant.spoiled_streams import spoiled_runs
from glowmcu.quant.trajectories import MOST_STREAMED, streamed_outputs

#: Samples, evenly picked, that show the effect on the outputs: every layer costs a run of all that
#: follow it.
_MOST_ALONE = 96
#: The same along sequences, of which each run is of all layers.
_MOST_SPOILED = 200
#: Times the signal; infinities count as that, so that shares of it are numbers.
_MOST_NOISE = 1e30


@dataclass(frozen=True)
class Difference:
    """How far numbers are from float ones. `sqnr_db` is infinite if they are equal.

    `saturated` is the share of float values that the stored type cannot reach.
    """

    sqnr_db: float
    max_error: float
    cosine: float
    saturated: float


@dataclass(frozen=True)
class LayerError:
    """One tensor and the layer that makes it; `node` is its name for `--keep-float`, empty for a
    mere conversion. `alone_db` is the outputs' SQNR if all else were float, `share` its part in the
    sum of all such noise.
    """

    tensor: str
    node: str
    operator: str
    element: str
    accumulated: Difference
    isolated: Difference
    alone_db: float
    share: float


@dataclass(frozen=True)
class Comparison:
    """Layers, the worst first, and the outputs as the application sees them."""

    layers: tuple[LayerError, ...]
    outputs: Mapping[str, Difference]
    output_db: float
    sample_count: int


class Meter:
    """A difference in the making."""

    def __init__(self) -> None:
        self.signal = self.noise = self.power = self.product = 0.0
        self.max_error = 0.0
        self.outside = self.count = 0

    def add(self, want: Array, got: Array, type_: TensorType | None = None) -> None:
        """Further values; `type_` is what stores them."""
        real, other = want.astype(np.float64).ravel(), got.astype(np.float64).ravel()
        wrong = other - real
        self.signal += float(real @ real)
        self.power += float(other @ other)
        self.product += float(real @ other)
        self.noise += float(wrong @ wrong)
        self.max_error = max(self.max_error, float(np.abs(wrong).max(initial=0.0)))
        self.count += real.size
        if type_ is not None and type_.quantization is not None:
            low, high = limits_of(type_)
            half = type_.scale / 2
            self.outside += int(np.count_nonzero((real < low - half) | (real > high + half)))

    def finish(self) -> Difference:
        norm = math.sqrt(self.signal) * math.sqrt(self.power)
        cosine = self.product / norm if norm else float(self.signal == self.power)
        share = self.outside / self.count if self.count else 0.0
        return Difference(sqnr_db(self.signal, self.noise), self.max_error, cosine, share)


def sqnr_db(signal: float, noise: float) -> float:
    """10 log10(signal / noise); infinite without noise, -infinite without a signal, and where the
    noise is infinite or no number: a logarithm of what int8 took for 0, say.
    """
    if noise == 0.0:
        return math.inf
    ratio = signal / noise
    return 10 * math.log10(ratio) if ratio > 0.0 else -math.inf


@dataclass(frozen=True, eq=False)
class _Row:
    """A tensor of the float graph that becomes integers somewhere, and its measurements."""

    tensor: str
    node: str
    operator: str
    element: str
    accumulated: Meter
    isolated: Meter
    alone: dict[int, Meter]


def compare_graphs(
    reference: Graph, quantized: Graph, samples: Samples, streamed: int = MOST_STREAMED
) -> Comparison:
    """Both graphs side by side on real samples. `reference` is what `quantized` was made from.
    Of a model with states outputs, and what layers do to them, are measured along the sequences
    that the samples come from, the former in `streamed` runs; tensors in single steps.

    Raises GM306 for no samples, GM316 for graphs that do not correspond.
    """
    both = SideBySide(reference, quantized)
    work = _Work(both, reference.results if samples.sequences else reference.outputs)
    done = 0
    for lanes, inputs, count in both.runs(samples):
        work.add(lanes, inputs)
        done += count
    if not done:
        raise error("GM306", "no samples", hint="a few hundred from the training data are good")
    if samples.sequences:
        work.add_streams(both, samples.sequences, streamed)
        return work.finish(done)
    for lanes, inputs, _ in both.runs(evenly_picked(samples, _MOST_ALONE)):
        work.add_alone(lanes, inputs)
    return work.finish(done)


class _Work:
    """Rows of all tensors, measured batch by batch; keyed by their order in the graph."""

    def __init__(self, both: SideBySide, outputs: Sequence[Value]) -> None:
        self._is_streamed = outputs != both.reference.outputs
        self._names = tensor_names(both.reference)
        self._rows: list[_Row] = [self._row(*item) for item in sites_of(both)]
        self._outputs = {
            index: Meter()
            for index, value in enumerate(outputs)
            if value.type.element is ElementType.F32
        }
        self._output_names = [value.name for value in both.reference.outputs]

    def _row(self, origin: Value, made: Value, node: Node | None) -> _Row:
        name = "" if node is None else node.name or origin.name
        operator = "quantize" if node is None else node.op.name
        element = str(made.type.element.numpy)
        return _Row(self._names[origin], name, operator, element, Meter(), Meter(), {})

    def add(self, lanes: SideBySide, inputs: Sequence[Array]) -> None:
        """Another batch; `lanes` are the graphs in its shape."""
        real = run_tensors(lanes.reference, inputs)
        stored = run_tensors(lanes.quantized, lanes.quantized_inputs(inputs))
        for index, meter in () if self._is_streamed else self._outputs.items():
            value = lanes.quantized.outputs[index]
            got = real_values(stored[value], value.type)
            meter.add(real[lanes.reference.outputs[index]], got)
        masked = masked_of(lanes, real)
        rows = zip(self._rows, own_errors(lanes, real, stored), strict=True)
        for row, (origin, made, got, _) in rows:
            want = reached(real[origin], masked.get(origin), made.type)
            row.accumulated.add(want, real_values(stored[made], made.type), made.type)
            row.isolated.add(want, got, made.type)

    def add_alone(self, lanes: SideBySide, inputs: Sequence[Array]) -> None:
        """The outputs of a batch, spoiled by one layer at a time."""
        real = run_tensors(lanes.reference, inputs)
        stored = run_tensors(lanes.quantized, lanes.quantized_inputs(inputs))
        rows = zip(self._rows, own_errors(lanes, real, stored), strict=True)
        for row, (origin, _, _, own) in rows:
            outputs = rerun(lanes.reference, real, {origin: own})
            for index in self._outputs:
                meter = row.alone.setdefault(index, Meter())
                meter.add(real[lanes.reference.outputs[index]], outputs[index])

    def add_streams(self, both: SideBySide, sequences: Sequence[Samples], most: int) -> None:
        """Outputs along sequences, of the whole int8 model and spoiled by one layer at a time."""
        if most:
            graphs = (both.reference, both.quantized)
            wanted, got = (streamed_outputs(graph, sequences, most) for graph in graphs)
            for index, meter in self._outputs.items():
                meter.add(wanted[index], got[index])
        for run in spoiled_runs(both, sequences, _MOST_SPOILED):
            for row, results in zip(self._rows, run.spoiled, strict=True):
                for index in self._outputs:
                    row.alone.setdefault(index, Meter()).add(run.wanted[index], results[index])

    def finish(self, count: int) -> Comparison:
        noises = [_relative_noise(row.alone) for row in self._rows]
        total = sum(noises)
        layers = [
            LayerError(
                row.tensor, row.node, row.operator, row.element,
                row.accumulated.finish(), row.isolated.finish(),
                sqnr_db(1.0, noise), noise / total if total else 0.0,
            )
            for row, noise in zip(self._rows, noises, strict=True)
        ]  # fmt: skip
        layers.sort(key=lambda layer: (layer.alone_db, layer.isolated.sqnr_db))
        outputs = {self._output_names[i]: meter.finish() for i, meter in self._outputs.items()}
        return Comparison(
            tuple(layers), outputs, sqnr_db(1.0, _relative_noise(self._outputs)), count
        )


def _relative_noise(meters: Mapping[int, Meter]) -> float:
    """Noise over signal, mean of all outputs: each counts alike, whatever its scale."""
    if not meters:
        return 0.0
    shares = [meter.noise / max(meter.signal, 1e-30) for meter in meters.values()]
    noise = sum(shares) / len(shares)
    return noise if noise < _MOST_NOISE else _MOST_NOISE
