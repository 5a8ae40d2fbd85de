"""Decorators of a definition say how its loops are made: `schedule.py` has what they mean."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from glowmcu.index_notation.statements import DefinitionError, Reduction, Schedule, Statement

#: What may be computed at once of an index, and of all of a target's together.
MOST_LANES, MOST_VALUES = 8, 64


def read_schedules(
    decorators: Sequence[ast.expr], statements: Sequence[Statement], others: AbstractSet[str]
) -> Mapping[str, Schedule]:
    """By target; `others` are names that are no indices. Raises DefinitionError for other words,
    and for loops that are not there.
    """
    found: dict[str, dict[str, dict[str, int]]] = {}
    for node in decorators:
        what = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        words = node.args if isinstance(node, ast.Call) else []
        names = [word.value for word in words if isinstance(word, ast.Constant)]
        counts = {
            word.arg: word.value.value
            for word in (node.keywords if isinstance(node, ast.Call) else [])
            if isinstance(word.value, ast.Constant) and type(word.value.value) is int
        }
        order = dict.fromkeys(names[1:], 1)
        is_right = len(names) == len(words) > 0 and all(isinstance(name, str) for name in names)
        is_right &= bool(order) and not counts if what == "reorder" else bool(counts) and not order
        if what not in ("tile", "unroll", "reorder") or not is_right or None in counts:
            expected = '@tile("y", o=4), @unroll("y", i=2) and @reorder("y", "o", "b")'
            raise DefinitionError(f"{ast.unparse(node)[:60]!r}; expected {expected}", node.lineno)
        found.setdefault(str(names[0]), {}).setdefault(what, {}).update(
            {str(name): count for name, count in (order or counts).items()}
        )
    _check(found, statements, others)
    return found


def _check(
    schedules: Mapping[str, Schedule], statements: Sequence[Statement], others: AbstractSet[str]
) -> None:
    """That each names a target and loops that it has."""
    for target, given in schedules.items():
        own = [each for each in statements if each.target == target]
        if not own:
            raise DefinitionError(f"a schedule of {target}, which no statement has as its target")
        for what, names in given.items():
            for name, count in names.items():
                if not any(name in _loops_of(each, others) for each in own):
                    raise DefinitionError(f"@{what}: {target} has no loop over {name}")
                if what == "tile" and not any(name in each.indices for each in own):
                    hint = "@unroll takes indices that are reduced over"
                    raise DefinitionError(f"@tile: {name} is no index of {target}; {hint}")
                if what == "unroll" and all(
                    name in each.indices or each.reduction is Reduction.NONE for each in own
                ):
                    hint = "@tile takes indices of the target"
                    raise DefinitionError(f"@unroll: {target} is not reduced over {name}; {hint}")
                if not 1 <= count <= MOST_LANES:
                    raise DefinitionError(f"@{what}: {name} = {count}; 1 to {MOST_LANES} are taken")
        lanes = [*given.get("tile", {}).values(), *given.get("unroll", {}).values()]
        if math.prod(lanes) > MOST_VALUES:
            what = f"{math.prod(lanes)} values of {target} at once; {MOST_VALUES} are taken"
            raise DefinitionError(what)
        _check_nesting(target, list(given.get("reorder", {})), own, others)


def _loops_of(statement: Statement, others: AbstractSet[str]) -> set[str]:
    """Indices of a statement."""
    nodes = list(ast.walk(statement.value))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    names = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called}
    names |= set(statement.ranges) if statement.counts_turns else set()
    return (names | set(statement.indices)) - others


def _check_nesting(
    target: str, order: Sequence[str], own: Sequence[Statement], others: AbstractSet[str]
) -> None:
    """Loops over what is reduced stay inside of the target's: one sum is made at a time."""
    for each in own:
        kinds = [name in each.indices for name in order if name in _loops_of(each, others)]
        if kinds != sorted(kinds, reverse=True):
            what = f"@reorder: loops that {target} is reduced over stay inside of the others"
            raise DefinitionError(what)
