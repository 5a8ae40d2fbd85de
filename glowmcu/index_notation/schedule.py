"""In which order a statement's loops stand, and what is computed at once: given, or by cost.

A definition may say it by decorators, with the words of Halide (Ragan-Kelley et al., PLDI 2013):

    @tile("y", o=4)          four of o at once: what they read alike is read once
    @unroll("y", i=2)        two of i in each turn of the loop
    @reorder("y", "o", "b")  these loops from the outside

What is not said is chosen by what a turn of the innermost loop costs. Results are those of the
definition: of each element the same sums in the same order, unless `reorder` names several indices
that are summed over, or `unroll` one of them inside of which others are.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from glowmcu.index_notation.expressions import INT, REAL
from glowmcu.index_notation.spaces import Plan, Space
from glowmcu.lazy_dataclass import dataclass

#: Lanes that are tried, and accumulators and values that fit an FPU's or a core's registers.
_LANES = (8, 4, 3, 2)
_REGISTERS = 13
#: Cycles of a turn of a loop, a read and a step of a value, about what a Cortex-M4 takes; of a
#: step that is a call, and of what is written of an element.
_TURN, _READ, _STEP, _CALLED_STEP, _ELEMENT = 4.0, 2.0, 1.5, 115.0, 12.0
#: Steps of a function such as exp.
_FUNCTION = 40
#: A second piece of code is for what is left of lanes.
_REST = 1.15


@dataclass(frozen=True)
class LoopPlan:
    """`outer` indices of the target and `inner` ones from the outside; of those in `lanes` as many
    are computed at once.
    """

    outer: tuple[str, ...]
    inner: tuple[str, ...]
    lanes: Mapping[str, int] = field(default_factory=dict)


def pieces(size: int, lanes: int) -> tuple[tuple[int, int, int], ...]:
    """Where an index begins and ends, and in which steps: what is left of lanes goes one by one."""
    whole = size // lanes * lanes
    found = ((0, whole, lanes), (whole, size, 1))
    return tuple(piece for piece in found if piece[0] < piece[1])


def loop_plan(plan: Plan, space: Space, is_fast: bool) -> LoopPlan:
    """Of one statement. `is_fast`: arithmetic takes no calls, so that reads and loops count."""
    statement = space.statement
    given = plan.definition.schedules.get(statement.target, {})
    order = list(given.get("reorder", {}))
    outer = _in_order(statement.indices, order)
    inner = _in_order(space.reduced, order)
    lanes = {
        name: min(count, space.sizes[name])
        for what in ("tile", "unroll")
        for name, count in given.get(what, {}).items()
        if name in (outer if what == "tile" else inner)
    }
    if lanes or order or not is_fast or not inner:
        return LoopPlan(outer, inner, lanes)
    tried, room = [LoopPlan(outer, inner)], _REGISTERS - len(_reads_and_steps(statement.value)[0])
    for name in outer:
        others = tuple(other for other in outer if other != name)
        for count in _LANES:
            if count <= min(space.sizes[name], room):
                tried.append(LoopPlan((*others, name), inner, {name: count}))
    return min(tried, key=lambda one: turn_cycles(space, one))


def cycles(plan: Plan, has_fpu: bool) -> float:
    """About what all statements take."""
    found = 0.0
    for space in plan.spaces:
        is_fast = has_fpu or space.dtype == INT
        loops = loop_plan(plan, space, is_fast)
        turn = turn_cycles(space, loops, _STEP if is_fast else _CALLED_STEP)
        elements = math.prod(space.sizes[name] for name in space.statement.indices)
        found += turn * math.prod(space.sizes.values()) + _ELEMENT * elements
    return found


def turn_cycles(space: Space, loops: LoopPlan, step: float = _STEP) -> float:
    """About what one value of the innermost loop costs."""
    lanes = math.prod(loops.lanes.values())
    reads, steps = _reads_and_steps(space.statement.value)
    values = sum(_copies(used, loops.lanes) for used in reads)
    operations = lanes + sum(_copies(used, loops.lanes) for used in steps)
    found = (_TURN + _READ * values + step * operations) / lanes
    is_even = all(space.sizes[name] % count == 0 for name, count in loops.lanes.items())
    return found if is_even else _REST * found


def _copies(used: set[str], lanes: Mapping[str, int]) -> int:
    """How often something is computed in a turn that depends on these names."""
    return math.prod(count for name, count in lanes.items() if name in used)


def _reads_and_steps(value: ast.expr) -> tuple[list[set[str]], list[set[str]]]:
    """Of each different read and each step the names in it: a function is many steps."""
    reads, steps = dict[str, set[str]](), dict[tuple[str, int], set[str]]()
    for node in _values(value):
        text, used = ast.unparse(node), {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        if isinstance(node, ast.Subscript):
            reads[text] = used
            continue
        is_function = isinstance(node, ast.Call) and ast.unparse(node.func) in REAL
        steps |= {(text, at): used for at in range(_FUNCTION if is_function else 1)}
    return list(reads.values()), list(steps.values())


def _values(node: ast.expr) -> Iterator[ast.expr]:
    """Reads and operations; what stands in a subscript is a part of the read."""
    if isinstance(node, ast.Constant | ast.Name):
        return
    yield node
    if not isinstance(node, ast.Subscript):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr) and child is not getattr(node, "func", None):
                yield from _values(child)


def _in_order(names: Sequence[str], order: Sequence[str]) -> tuple[str, ...]:
    """Those of `order` first, as they stand there."""
    first = [name for name in order if name in names]
    return (*first, *(name for name in names if name not in first))
