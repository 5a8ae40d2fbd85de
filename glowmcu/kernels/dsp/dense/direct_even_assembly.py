"""The loop of direct_assembly.py for rows of a multiple of eight inputs, for dual issue.

A round is entered before a pair of fours only, so that all four registers beside the pointers hold
in turn whatever is next: two inputs of a four, or a word of weights. A word of weights takes four
cycles from its load to its second product; with three of them under way each cycle has a product.
"""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.kernels.dsp.dense.stream import BlockLayout

#: Fours of a unit of code; what its instructions take but the loads of weights, and these.
_FOURS = 2
_UNIT_CODE, _LOADS = 4 * 2 + 4 * 4 + 16 * 4 + 32 * 4, 16
#: Bytes of weights of a unit, and how many units load them with short instructions.
_UNIT_BYTES, _SHORT_UNITS = 64, 2
#: In which of four words of weights the next two inputs are loaded.
_NEXT_INPUTS = 3


def even_entry(skipped_fours: int) -> int:
    """Where in the code of a round the unit after `skipped_fours` 4-byte groups is."""
    units = skipped_fours // _FOURS
    short = min(units, _SHORT_UNITS)
    return units * _UNIT_CODE + _LOADS * (2 * short + 4 * (units - short))


def is_even(depth: int, layout: BlockLayout) -> bool:
    """Whether rows of `depth` inputs can take it."""
    return depth % (4 * _FOURS) == 0 and not layout.wide


def even_unit(high: tuple[str, ...], low: tuple[str, ...]) -> Iterator[str]:
    """Unit x of a round: {x0, x2} and {x1, x3} of two fours, each with four words of weights."""
    free = ["r4", "r2", "r3", "r5"]
    inputs = free.pop(0)
    yield from _inputs(0, inputs)
    for half in range(2 * _FOURS):
        following = ""
        for pair in range(4):
            if pair == _NEXT_INPUTS and half + 1 < 2 * _FOURS:
                following = free.pop(0)
                yield from _inputs(half + 1, following)
            weights = free.pop(0)
            yield f"ldr {weights}, [r1, #{_UNIT_BYTES} * \\x + {16 * half + 4 * pair}]"
            yield f"smlad {high[pair]}, {inputs}, {weights}, {high[pair]}"
            yield f"sxtb16 {weights}, {weights}"
            yield f"smlad {low[pair]}, {inputs}, {weights}, {low[pair]}"
            free.append(weights)
        free.append(inputs)
        inputs = following


def _inputs(half: int, register: str) -> Iterator[str]:
    """Half of a four; each half loads it again."""
    turned = ", ror #8" if half % 2 else ""
    yield f"ldr {register}, [r0, #{4 * _FOURS} * \\x + {4 * (half // 2)}]"
    yield f"sxtb16 {register}, {register}{turned}"
