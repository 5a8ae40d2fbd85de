"""What a run says of classes that have names."""

from __future__ import annotations

import math
from collections.abc import Sequence

from glowmcu.labels import class_text
from glowmcu.manifest import TensorEntry
from glowmcu.number_text import count
from glowmcu.real_units import real_values
from glowmcu.verify.measurement import Array


def best_class(labels: Sequence[str], entry: TensorEntry, array: Array) -> int | None:
    """The first of those with the highest score; None for what is no vector with a score for each
    label, or has no number in it.
    """
    if not labels or array.size != len(labels) or entry.shape[-1:] != (len(labels),):
        return None
    scores = real_values(entry, array).reshape(-1)
    return None if any(map(math.isnan, scores.tolist())) else int(scores.argmax())


def class_line(labels: Sequence[str], entry: TensorEntry, array: Array) -> str | None:
    """`highest: seven (class 7), 0.996`, or None."""
    best = best_class(labels, entry, array)
    if best is None:
        return None
    score = real_values(entry, array).reshape(-1)[best]
    shown = f"{score:.4g}" if score.dtype.kind == "f" else count(int(score))
    return f"highest: {class_text(labels, best)}, {shown}"
