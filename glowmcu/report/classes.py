"""What a run says of classes that have names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from glowmcu.labels import class_text
from glowmcu.manifest import Manifest, TensorEntry
from glowmcu.number_text import count
from glowmcu.real_units import real_values
from glowmcu.verify.measurement import Array

#: Lines of a stream's classes that fit a screen.
_MOST_LINES = 24


def best_class(labels: Sequence[str], entry: TensorEntry, array: Array) -> int | None:
    """The first of those with the highest score; None for what is no vector with a score for each
    of several labels, or has no number in it.
    """
    if not _has_scores(labels, entry, array):
        return None
    scores = real_values(entry, array).reshape(-1)
    return None if any(map(math.isnan, scores.tolist())) else int(scores.argmax())


def class_line(labels: Sequence[str], entry: TensorEntry, array: Array) -> str | None:
    """`highest: seven (class 7), 0.996`, or None."""
    best = best_class(labels, entry, array)
    if best is None:
        return None
    return f"highest: {class_text(labels, best)}, {_shown(_score(entry, array, best))}"


def is_stream(entry: TensorEntry, array: Array) -> bool:
    """Whether it holds the outputs of many runs, T[runs, *shape]."""
    return array.ndim > len(entry.shape)


def new_results(manifest: Manifest, runs: int) -> range:
    """The runs of a stream that have results of their own: of a pipeline only those in which its
    last stage computes, between them the outputs show the result before.
    """
    if manifest.pipeline is None:
        return range(runs)
    last = manifest.pipeline.stages[-1]
    return range(last.first_run, runs, last.period)


def stream_classes(
    labels: Sequence[str], entry: TensorEntry, outputs: Array, runs: Iterable[int]
) -> list[int | None]:
    """The best class of each of `runs`; no classes at all of what is no vector of scores."""
    if not _has_scores(labels, entry, outputs[0]):
        return []
    return [best_class(labels, entry, outputs[run]) for run in runs]


def stream_lines(manifest: Manifest, entry: TensorEntry, outputs: Array) -> list[str]:
    """`runs 3 to 8: seven (class 7), 0.91 to 0.996`: a line for runs that agree."""
    labels, runs = manifest.labels, new_results(manifest, len(outputs))
    found = zip(runs, stream_classes(labels, entry, outputs, runs), strict=False)
    lines = []
    for best, group in groupby(found, key=lambda item: item[1]):
        members = [run for run, _ in group]
        where = f"run {members[0]}"
        if len(members) > 1:
            where = f"runs {members[0]} to {members[-1]}"
        if best is None:
            lines.append(f"{where}: no class, a score is no number")
            continue
        scores = sorted(_score(entry, outputs[run], best) for run in members)
        shown = " to ".join(dict.fromkeys((_shown(scores[0]), _shown(scores[-1]))))
        lines.append(f"{where}: {class_text(labels, best)}, {shown}")
    if len(lines) > _MOST_LINES:
        more = len(lines) - _MOST_LINES
        lines = [*lines[:_MOST_LINES], f"… and {more} more: --json has the class of each run"]
    return lines


def _has_scores(labels: Sequence[str], entry: TensorEntry, array: Array) -> bool:
    """A single score has no rival: it is not the highest of anything."""
    return len(labels) > 1 and array.size == len(labels) and entry.shape[-1:] == (len(labels),)


def _score(entry: TensorEntry, array: Array, best: int) -> float | int:
    score: float | int = real_values(entry, array).reshape(-1)[best].item()
    return score


def _shown(score: float | int) -> str:
    return f"{score:.4g}" if isinstance(score, float) else count(score)
