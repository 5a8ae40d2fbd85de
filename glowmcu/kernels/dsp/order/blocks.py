"""A function's assembly, each block of it in the order that its core runs in the fewest cycles.

Labels, branches, directives and conditional instructions stay where they are, and so does what is
between them. Cores that issue one instruction at a time keep the order as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from glowmcu.ir.assembly_macros import Assembly, plain
from glowmcu.kernels.dsp.order.dual_issue import best_order
from glowmcu.kernels.dsp.order.instructions import Instruction, read_line
from glowmcu.kernels.kernel import Target

_REPEATED = re.compile(r"\.irp (\w+), (.*)")
#: Instructions of which the order is looked for at once.
_MOST = 900


def ordered(
    lines: Assembly,
    target: Target,
    unrolled: bool = False,
    fixed: str = "",
    apart: tuple[str, ...] = (),
) -> Assembly:
    """The function for the target's core, without macros where it has an order of its own.

    `unrolled`: repeated lines are written out, as nothing enters between two of them. Lines that
    begin with `fixed` stay where they are: code is entered there. What is loaded by way of the
    registers `apart` (constants, scratch) is nothing that the function stores by way of others.
    """
    if not target.core.dual_issue:
        return tuple(lines)
    return _ordered(tuple(plain(lines)), unrolled, fixed, apart)


@cache
def _ordered(
    lines: tuple[str, ...], unrolled: bool, fixed: str, apart: tuple[str, ...]
) -> tuple[str, ...]:
    found: list[str] = []
    block: list[Instruction] = []
    for line in _written_out(lines) if unrolled else lines:
        if line.startswith("/*"):
            if not block:
                found.append(line)
            continue
        instruction = None if fixed and line.startswith(fixed) else read_line(line)
        if instruction is None or len(block) == _MOST:
            found += _in_order(block, apart)
            block = []
        if instruction is None:
            found.append(line)
        else:
            block.append(instruction)
    return (*found, *_in_order(block, apart))


def _in_order(block: Sequence[Instruction], apart: tuple[str, ...]) -> Iterator[str]:
    if len(block) < 2:
        yield from (instruction.text for instruction in block)
    else:
        yield from (block[place].text for place in best_order(block, apart).places)


def _written_out(lines: Sequence[str]) -> Iterator[str]:
    """Without `.irp`."""
    repeated: list[str] | None = None
    name, values = "", [""]
    for line in lines:
        match = _REPEATED.fullmatch(line)
        if match is not None:
            repeated, name, values = [], match[1], match[2].split(", ")
        elif line == ".endr":
            assert repeated is not None
            for value in values:
                yield from (text.replace(f"\\{name}", value) for text in repeated)
            repeated = None
        elif repeated is not None:
            repeated.append(line)
        else:
            yield line
