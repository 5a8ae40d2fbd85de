"""A definition at given shapes in C: a loop an index, every step of a value a line of its own.

Names are the user's with a letter before: `p_x` points to x, `i_b` is the index b.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from glowmcu.index_notation.definition import Number, Reduction, subscripts
from glowmcu.index_notation.expressions import ARITHMETIC, COMPARISONS, FLOAT, INT, REAL, type_of
from glowmcu.index_notation.meaning import neutral
from glowmcu.index_notation.spaces import Plan, Space

C_TYPES = {FLOAT: "float", INT: "int32_t"}


def scratch_bytes(plan: Plan) -> int:
    """Memory for what is temporary: all types have four bytes."""
    return sum(4 * int(np.prod(plan.shapes[name])) for name in plan.temporaries)


def body(plan: Plan) -> tuple[str, ...]:
    """The lines of a function with pointers `p_…` to operands and results, and `scratch`."""
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
        lines += _Loops(plan, space, space.statement.target in written).lines()
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

    def __init__(self, plan: Plan, space: Space, is_written: bool) -> None:
        self._plan, self._space, self._is_written = plan, space, is_written
        self._lines: list[str] = []
        self._depth = 1
        self._count = 0
        numbers = {n: INT if isinstance(v, int) else FLOAT for n, v in plan.numbers.items()}
        self._numbers = numbers | dict.fromkeys(space.sizes, INT)

    def lines(self) -> list[str]:
        """The loops and what is in them."""
        space, statement = self._space, self._space.statement
        kind = C_TYPES[space.dtype]
        for name in statement.indices:
            self._loop(name)
        place = f"p_{statement.target}[{self._flat(statement.target, statement.indices)}]"
        if statement.reduction is Reduction.NONE:
            self._say(f"{place} = {self._value(statement.value)};")
        else:
            goes_on = statement.goes_on and self._is_written
            first = place if goes_on else literal(neutral(statement.reduction, space.dtype))
            self._say(f"{kind} acc = {first};")
            for name in space.reduced:
                self._loop(name)
            self._say(f"acc = {self._reduced(self._value(statement.value))};")
            for _ in space.reduced:
                self._end()
            self._say(f"{place} = acc;")
        for _ in statement.indices:
            self._end()
        return self._lines

    def _loop(self, name: str) -> None:
        size = self._space.sizes[name]
        self._say(f"for (int32_t i_{name} = 0; i_{name} < {size}; ++i_{name}) {{")
        self._depth += 1

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

    def _reduced(self, value: str) -> str:
        reduction = self._space.statement.reduction
        if reduction is Reduction.SUM:
            return _arithmetic("+", "acc", value, self._space.dtype)
        if reduction is Reduction.PRODUCT:
            return _arithmetic("*", "acc", value, self._space.dtype)
        return _extreme(">" if reduction is Reduction.MAX else "<", value, "acc")

    def _type(self, node: ast.expr) -> str:
        return type_of(node, self._plan.dtypes, self._numbers)

    def _value(self, node: ast.expr) -> str:
        """A name, a literal or an element that can stand anywhere."""
        if isinstance(node, ast.Constant):
            assert isinstance(node.value, int | float)
            return literal(node.value)
        if isinstance(node, ast.Name):
            if node.id in self._space.sizes:
                return f"i_{node.id}"
            number = literal(self._plan.numbers[node.id])
            return f"({number})" if number.startswith("-") else number
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
        left, right = (self._as(side, kind) for side in sides)
        return f"({left} {COMPARISONS[type(node.ops[0])]} {right})"

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
        return _joined([f"i_{index}" for index in indices], self._plan.shapes[name])

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
    return f"{one} {sign} {other} ? {one} : {other}"


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
