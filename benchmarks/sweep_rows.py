"""A layer's call in C taken apart: ranges of rows in the place of the whole layer.

The pointers of a range are to the first rows that it is made of, as memory planning hands them in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from glowmcu.ir.kernel_code import KernelCode, RowCall, RowSupport
from glowmcu.ir.program import Buffer, Run

Generator = np.random.Generator
Part = tuple[int, int]


def split_calls(
    text: str, run: Run, code: KernelCode, support: RowSupport, random: Generator
) -> str:
    """`text`, which has the run's call and no other, with the call in parts."""
    (match,) = re.finditer(r"^ {4}(\w+)\(([^;]*)\);$", text, re.MULTILINE)
    arguments = [argument.strip() for argument in match[2].split(",")]
    calls = [
        f"    {match[1]}({', '.join(_arguments(arguments, run, code, support, part))});"
        for part in parts(support, random)
    ]
    return text[: match.start()] + "\n".join(calls) + text[match.end() :]


def parts(support: RowSupport, random: Generator) -> list[Part]:
    """All rows once: single ones, or random ranges, in any order where that may be."""
    turns = support.turns
    edges = list(range(turns + 1))
    if support.call is not RowCall.WHOLE and random.random() < 0.5:
        inner = random.choice(np.arange(1, turns), random.integers(turns), replace=False)
        edges = [0, *map(int, sorted(inner)), turns]
    found = list(pairwise(edges))
    if support.call is not RowCall.ACCUMULATE:
        random.shuffle(found)
    return found


def _arguments(
    arguments: Sequence[str], run: Run, code: KernelCode, support: RowSupport, part: Part
) -> Iterator[str]:
    """Those of the whole layer, moved to the rows of the part."""
    first, end = part
    left = list(arguments)
    if code.parameters is not None:
        yield left.pop(0)
    for buffer, rule in zip(run.inputs, support.rules, strict=True):
        yield _moved(left.pop(0), buffer, rule.first(first), rule.rows)
    moved = 0 if support.call is RowCall.ACCUMULATE else first
    yield _moved(left.pop(0), run.outputs[0], moved, support.turns)
    if run.scratch is not None:
        yield left.pop(0)
    if support.call is not RowCall.WHOLE:
        yield from (str(first), str(end))
    else:
        yield from left


def _moved(pointer: str, buffer: Buffer, row: int, rows: int) -> str:
    return f"{pointer} + {row * (buffer.type.element_count // rows)}"
