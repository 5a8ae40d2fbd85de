"""What the terminal shows of a quantization's quality."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.quality import QualityEntry
from glowmcu.quality_text import quality_sentences, warning_notes


def quality_texts(quality: Sequence[QualityEntry]) -> list[str]:
    """All that is known, as sentences of a page."""
    return [
        text[:1].upper() + text[1:]
        for entry in quality
        for text in (*quality_sentences(entry), *warning_notes(entry))
    ]


def quality_lines(quality: Sequence[QualityEntry], with_warnings: bool = True) -> list[str]:
    """Plain text; warnings are among a bundle's notes already."""
    lines = []
    for entry in quality:
        lines += [f"  quality  {text}" for text in quality_sentences(entry)]
        if with_warnings:
            lines += [f"  warning  {text}" for text in warning_notes(entry)]
    return lines
