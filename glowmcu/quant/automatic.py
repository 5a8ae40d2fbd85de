"""The quantization that samples ask for: each of a few choices is tried and the best is taken.

Samples of the calibration are parted in three. Each third is judged by what the other two
calibrate, and so no choice is praised for fitting the very samples that it saw. The best has to be
better than the default by more than the standard error of what it gains from sample to sample, or
the default stays. Layers of 16 bits cost cycles: they come in where too much is lost with all that
costs none, and where a few are enough. The samples that judge in the end are held back from all of
this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field

import numpy as np

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.quality import Demands, Figures, TriedEntry
from glowmcu.quant.choices import choice_text
from glowmcu.quant.judgement import Judge, figures_of, numbered, parted
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.output_errors import Doubles, OutputErrors
from glowmcu.quant.profile import Profile, merge
from glowmcu.quant.profiling import ProfilingObserver, Watch, profile_graph
from glowmcu.quant.real_outputs import stored_samples
from glowmcu.quant.sample_source import evenly_picked
from glowmcu.quant.samples import Sample, Samples
from glowmcu.quant.search_space import SearchSpace

_PARTS = 3
#: Samples of each third that judge, at least and at most.
_LEAST_JUDGED, _MOST_JUDGED = 4, 24
#: Bytes of samples that the search keeps in memory at most: 128 MB.
_MOST_BYTES = 1 << 27
#: Choices that the second and third part of the samples judge, too.
_FINALISTS = 3
#: Choices that lose more than 1.05 times what the default loses are not looked at further.
_NEAR = 1.05
#: Layers that are given 16 bits, and what all cycles may grow by for that.
_MOST_WIDE, _MOST_CYCLES = 3, 1.1
#: Standard errors that a choice has to be better than the default by.
_CERTAINTY = 1.0


@dataclass(frozen=True, eq=False)
class Choice:
    """The options that were found, and what was tried, the best first; nothing if samples were
    too few to search.
    """

    options: QuantizationOptions
    tried: tuple[TriedEntry, ...] = ()


@dataclass(frozen=True)
class Needs:
    """What a quantization has to come to, and what a quantized graph costs in cycles and bytes of
    flash, of which there are `flash_budget`, None for any number.
    """

    demands: Demands
    cycles: Callable[[Graph], float]
    flash_bytes: Callable[[Graph], int] | None = None
    flash_budget: int | None = None


@dataclass(eq=False)
class Trial:
    """Options on the parts that have judged them: real outputs by part, errors by sample."""

    options: QuantizationOptions
    outputs: list[list[Array]] = field(default_factory=list)
    errors: list[Doubles] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Part:
    """Samples that judge what others have calibrated."""

    judge: Judge
    errors: OutputErrors

    def judges(self, trial: Trial) -> None:
        """Adds what the options come to here. Raises what `quantize` does."""
        made = self.judge.quantized(trial.options).graph
        outputs, errors = self.errors.of(made, stored_samples(made, self.judge.judged))
        trial.outputs.append(outputs)
        trial.errors.append(errors)


def choose(
    judge: Judge,
    start: QuantizationOptions,
    space: SearchSpace,
    observer: ProfilingObserver | None = None,
    needs: Needs | None = None,
) -> Choice:
    """What of `space` suits the calibration's samples best; `start` where nothing is better.

    Without `needs` nothing is given 16 bits.
    """
    parts = parts_of(judge)
    if not parts:
        return Choice(start)
    search = _Search(parts, observer)
    found = search.best(space.ranges(start))
    if found is None:
        return Choice(start)
    found = search.best(space.weights(found.options))
    assert found is not None, "the first of these is what was found before"
    if needs is not None:
        found = search.wider(found, space, needs) or found
    return Choice(found.options, search.told(found, start))


class _Search:
    """Trials by their options. The first that is tried is what others are compared with."""

    def __init__(self, parts: Sequence[Part], observer: ProfilingObserver | None) -> None:
        self._parts = parts
        self._trials: dict[QuantizationOptions, Trial] = {}
        self._watch, self._done, self._planned = Watch(observer, "choosing options"), 0, 0

    def best(self, candidates: Sequence[QuantizationOptions]) -> Trial | None:
        """Of candidates, the simplest first, of which the first is the one to beat; None if that
        one cannot be made.
        """
        finalists = min(len(candidates), _FINALISTS + 1)
        self._planned += len(candidates) + finalists * (len(self._parts) - 1)
        known = [trial for one in candidates if (trial := self._judged(one, 1)) is not None]
        if not known or known[0].options != candidates[0]:
            return None
        usual, *others = known
        others = sorted(others, key=lambda trial: _mean(self._relative(trial, usual)))
        near = [trial for trial in others if _mean(self._relative(trial, usual)) < _NEAR]
        last = {trial.options for trial in (usual, *near[:_FINALISTS])}
        finals = [
            trial
            for one in candidates
            if one in last and (trial := self._judged(one, len(self._parts))) is not None
        ]
        return self._winner(finals) if finals and finals[0] is usual else usual

    def wider(self, found: Trial, space: SearchSpace, needs: Needs) -> Trial | None:
        """`found` with 16 bits for the layers that do most harm: the cheapest way that is enough.
        What costs nothing goes first: where it is enough, chance or not, nothing needs 16 bits.

        None if nothing has to be mended, and where that mends nothing at a small cost.
        """
        if not self._figures(found).shortfalls(needs.demands):
            return None
        free = [t for t in self._whole() if not self._figures(t).shortfalls(needs.demands)]
        if free:
            return min(free, key=lambda trial: _mean(self._relative(trial, found)))
        judge = self._parts[0].judge
        made = judge.quantized(found.options)
        worst = [layer.node for layer in judge.worst(made) if layer.node]
        candidates = space.precision(found.options, worst[:_MOST_WIDE])
        self._planned += len(candidates) * len(self._parts)
        enough = list[tuple[float, int, Trial]]()
        for options in candidates:
            trial = self._judged(options, len(self._parts))
            if trial is None or self._figures(trial).shortfalls(needs.demands):
                continue
            cycles = needs.cycles(judge.quantized(options).graph)
            if cycles <= _MOST_CYCLES * needs.cycles(made.graph):
                enough.append((cycles, len(enough), trial))
        return min(enough)[2] if enough else None

    def told(self, chosen: Trial, start: QuantizationOptions) -> tuple[TriedEntry, ...]:
        """All that every part has judged, the best first."""
        usual = self._trials[start]
        whole = self._whole()
        losses = {trial.options: _mean(self._relative(trial, usual)) for trial in whole}
        return tuple(
            TriedEntry(
                choice_text(trial.options),
                self._figures(trial),
                round(losses[trial.options], 3),
                trial is chosen,
            )
            for trial in sorted(whole, key=lambda trial: losses[trial.options])
        )

    def _whole(self) -> list[Trial]:
        """Those that every part has judged."""
        return [t for t in self._trials.values() if len(t.errors) == len(self._parts)]

    def _winner(self, finals: Sequence[Trial]) -> Trial:
        usual = finals[0]
        best = min(finals, key=lambda trial: _mean(self._relative(trial, usual)))
        gain = self._relative(usual, usual) - self._relative(best, usual)
        return best if _mean(gain) > _CERTAINTY * _standard_error(gain) else usual

    def _relative(self, trial: Trial, usual: Trial) -> Doubles:
        """Errors by sample, of all outputs alike: as a share of what is usual there."""
        count = min(len(trial.errors), len(usual.errors))
        rows = np.concatenate(trial.errors[:count], axis=1)
        means = np.concatenate(usual.errors[:count], axis=1).mean(axis=1, keepdims=True)
        found: Doubles = (rows / np.maximum(means, 1e-30)).mean(axis=0)
        return found

    def _judged(self, options: QuantizationOptions, count: int) -> Trial | None:
        """By the first `count` parts; None for what cannot be made."""
        trial = self._trials.setdefault(options, Trial(options))
        for part in self._parts[len(trial.errors) : count]:
            try:
                part.judges(trial)
            except GlowmcuError:
                return None
            self._done += 1
            self._watch.tell(self._done, max(self._planned, self._done))
        return trial

    def _figures(self, trial: Trial) -> Figures:
        graph = self._parts[0].judge.graph
        wanted = [part.errors.outputs() for part in self._parts]
        return figures_of(graph, joined(wanted), joined(trial.outputs))


def parts_of(judge: Judge) -> list[Part]:
    """Thirds of the samples that the judge calibrates with; none if these are too few."""
    kept = _in_memory(judge)
    numbers = numbered(kept)
    held = [parted(kept, numbers, turn, _PARTS) for turn in range(_PARTS)]
    if min(part.count or 0 for _, part in held) < _LEAST_JUDGED:
        return []
    profiles = [profile_graph(judge.graph, part) for _, part in held]
    found = []
    for turn, (rest, part) in enumerate(held):
        profile = _merged([each for other, each in enumerate(profiles) if other != turn])
        few = evenly_picked(part, _MOST_JUDGED)
        one = Judge(judge.graph, profile, rest, few, judge.origin)
        found.append(Part(one, OutputErrors(judge.graph, few)))
    return found


def _in_memory(judge: Judge) -> Samples:
    size = sum(value.type.size_bytes for value in judge.graph.inputs)
    most = max(_MOST_BYTES // max(size, 1), _PARTS * _LEAST_JUDGED)
    samples: list[Sample] = list(evenly_picked(judge.calibration, most))
    return Samples(lambda: iter(samples), len(samples))


def _merged(profiles: Sequence[Profile]) -> Profile:
    whole, *others = profiles
    for other in others:
        whole = merge(whole, other)
    return whole


def joined(parts: Sequence[Sequence[Array]]) -> list[Array]:
    """Outputs of all parts, output by output."""
    return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]


def _mean(values: Doubles) -> float:
    return float(values.mean())


def _standard_error(values: Doubles) -> float:
    return float(values.std()) / math.sqrt(len(values))
