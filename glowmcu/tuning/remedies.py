"""What would help a quantization that lost too much: options that are tried, not guessed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.kernels.kernel import Target
from glowmcu.lazy_dataclass import dataclass
from glowmcu.quality import (
    BEST_DB,
    LOW_SQNR_DB,
    Demands,
    Figures,
    HarmfulLayer,
    QualityEntry,
    RemedyEntry,
)
from glowmcu.quant.judgement import Judge, harmful_layers
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.ranges import Method
from glowmcu.quant.wide import ALL
from glowmcu.shell_words import quoted
from glowmcu.tuning.evaluation import Evaluator, estimated_cost
from glowmcu.tuning.trial import Cost, Trial, trial_record

#: Layers that precision is given to, and the least share of the error that makes one worth it.
_MOST_LAYERS = 3
_LEAST_SHARE = 0.05
#: Layers behind each other that are kept float, where the error goes on to the next one.
_MOST_ROUNDS = 6
#: Decibels, and decisions of a hundred, that a remedy has to gain to be named.
_LEAST_GAIN_DB = 0.5
_LEAST_GAIN = 0.01
Try = tuple[str, QuantizationOptions]


def precision_tries(options: QuantizationOptions, layers: Sequence[str]) -> Iterator[Try]:
    """Layers alone and together in int16 and in float; names of nodes, the worst first."""
    names = list(dict.fromkeys(layers))[:_MOST_LAYERS]
    groups: list[tuple[str, ...]] = [(name,) for name in names]
    groups += [tuple(names[:count]) for count in range(2, len(names) + 1)]
    for group in groups:
        text = quoted(",".join(group))
        kept = tuple(name for name in options.keep_float if name not in group)
        wide = tuple(name for name in options.int16 if name not in group)
        yield f"--int16 {text}", replace(options, keep_float=kept, int16=(*wide, *group))
        yield f"--keep-float {text}", replace(options, keep_float=(*kept, *group), int16=wide)


@dataclass(frozen=True)
class Remedy:
    """A change of the quantization, as options of `compile`, with its trial."""

    arguments: str
    trial: Trial


def remedy_record(remedy: Remedy) -> dict[str, object]:
    """The remedy as JSON."""
    return {"arguments": remedy.arguments, **trial_record(remedy.trial)}


def better(measured: Trials, plain: Trial, tried: Iterable[Try]) -> tuple[Remedy, ...]:
    """What of `tried` gains half a decibel over `plain`, the best first; without what another
    beats at no more cycles.
    """
    found = [Remedy(text, measured.trial(options)) for text, options in tried]
    gaining = [
        one
        for one in found
        if one.trial.cost is not None and one.trial.sqnr_db >= plain.sqnr_db + _LEAST_GAIN_DB
    ]
    worth = [r for r in gaining if not any(o.trial.dominates(r.trial) for o in gaining)]
    return tuple(sorted(worth, key=lambda remedy: -remedy.trial.sqnr_db))


def border_advice(graph: Graph, evaluator: Evaluator, best: Trial) -> Remedy | None:
    """Real numbers at the border, where `best` loses much and they gain."""
    measured = Trials(graph, evaluator)
    if best.sqnr_db >= LOW_SQNR_DB:
        return None
    tried = _at_the_border(measured, best.options, measured.worst(best.options))
    return next(iter(better(measured, best, tried)), None)


class Measured(Protocol):
    """Options on samples: layers that do harm with them, the worst first, and whether they leave
    nothing to warn of.
    """

    @property
    def graph(self) -> Graph: ...

    def worst(self, options: QuantizationOptions) -> Sequence[HarmfulLayer]: ...

    def is_enough(self, options: QuantizationOptions) -> bool: ...


class _Judged:
    """As a judge finds them, held to demands."""

    def __init__(self, judge: Judge, demands: Demands) -> None:
        self.graph = judge.graph
        self._judge, self._demands = judge, demands
        self._quantized = lru_cache(maxsize=1)(judge.quantized)

    def worst(self, options: QuantizationOptions) -> Sequence[HarmfulLayer]:
        return self._judge.worst(self._quantized(options))

    def is_enough(self, options: QuantizationOptions) -> bool:
        made = self._quantized(options).graph
        return not self._judge.figures(made).shortfalls(self._demands)


class Trials:
    """As trials find them; none is made twice. Enough is what nothing is warned of at."""

    def __init__(self, graph: Graph, evaluator: Evaluator) -> None:
        self.graph = graph
        self._evaluator = evaluator
        self._known = dict[QuantizationOptions, Trial]()

    def trial(self, options: QuantizationOptions) -> Trial:
        if options not in self._known:
            self._known[options] = self._evaluator.evaluate(options)
        return self._known[options]

    def worst(self, options: QuantizationOptions) -> Sequence[HarmfulLayer]:
        return harmful_layers(self._evaluator.layers(options))

    def is_enough(self, options: QuantizationOptions) -> bool:
        return self.trial(options).sqnr_db >= LOW_SQNR_DB


@dataclass(frozen=True)
class _Tried:
    arguments: str
    figures: Figures
    cost: Cost


def with_remedies(
    entry: QualityEntry,
    judge: Judge,
    options: QuantizationOptions,
    demands: Demands,
    target: Target,
    may_be_float: bool = False,
) -> QualityEntry:
    """`entry` with what helps: the cheapest that is enough, or else the best. `may_be_float`: the
    application may hand over real numbers where storing inputs or outputs does harm.
    """
    plain = _cost(judge, options, target)
    if plain is None:
        return entry
    found = [
        tried
        for text, chosen in tries(_Judged(judge, demands), options, may_be_float)
        if (tried := _tried(judge, text, chosen, target)) is not None
        and _gains(tried.figures, entry.held)
    ]
    enough = [tried for tried in found if not tried.figures.shortfalls(demands)]
    chosen = [min(enough, key=lambda tried: tried.cost.cycles)] if enough else []
    if found and not enough:
        chosen = [max(found, key=lambda tried: _worth(tried.figures))]
    remedies = tuple(
        RemedyEntry(
            one.arguments,
            one.figures,
            one.cost.cycles - plain.cycles,
            one.cost.arena_bytes - plain.arena_bytes,
            one.cost.flash_bytes - plain.flash_bytes,
            one in enough,
        )
        for one in chosen
    )
    return replace(entry, remedies=remedies)


def tries(
    measured: Measured, options: QuantizationOptions, may_be_float: bool, loses_much: bool = True
) -> Iterator[Try]:
    """What is tried in the place of `options`, in the words of `compile`; only what is near unless
    they lose much. `may_be_float` as for `with_remedies`.
    """
    layers = measured.worst(options)
    harmful = [one.node for one in layers if one.node and one.share >= _LEAST_SHARE]
    yield from precision_tries(options, harmful)
    if not options.equalization:
        yield "--equalize", replace(options, equalization=True)
    if loses_much:
        yield from _further(measured, options)
    if may_be_float:
        yield from _at_the_border(measured, options, layers, loses_much)


def _at_the_border(
    measured: Measured,
    options: QuantizationOptions,
    layers: Sequence[HarmfulLayer],
    loses_much: bool = True,
) -> Iterator[Try]:
    """Real numbers where storing inputs or outputs does harm, with the layers behind in float, or
    alone.
    """
    border = {value.name for value in (*measured.graph.arguments, *measured.graph.results)}
    is_harmful = any(one.tensor in border and one.share >= _LEAST_SHARE for one in layers)
    if options.interface is Interface.FLOAT:
        return
    real = replace(options, interface=Interface.FLOAT)
    if is_harmful:
        yield from _one_after_another(measured, real, 0, "--io float")
    elif loses_much:  # the error shows where a scaler takes the mean away, not where x is stored
        yield "--io float", real


def _further(measured: Measured, options: QuantizationOptions) -> Iterator[Try]:
    for method in (Method.MINMAX, Method.PERCENTILE, Method.MSE):
        if method is not options.calibration.method:
            calibration = replace(options.calibration, method=method)
            yield f"--calibration {method.value}", replace(options, calibration=calibration)
    if not options.adaptive_rounding:
        yield "--adaround", replace(options, adaptive_rounding=True)
    if ALL not in options.int16:
        yield from _one_after_another(measured, replace(options, int16=(ALL,)), 0, "--int16 all")
    yield from _one_after_another(measured, options, 2)


def _one_after_another(
    measured: Measured, options: QuantizationOptions, least: int, words: str = ""
) -> Iterator[Try]:
    """The worst layer in float, then the worst of what remains, and so on: an error that one layer
    no longer makes is often made by the one before it. From `least` layers on, until it is enough;
    `words` are what the options are called without any.
    """
    kept = list(options.keep_float)
    for count in range(_MOST_ROUNDS):
        now = replace(options, keep_float=tuple(kept))
        if count >= least:
            keeping = f"--keep-float {quoted(','.join(kept))}" if kept else ""
            yield f"{words} {keeping}".strip(), now
            if measured.is_enough(now):
                return
        nodes = (one.node for one in measured.worst(now))
        worst = next((node for node in nodes if node not in ("", *kept)), None)
        if worst is None:
            return
        kept.append(worst)


def _tried(judge: Judge, text: str, options: QuantizationOptions, target: Target) -> _Tried | None:
    """None for what cannot be made."""
    try:
        graph = judge.quantized(options).graph
        return _Tried(text, judge.figures(graph), estimated_cost(graph, target))
    except GlowmcuError:
        return None


def _cost(judge: Judge, options: QuantizationOptions, target: Target) -> Cost | None:
    try:
        return estimated_cost(judge.quantized(options).graph, target)
    except GlowmcuError:
        return None  # compiling says why


def _worth(figures: Figures) -> tuple[float, float]:
    """Decisions first: they are what an application acts by."""
    agreement = 1.0 if figures.agreement is None else figures.agreement
    return agreement, BEST_DB if figures.sqnr_db is None else figures.sqnr_db


def _gains(figures: Figures, plain: Figures) -> bool:
    (agreement, db), (before, before_db) = _worth(figures), _worth(plain)
    return agreement >= before + _LEAST_GAIN or (
        agreement >= before and db >= before_db + _LEAST_GAIN_DB
    )
