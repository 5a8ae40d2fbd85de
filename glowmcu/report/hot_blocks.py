"""The basic blocks that cost most: what `bench --hot` shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from glowmcu.report.json_report import Json
from glowmcu.report.tables import count
from glowmcu.verify.cortex_m.hot import HotBlock

_MOST_LINES = 40


def hot_json(blocks: Sequence[HotBlock]) -> list[Json]:
    """Of `bench --hot --json`."""
    return [dataclasses.asdict(block) for block in blocks]


def hot_lines(blocks: Sequence[HotBlock]) -> Iterator[str]:
    """A heading and the code of each block; a C line is named where it changes."""
    for rank, block in enumerate(blocks, 1):
        layers = ", ".join(map(str, block.layers)) or "none"
        yield ""
        yield (
            f"{rank}. {100 * block.share:.1f} %  {count(block.cycles)} cycles, "
            f"{count(block.executions)} times {count(len(block.code))} instructions  "
            f"{block.function} at {block.address:#010x}, layers {layers}"
        )
        before = ("", 0)
        for code in block.code[:_MOST_LINES]:
            place = (code.file, code.line)
            source = f"   ; {code.file}:{code.line}" if code.line and place != before else ""
            before = place
            yield f"    {code.address:08x}  {code.text}{source}"
        if len(block.code) > _MOST_LINES:
            yield f"    … and {len(block.code) - _MOST_LINES} more"
    if blocks:
        yield ""
