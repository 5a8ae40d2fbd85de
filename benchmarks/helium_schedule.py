"""`python -m benchmarks.helium_schedule FILE LABEL`: a faster order of a loop in a Helium header.

The instructions between `LABEL:` and the jump back to it are reordered where registers and memory
allow, by swaps of neighbours, for the fewest cycles of one more turn on the modelled Cortex-M55.
The order is printed, to be put into the header by hand: what ships stays readable assembly.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Sequence
from pathlib import Path

from glowmcu.verify.helium.costs import CORTEX_M55, HeliumCosts
from glowmcu.verify.helium.instructions import Instruction, Kind, read_line
from glowmcu.verify.helium.timing import START, Timing

_LINE = re.compile(r'"\s*(?:(\d+):)?\s*([a-z0-9.]+)\s*([^"\\]*?)\s*\\n"')
_TURNS = 12
_FLAGS = "flags"


def loop_of(text: str, label: str) -> list[str]:
    """The lines from `label` to the first jump back to it; SystemExit where there is none."""
    found: list[str] = []
    for line in text.splitlines():
        match = _LINE.search(line)
        if match is None:
            continue
        if match[1] == label:
            found = []
        found.append(f"{match[2]} {match[3]}".strip())
        if match[3].replace(" ", "").split(",")[-1] == f"{label}b":
            return found
    raise SystemExit(f"no loop with the label {label}")


def instruction(text: str, address: int = 0) -> Instruction:
    """As objdump would show it."""
    name, _, operands = text.partition(" ")
    found = read_line(f" {address:x}:\tabcd ef01 \t{name}\t{re.sub(r'[0-9]b$', '0', operands)}")
    assert found is not None, text
    return found


def turn_cycles(order: Sequence[str], costs: HeliumCosts = CORTEX_M55) -> float:
    """Cycles of one more turn, once the loop has run often."""
    timing, state, spent = Timing(costs), START, []
    code = [instruction(text, 4 * number) for number, text in enumerate(order)]
    for _ in range(2 * _TURNS):
        cycles, state = timing.cycles(state, code, jumps=True)
        spent.append(cycles)
    return sum(spent[_TURNS:]) / _TURNS


def may_swap(first: Instruction, second: Instruction) -> bool:
    """Whether neither needs what the other makes, and both may not touch the same memory."""
    if Kind.LOOP_END in (first.kind, second.kind) or Kind.BRANCH in (first.kind, second.kind):
        return False
    stores = {Kind.STORE, Kind.VECTOR_STORE}
    loads = {Kind.LOAD, Kind.NARROW_LOAD, Kind.LOAD_SEVERAL, Kind.VECTOR_LOAD, *stores}
    if (first.kind in stores and second.kind in loads) or (
        second.kind in stores and first.kind in loads
    ):
        return False
    written, other = _written(first), _written(second)
    return not (written & (second.reads | other) or other & first.reads)


def _written(found: Instruction) -> frozenset[str]:
    name = found.text.partition(" ")[0].partition(".")[0]
    sets = found.kind is Kind.SCALAR and (name.endswith("s") or name.startswith("cmp"))
    return found.writes | ({_FLAGS} if sets else frozenset())


def improved(order: Sequence[str], tries: int, seed: int) -> tuple[float, list[str]]:
    """The best order that `tries` random swaps come to, worse ones accepted less and less."""
    generator = random.Random(seed)
    now, best = list(order), list(order)
    cost = least = turn_cycles(now)
    code = [instruction(text) for text in now]
    for step in range(tries):
        at = generator.randrange(len(now) - 1)
        if not may_swap(code[at], code[at + 1]):
            continue
        now[at], now[at + 1] = now[at + 1], now[at]
        found = turn_cycles(now)
        heat = 1.5 * (1 - step / tries)
        if found > cost + heat * generator.random():
            now[at], now[at + 1] = now[at + 1], now[at]
            continue
        code[at], code[at + 1] = code[at + 1], code[at]
        cost = found
        if cost < least:
            least, best = cost, list(now)
    return least, best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="a header of libjit/helium")
    parser.add_argument("label", help="the loop's, as 2 in `le lr, 2b`")
    parser.add_argument("--tries", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    order = loop_of(options.file.read_text(encoding="utf-8"), options.label)
    print(f"now {turn_cycles(order):g} cycles a turn, {len(order)} instructions")
    cycles, best = improved(order, options.tries, options.seed)
    print(f"found {cycles:g} cycles a turn:")
    print("\n".join(f"    {text}" for text in best))


if __name__ == "__main__":
    main()
