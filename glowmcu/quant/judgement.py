"""What a quantization loses, measured on samples that its calibration has not seen.

One of every four samples is held back; what is there more than once is one of them. What is judged
is the quantization that the other three give: the bundle's own, calibrated on all of them, is at
least as good but for chance, and no figure flatters it.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.number_text import count, counted
from glowmcu.quality import (
    BEST_DB,
    Demands,
    Figures,
    HarmfulLayer,
    Origin,
    QualityEntry,
    percent,
    shortfalls_of,
)
from glowmcu.quant.comparison import LayerError, compare_graphs, sqnr_db
from glowmcu.quant.decisions import decisions_of, differing
from glowmcu.quant.labels import Labelled, right_decisions
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.output_columns import coarse_columns, coarse_note
from glowmcu.quant.profile import Profile
from glowmcu.quant.profiling import ProfilingObserver, profile_graph
from glowmcu.quant.quantizer import Quantized, quantize
from glowmcu.quant.ranges import Method
from glowmcu.quant.real_outputs import real_outputs, stored_samples
from glowmcu.quant.sample_source import evenly_picked
from glowmcu.quant.samples import Sample, Samples
from glowmcu.quant.trajectories import MOST_STREAMED, streamed_outputs, without_states

#: One sample in four is held back, where that makes at least `_LEAST_HELD`.
_HOLD_ONE_OF = 4
_LEAST_HELD = 4
_MOST_JUDGED = 96
#: Samples that show which layer is to blame, of which each costs a run for every layer.
_MOST_RANKED = 8
_WORST = 3
#: A part of the error that is not worth a word.
_LEAST_SHARE = 0.001
_MOST_OF_ALL = 0.5
#: Of a tensor's values; what saturates by chance is less.
_LEAST_BEYOND = 0.005


@dataclass(frozen=True, eq=False)
class Judge:
    """Tells what options come to on `judged`, calibrated by `profile` and `calibration`; of a
    model with states along `sequences`, from their beginnings and with states of its own, in which
    errors add up. `notes` are on the samples.
    """

    graph: Graph
    profile: Profile
    calibration: Samples
    judged: Samples
    origin: Origin
    sequences: tuple[Samples, ...] = ()
    notes: tuple[str, ...] = ()

    def figures(self, graph: Graph) -> Figures:
        """Of a quantized graph, along sequences where there are any."""
        if not self.sequences:
            return self.of_single_runs(graph)
        got = streamed_outputs(graph, self.sequences, MOST_STREAMED)
        return figures_of(without_states(self.graph), self._streamed, got)

    def of_single_runs(self, graph: Graph) -> Figures:
        """The same of runs by themselves, each from the states that float has there."""
        outputs = self._outputs(graph)
        found = figures_of(self.graph, self.wanted, outputs)
        right = right_decisions(self.graph, outputs, self.judged)
        return replace(
            found, labelled=right.count, right=right.right, float_right=self._float_right.right
        )

    def quantized(self, options: QuantizationOptions) -> Quantized:
        """By what the judge calibrates with. Raises what `quantize` does."""
        return quantize(self.graph, self.profile, options, self.calibration)

    def entry(
        self, options: QuantizationOptions, demands: Demands, may_be_float: bool = True
    ) -> QualityEntry:
        """All that is to be said of them; whether the application may have real numbers decides
        what is advised. Raises what `quantize` does.
        """
        made = self.quantized(options)
        found = self.of_single_runs(made.graph)
        streamed = self.figures(made.graph) if self.sequences else None
        layers = self._compared(made)
        short = shortfalls_of(found, streamed, demands)
        cuts_nothing = options.calibration.method is Method.MINMAX
        is_asked = bool(short) and cuts_nothing and self.origin is Origin.HELD_BACK
        beyond = _beyond_calibration(layers) if is_asked else ()
        notes = (*self.notes, *self._float_right.notes)
        return QualityEntry(
            found, len(self.wanted[0]), self.origin.value, harmful_layers(layers)[:_WORST], short,
            notes=(*notes, *beyond, *self._coarse(made.graph, options, may_be_float)),
            streamed=streamed,
        )  # fmt: skip

    def worst(self, made: Quantized) -> tuple[HarmfulLayer, ...]:
        """Layers that do harm, the worst first."""
        return harmful_layers(self._compared(made))

    def _compared(self, made: Quantized) -> tuple[LayerError, ...]:
        few = evenly_picked(self.judged, _MOST_RANKED)
        along = replace(few, sequences=self.sequences)
        return compare_graphs(made.reference, made.graph, along, 0).layers

    @cached_property
    def _streamed(self) -> list[Array]:
        """What float gives along the sequences."""
        return streamed_outputs(self.graph, self.sequences, MOST_STREAMED)

    def _coarse(self, made: Graph, options: QuantizationOptions, may_be_float: bool) -> list[str]:
        """A note for each output whose one scale loses some of its columns."""

        def remade(names: tuple[str, ...]) -> list[Array] | None:
            kept = (*options.keep_float, *names)
            real = replace(options, interface=Interface.FLOAT, keep_float=kept)
            try:
                return self._outputs(self.quantized(real).graph)
            except GlowmcuError:
                return None

        found = coarse_columns(self.graph, made, self.wanted)
        outputs = self._outputs(made) if found else []
        return [
            coarse_note(self.graph, one, self.wanted, outputs, remade, may_be_float)
            for one in found
        ]

    def _outputs(self, graph: Graph) -> list[Array]:
        return real_outputs(graph, stored_samples(graph, self.judged))

    @cached_property
    def _float_right(self) -> Labelled:
        return right_decisions(self.graph, self.wanted, self.judged)

    @cached_property
    def wanted(self) -> list[Array]:
        """What float gives on `judged`, `(samples, *shape)` an output."""
        return real_outputs(self.graph, self.judged)


def harmful_layers(layers: Sequence[LayerError]) -> tuple[HarmfulLayer, ...]:
    """Those that have a part in the error worth a word, in their order."""
    return tuple(
        HarmfulLayer(layer.node, layer.tensor, layer.operator, round(layer.share, 3))
        for layer in layers
        if layer.share >= _LEAST_SHARE
    )


def _beyond_calibration(layers: Sequence[LayerError]) -> tuple[str, ...]:
    """Where the samples are to blame: what most of the error comes of does not fit into the range
    that calibration saw. No bits and no choice of layers mend that.
    """
    blamed = [layer for layer in layers[:1] if layer.share >= _MOST_OF_ALL]
    return tuple(
        f"{percent(layer.accumulated.saturated)} of what {layer.tensor} holds on samples held back "
        "lies beyond the range of those that calibration saw, and most of the error is there: "
        "calibrate by more samples, or by more kinds of them"
        for layer in blamed
        if layer.accumulated.saturated >= _LEAST_BEYOND
    )


def figures_of(graph: Graph, wanted: Sequence[Array], outputs: Sequence[Array]) -> Figures:
    """Of `outputs` where the float `graph` gives those that are `wanted`, samples along axis 0."""
    noises, counts, wrong = list[float](), list[int](), list[int]()
    for value, want, got in zip(graph.outputs, wanted, outputs, strict=True):
        if value.type.element is ElementType.F32:
            real = want.astype(np.float64)
            noises.append(_power(got - real) / max(_power(real), 1e-30))
    for decision in decisions_of(graph):
        errors, count = differing(decision, wanted[decision.index], outputs[decision.index])
        counts.append(count)
        wrong.append(errors)
    decided, missed = sum(counts), sum(wrong)
    agreement = round(1 - missed / decided, 4) if decided else None
    return Figures(_decibels(noises), agreement, decided, missed)


def _power(values: Array) -> float:
    return float(np.sum(np.square(values, dtype=np.float64)))


def _decibels(noises: list[float]) -> float | None:
    """Each output counts alike, whatever its scale. Tenths: more would differ by the computer."""
    if not noises:
        return None
    noise = sum(noises) / len(noises)
    found = sqnr_db(1.0, noise) if math.isfinite(noise) else -BEST_DB
    return round(min(max(found, -BEST_DB), BEST_DB), 1)


def judge_of(
    graph: Graph,
    samples: Samples,
    profile: Profile,
    is_own: bool,
    observer: ProfilingObserver | None = None,
) -> Judge:
    """A judge of `profile`, which is of these very samples (`is_own`) or came from elsewhere."""
    if not is_own:
        few = evenly_picked(samples, _MOST_JUDGED)
        return Judge(graph, profile, samples, few, Origin.GIVEN, samples.sequences)
    numbers = numbered(samples)
    notes = _repeated(numbers)
    rest, held = parted(samples, numbers)
    if (held.count or 0) >= _LEAST_HELD:
        of_rest = profile_graph(graph, rest, profile.model_sha256, observer)
        few = evenly_picked(held, _MOST_JUDGED)
        return Judge(graph, of_rest, rest, few, Origin.HELD_BACK, samples.sequences, notes)
    few = evenly_picked(_picked(samples, _are_first(numbers)), _MOST_JUDGED)
    return Judge(graph, profile, samples, few, Origin.CALIBRATION, samples.sequences, notes)


def _repeated(numbers: Sequence[int]) -> tuple[str, ...]:
    """A note where most samples have been there before."""
    distinct = len(set(numbers))
    if distinct * 2 > len(numbers):
        return ()
    are = "is" if distinct == 1 else "are"
    return (
        f"{counted(len(numbers), 'sample')}, of which {count(distinct)} {are} distinct: what is "
        "there again shows nothing new, give more that differ",
    )


#: 2^32 over the golden ratio, whose products have little to do with each other in their upper bits.
_SCATTER, _SCATTERED_BITS = 2_654_435_769, 28


def numbered(samples: Samples) -> list[int]:
    """The number of each sample among those that differ. Of a model with states each counts: its
    states differ.
    """
    if samples.sequences and samples.count is not None:
        return list(range(samples.count))
    first: dict[bytes, int] = {}
    return [first.setdefault(_digest(sample), len(first)) for sample in samples]


def _digest(sample: Sample) -> bytes:
    # There are two zeros of real numbers.
    parts = ((array + array.dtype.type(0)).tobytes() for array in sample)
    return hashlib.blake2b(b"".join(parts), digest_size=16).digest()


def parted(
    samples: Samples, numbers: Sequence[int], turn: int = 0, parts: int = _HOLD_ONE_OF
) -> tuple[Samples, Samples]:
    """Three of four samples, and the others, each once: one of each four that follow each other, at
    a place that has nothing to do with an order that samples may be in. `numbers` tell them apart;
    `turn` 0 to 3 give other quarters; `parts` may be another number than four.
    """

    def is_held(number: int) -> bool:
        block, place = divmod(number, parts)
        return place == ((block * _SCATTER >> _SCATTERED_BITS) + turn) % parts

    are_held = list(map(is_held, numbers))
    rest = _picked(samples, [not held for held in are_held])
    firsts = zip(are_held, _are_first(numbers), strict=True)
    return rest, _picked(samples, [held and first for held, first in firsts])


def _are_first(numbers: Sequence[int]) -> list[bool]:
    """Whether each number has not been there before: they count up."""
    most = itertools.accumulate(numbers, max, initial=-1)
    return [number > before for number, before in zip(numbers, most, strict=False)]


def _picked(samples: Samples, which: Sequence[bool]) -> Samples:
    return Samples(lambda: itertools.compress(samples, which), sum(which))
