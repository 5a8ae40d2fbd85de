"""A definition at given shapes in C: a loop an index, every step of a value a line of its own.

Names are the user's with a letter before: `p_x` points to x, `i_b` is the index b.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from glowmcu.index_notation.expressions import ARITHMETIC, COMPARISONS, FLOAT, INT, REAL, type_of
from glowmcu.index_notation.meaning import neutral
from glowmcu.index_notation.schedule import LoopPlan, loop_plan, pieces
from glowmcu.index_notation.spaces import Plan, Space
from glowmcu.index_notation.statements import Number, Reduction, subscripts

C_TYPES = {FLOAT: "float", INT: "int32_t"}


def scratch_bytes(plan: Plan) -> int:
    """Memory for what is temporary: all types have four bytes."""
    return sum(4 * int(np.prod(plan.shapes[name])) for name in plan.temporaries)


def body(plan: Plan, is_fast: bool = True) -> tuple[str, ...]:
    """The lines of a function with pointers `p_…` to operands and results, and `scratch`.
    `is_fast`: arithmetic takes no calls (`loop_plan`).
    """
    lines: list[str] = []
    offset = 0
    for name in plan.temporaries:
        kind = C_TYPES[plan.dtypes[name]]
        lines.append(f"    {kind} *const p_{name} = ({kind} *)(void *)(scratch + {offset});")
        offset += 4 * int(np.prod(plan.shapes[name]))
    written: set[str] = set()
    for space in plan.spaces:
        if lines:
            lines.append("")
        loops = loop_plan(plan, space, is_fast or space.dtype == INT)
        lines += _Loops(plan, space, loops, space.statement.target in written).lines()
        written.add(space.statement.target)
    return tuple(lines)


def literal(number: Number) -> str:
    """A number of C."""
    if isinstance(number, int):
        return str(number) if number > -(2**31) else "INT32_MIN"
    text = str(np.float32(number))
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


class _Loops:
    """One statement."""

    def __init__(self, plan: Plan, space: Space, loops: LoopPlan, is_written: bool) -> None:
        self._plan, self._space, self._loops, self._is_written = plan, space, loops, is_written
        self._lines: list[str] = []
        self._depth = 1
        self._count = 0
        numbers = {n: INT if isinstance(v, int) else FLOAT for n, v in plan.numbers.items()}
        self._numbers = numbers | dict.fromkeys(space.sizes, INT)
        #: How many of each index a turn computes, which of them it is at, and what it has already.
        self._at_once: dict[str, int] = {}
        self._lane: Mapping[str, int] = {}
        self._known: dict[tuple[str, tuple[int, ...]], str] = {}

    def lines(self) -> list[str]:
        """The loops and what is in them."""
        self._over(self._loops.outer, self._element)
        return self._lines

    def _over(self, names: Sequence[str], inside: Callable[[], None]) -> None:
        """Loops over all of these, and what is in them."""
        if not names:
            inside()
            return
        name, index = names[0], f"i_{names[0]}"
        for begin, end, step in pieces(self._space.sizes[name], self._loops.lanes.get(name, 1)):
            on = f"++{index}" if step == 1 else f"{index} += {step}"
            self._say(f"for (int32_t {index} = {begin}; {index} < {end}; {on}) {{")
            self._depth += 1
            self._at_once[name] = step
            self._over(names[1:], inside)
            self._end()

    def _lanes(self, names: Sequence[str]) -> list[dict[str, int]]:
        """Places of what is computed at once."""
        counts = [range(self._at_once[name]) for name in names]
        return [dict(zip(names, lanes, strict=True)) for lanes in itertools.product(*counts)]

    def _element(self) -> None:
        """All that one turn of the loops over the target computes."""
        space, statement = self._space, self._space.statement
        self._known.clear()
        elements = self._lanes(self._loops.outer)
        names = [f"acc{at}" if len(elements) > 1 else "acc" for at in range(len(elements))]
        if statement.reduction is Reduction.NONE:
            for self._lane in elements:
                self._say(f"{self._target()} = {self._value(statement.value)};")
            return
        goes_on = statement.goes_on and self._is_written
        for name, self._lane in zip(names, elements, strict=True):
            first = literal(neutral(statement.reduction, space.dtype))
            first = self._target() if goes_on else first
            self._say(f"{C_TYPES[space.dtype]} {name} = {first};")
        self._over(self._loops.inner, lambda: self._turn(elements, names))
        for name, self._lane in zip(names, elements, strict=True):
            self._say(f"{self._target()} = {name};")

    def _turn(self, elements: Sequence[Mapping[str, int]], names: Sequence[str]) -> None:
        """Values for every accumulator, in the order in which they are summed up."""
        self._known.clear()
        for lane in self._lanes(self._loops.inner):
            for name, element in zip(names, elements, strict=True):
                self._lane = {**element, **lane}
                value = self._value(self._space.statement.value)
                self._say(f"{name} = {self._reduced(name, value)};")

    def _target(self) -> str:
        statement = self._space.statement
        return f"p_{statement.target}[{self._flat(statement.target, statement.indices)}]"

    def _index(self, name: str) -> str:
        lane = self._lane.get(name, 0)
        return f"(i_{name} + {lane})" if lane else f"i_{name}"

    def _end(self) -> None:
        self._depth -= 1
        self._say("}")

    def _say(self, text: str) -> None:
        self._lines.append(f"{'    ' * self._depth}{text}")

    def _kept(self, text: str, kind: str) -> str:
        """A name for a value."""
        name = f"v{self._count}"
        self._count += 1
        self._say(f"const {C_TYPES[kind]} {name} = {text};")
        return name

    def _reduced(self, acc: str, value: str) -> str:
        reduction = self._space.statement.reduction
        if reduction is Reduction.SUM:
            return _arithmetic("+", acc, value, self._space.dtype)
        if reduction is Reduction.PRODUCT:
            return _arithmetic("*", acc, value, self._space.dtype)
        return _extreme(">" if reduction is Reduction.MAX else "<", value, acc)

    def _type(self, node: ast.expr) -> str:
        return type_of(node, self._plan.dtypes, self._numbers)

    def _value(self, node: ast.expr) -> str:
        """A name, a literal or an element that can stand anywhere."""
        if isinstance(node, ast.Constant):
            assert isinstance(node.value, int | float)
            return literal(node.value)
        if isinstance(node, ast.Name):
            if node.id in self._space.sizes:
                return self._index(node.id)
            number = literal(self._plan.numbers[node.id])
            return f"({number})" if number.startswith("-") else number
        used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        key = ast.unparse(node), tuple(lane for name, lane in self._lane.items() if name in used)
        if key not in self._known:
            self._known[key] = self._computed(node)
        return self._known[key]

    def _computed(self, node: ast.expr) -> str:
        """A name for what is not known yet."""
        kind = self._type(node)
        if isinstance(node, ast.Subscript):
            return self._kept(self._read(node), kind)
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand)
            return self._kept(f"-{value}" if kind == FLOAT else _negated(value), kind)
        if isinstance(node, ast.BinOp):
            left, right = (self._as(each, kind) for each in (node.left, node.right))
            return self._kept(_arithmetic(ARITHMETIC[type(node.op)], left, right, kind), kind)
        assert isinstance(node, ast.Call), ast.dump(node)
        return self._kept(self._call(node, kind), kind)

    def _as(self, node: ast.expr, kind: str) -> str:
        """The value, as a float if that is wanted."""
        value = self._value(node)
        return f"(float){value}" if kind == FLOAT and self._type(node) == INT else value

    def _condition(self, node: ast.expr) -> str:
        if isinstance(node, ast.BoolOp):
            word = " && " if isinstance(node.op, ast.And) else " || "
            return f"({word.join(map(self._condition, node.values))})"
        assert isinstance(node, ast.Compare), ast.dump(node)
        sides = [node.left, node.comparators[0]]
        kind = FLOAT if FLOAT in map(self._type, sides) else INT
        sign = COMPARISONS[type(node.ops[0])]
        if kind == INT and len(set(map(ast.unparse, sides))) == 1:
            # Compilers warn of it, and of what nobody else reads.
            return "1" if sign in ("==", "<=", ">=") else "0"
        left, right = (self._as(side, kind) for side in sides)
        return f"({left} {sign} {right})"

    def _call(self, node: ast.Call, kind: str) -> str:
        name = ast.unparse(node.func)
        if name in REAL:
            return f"{REAL[name][0]}({self._as(node.args[0], FLOAT)})"
        if name == "where":
            condition = self._condition(node.args[0])
            yes, no = (self._as(each, kind) for each in node.args[1:])
            return f"{condition} ? {yes} : {no}"
        given = [self._as(each, kind) for each in node.args]
        if name == "float":
            return given[0] if given[0].startswith("(float)") else f"(float){given[0]}"
        if name == "abs":
            zero = "0.0f" if kind == FLOAT else "0"
            negated = f"-{given[0]}" if kind == FLOAT else _negated(given[0])
            return f"{given[0]} < {zero} ? {negated} : {given[0]}"
        if name == "clip":
            low = self._kept(_extreme(">", given[0], given[1]), kind)
            return _extreme("<", low, given[2])
        return _extreme("<" if name == "min" else ">", given[0], given[1])

    def _read(self, node: ast.Subscript) -> str:
        items = subscripts(node)
        assert items is not None
        assert isinstance(node.value, ast.Name)
        places = [self._place(item) for item in items]
        return f"p_{node.value.id}[{_joined(places, self._plan.shapes[node.value.id])}]"

    def _flat(self, name: str, indices: Sequence[str]) -> str:
        return _joined([self._index(index) for index in indices], self._plan.shapes[name])

    def _place(self, node: ast.expr) -> str:
        """A subscript: no step of it overflows, which its interval has shown."""
        if isinstance(node, ast.BinOp):
            words = {**ARITHMETIC, ast.FloorDiv: "/", ast.Mod: "%"}
            return f"({self._place(node.left)} {words[type(node.op)]} {self._place(node.right)})"
        if isinstance(node, ast.UnaryOp):
            return f"(-{self._place(node.operand)})"
        if isinstance(node, ast.Call):
            given = [self._kept(self._place(each), INT) for each in node.args]
            if ast.unparse(node.func) == "clip":
                low = self._kept(_extreme(">", given[0], given[1]), INT)
                return self._kept(_extreme("<", low, given[2]), INT)
            sign = "<" if ast.unparse(node.func) == "min" else ">"
            return self._kept(_extreme(sign, given[0], given[1]), INT)
        return self._read(node) if isinstance(node, ast.Subscript) else self._value(node)


def _extreme(sign: str, one: str, other: str) -> str:
    return one if one == other else f"{one} {sign} {other} ? {one} : {other}"


def _negated(value: str) -> str:
    return f"(int32_t)(0u - (uint32_t){value})"


def _arithmetic(sign: str, left: str, right: str, kind: str) -> str:
    """Integers wrap, as numpy's do."""
    if kind == FLOAT:
        return f"{left} {sign} {right}"
    return f"(int32_t)((uint32_t){left} {sign} (uint32_t){right})"


def _joined(places: Sequence[str], shape: Sequence[int]) -> str:
    """The element of an array of that shape."""
    text = places[0] if places else "0"
    for place, size in zip(places[1:], shape[1:], strict=True):
        text = f"({text} * {size} + {place})"
    return text[1:-1] if text.startswith("(") and len(places) > 1 else text
