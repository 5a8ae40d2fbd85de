"""Lines that wrap between words, never inside of a number or before its unit."""

from __future__ import annotations

import re

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

#: A blank of `12 345 B` while text is wrapped: as wide as a blank, and no place to break.
_HELD = "\ue000"
_INSIDE = re.compile(
    r"(?<=\d) (?=\d{3}(?!\d)|(?:B|KiB|MHz|ms|MACs|cycles|x)\b|%)"
    r"|(?<=\bscale) (?=\d)|(?<=\bzp) (?=-?\d)|(?<=\d x) (?=\w)"
)
#: The word that a line of a summary begins with, as in `  weights  38 825 B`.
_LABEL = re.compile(r"  \S+ +(?=\S)")


def held(text: Text) -> Text:
    """With no place to break inside of numbers; as many characters, so that styles stay."""
    kept = text.copy()
    kept.plain = _INSIDE.sub(_HELD, text.plain)
    return kept


def released(text: Text) -> Text:
    """What `held` took, given back."""
    kept = text.copy()
    kept.plain = text.plain.replace(_HELD, " ")
    return kept


class Line:
    """One line, or more where the terminal is narrow: the others stand below its first words."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text, width = self._text, options.max_width
        if options.no_wrap or text.cell_len <= width or "\n" in text.plain:
            yield text
            return
        label = _LABEL.match(text.plain)
        indent = len(label[0]) if label and len(label[0]) < width // 2 else 0
        lines = held(text[indent:]).wrap(console, width - indent)
        for number, line in enumerate(lines):
            start = text[:indent] if number == 0 else Text(" " * indent)
            line.rstrip()
            yield start + released(line)
