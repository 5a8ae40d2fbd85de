"""What would help a quantization that lost too much: options that are tried, not guessed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from glowmcu.errors import GlowmcuError
from glowmcu.kernels.kernel import Target
from glowmcu.quality import BEST_DB, Demands, Figures, QualityEntry, RemedyEntry
from glowmcu.quant.judgement import Judge
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.ranges import Method
from glowmcu.quant.wide import ALL
from glowmcu.shell_words import quoted
from glowmcu.tuning.evaluation import estimated_cost
from glowmcu.tuning.trial import Cost

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
        for text, chosen in _tries(judge, options, demands, may_be_float)
        if (tried := _tried(judge, text, chosen, target)) is not None
        and _gains(tried.figures, entry.figures)
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


def _tries(
    judge: Judge, options: QuantizationOptions, demands: Demands, may_be_float: bool
) -> Iterator[Try]:
    layers = judge.worst(judge.quantized(options))
    harmful = [one.node for one in layers if one.node and one.share >= _LEAST_SHARE]
    yield from precision_tries(options, harmful)
    if not options.equalization:
        yield "--equalize", replace(options, equalization=True)
    for method in (Method.MINMAX, Method.PERCENTILE, Method.MSE):
        if method is not options.calibration.method:
            calibration = replace(options.calibration, method=method)
            yield f"--calibration {method.value}", replace(options, calibration=calibration)
    if not options.adaptive_rounding:
        yield "--adaround", replace(options, adaptive_rounding=True)
    if ALL not in options.int16:
        wide = replace(options, int16=(ALL,))
        yield from _one_after_another(judge, wide, demands, 0, "--int16 all")
    yield from _one_after_another(judge, options, demands, 2)
    border = {value.name for value in (*judge.graph.arguments, *judge.graph.results)}
    is_harmful = any(one.tensor in border and one.share >= _LEAST_SHARE for one in layers)
    if may_be_float and options.interface is not Interface.FLOAT:
        real = replace(options, interface=Interface.FLOAT)
        if is_harmful:
            yield from _one_after_another(judge, real, demands, 0, "--io float")
        else:  # the error shows where a scaler has taken the mean away, not where x was stored
            yield "--io float", real


def _one_after_another(
    judge: Judge, options: QuantizationOptions, demands: Demands, least: int, words: str = ""
) -> Iterator[Try]:
    """The worst layer in float, then the worst of what remains, and so on: an error that one layer
    no longer makes is often made by the one before it. From `least` layers on, until it is enough;
    `words` are what the options are called without any.
    """
    kept = list(options.keep_float)
    for count in range(_MOST_ROUNDS):
        now = replace(options, keep_float=tuple(kept))
        made = judge.quantized(now)
        if count >= least:
            keeping = f"--keep-float {quoted(','.join(kept))}" if kept else ""
            yield f"{words} {keeping}".strip(), now
            if not judge.figures(made.graph).shortfalls(demands):
                return
        worst = next((one.node for one in judge.worst(made) if one.node not in ("", *kept)), None)
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
