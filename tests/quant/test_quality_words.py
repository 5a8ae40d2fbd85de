"""Why a quantization was chosen is said, also where another one loses less."""

from __future__ import annotations

import pytest

from glowmcu.quality import Figures, QualityEntry, TriedEntry
from glowmcu.quality_text import quality_sentences


def tried(choice: str, loss: float, right: int, is_chosen: bool = False) -> TriedEntry:
    return TriedEntry(choice, Figures(35.1, right / 72, 72, 72 - right), loss, is_chosen)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (
            [tried("int16:a", 0.9, 71), tried("defaults", 1, 70), tried("int16:b", 1.03, 72, True)],
            "int16:b, the cheapest 16 bits that are enough: SQNR 35.1 dB, 72 of 72 decisions "
            "(100 %) are float's, where defaults come to SQNR 35.1 dB, 70 of 72 decisions (97.2 %) "
            "are float's",
        ),
        (
            [tried("mse", 0.9, 72, True), tried("equalize", 0.95, 72), tried("defaults", 1, 72)],
            "mse, error 0.90 of what defaults give; next equalize 0.95, defaults 1.00",
        ),
        (
            [tried("mse", 0.98, 72), tried("defaults", 1, 72, True)],
            "defaults, error 1.00 of what defaults give; next mse 0.98, which may be chance",
        ),
        (
            [tried("mse int16:a", 0.9, 72, True), tried("int16:a", 1, 72)],
            "mse int16:a, error 0.90 of what defaults give; next int16:a 1.00",
        ),
    ],
    ids=["16 bits", "the best", "no certain gain", "16 bits that were asked for"],
)
def test_a_choice_is_said_with_its_reason(entries: list[TriedEntry], said: str) -> None:
    entry = QualityEntry(Figures(36.1, 1.0, 48, 0), 48, "held back", tried=tuple(entries))
    assert quality_sentences(entry)[1:] == [f"chosen by the samples: {said}"]
