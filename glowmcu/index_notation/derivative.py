"""The gradient of a definition is a definition: reverse mode on index notation.

Statements are written once more with a name for each value that a tensor has in turn, and behind
them, last one first, what each operand of a value gets of the gradient of its target:

    y[b, o] += w[o, i] * x[b, i]        d_x[b, i] += g_y[b, o] * w[o, i]
    y[t] += x[t + k] * w[k]             d_x[u] += where(0 <= u - k and u - k < T, …, 0.0)

A subscript that is an index, or one more or less something, is solved for it; of any other, a
gather among them, each place asks every value whether it was read there.
Source: Griewank and Walther, Evaluating Derivatives, 2008, chapter 3.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from glowmcu.index_notation.definition import read_definition
from glowmcu.index_notation.expressions import FLOAT, INT, type_of
from glowmcu.index_notation.partial_derivatives import Parts, leaf_gradients
from glowmcu.index_notation.rewriting import (
    both,
    clipped,
    compared,
    element,
    minus,
    number,
    renamed,
    times,
    where,
)
from glowmcu.index_notation.spaces import Plan, Space
from glowmcu.index_notation.statements import DefinitionError, Reduction, Statement, subscripts
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class GradientDefinition:
    """`text` defines the gradient of one operand. It takes `operands` of the definition, by their
    names, and behind them the gradient of the first result.
    """

    text: str
    operands: tuple[str, ...]


@dataclass(frozen=True)
class _Line:
    """A statement on the way: its text, what it gives a value, and what it reads."""

    target: str
    text: tuple[str, ...]
    reads: frozenset[str]


def gradient_of(plan: Plan, operand: str) -> GradientDefinition | None:
    """The gradient of `operand`, at the plan's shapes; None if the first result does not depend on
    it smoothly. Raises DefinitionError for a statement that has none.
    """
    if plan.dtypes[operand] != FLOAT or plan.dtypes[plan.definition.outputs[0].name] != FLOAT:
        return None
    return _Reverse(plan, operand).definition()


@dataclass
class _Names:
    """Those that are taken. `places` are the indices that go along an axis, by its number: every
    statement may have the same.
    """

    taken: set[str] = field(default_factory=set)
    places: dict[int, str] = field(default_factory=dict)

    def place(self, axis: int) -> str:
        """The index along an axis."""
        if axis not in self.places:
            self.places[axis] = self.fresh(f"at_{axis}")
        return self.places[axis]

    def fresh(self, base: str) -> str:
        """A name that begins with `base`, of 20 characters at most."""
        name, count = base[:20], 0
        while name in self.taken:
            count += 1
            name = f"{base[:16]}{count}"
        self.taken.add(name)
        return name


class _Reverse:
    """One operand's gradient."""

    def __init__(self, plan: Plan, operand: str) -> None:
        self._plan, self._operand = plan, operand
        definition = plan.definition
        self._names = _Names({*plan.shapes, *plan.numbers, *definition.attributes})
        for space in plan.spaces:
            self._names.taken.update(space.sizes)
        #: Sizes are numbers; attributes keep their names.
        self._sizes: dict[str, ast.expr] = {
            name: number(value)
            for name, value in plan.numbers.items()
            if name not in definition.attributes
        }
        self._current = {form.name: form.name for form in definition.inputs}
        self._shapes = {form.name: plan.shapes[form.name] for form in definition.inputs}
        self._dtypes = dict(plan.dtypes)
        self._lines: list[_Line] = []
        self._gradients: dict[str, str] = {}
        self._given = self._names.fresh(f"g_{definition.outputs[0].name}")
        self._result = self._names.fresh(f"d_{operand}")

    def definition(self) -> GradientDefinition | None:
        """All of it; None without influence."""
        versions = [self._forward(space) for space in self._plan.spaces]
        result = self._plan.definition.outputs[0].name
        self._gradients = {self._current[result]: self._given, self._operand: self._result}
        influenced = self._influenced(versions)
        for (before, after), space in reversed(list(zip(versions, self._plan.spaces, strict=True))):
            if after in self._gradients and after in influenced:
                self._backward(space, before, after, influenced)
        if not any(line.target == self._result for line in self._lines):
            return None
        return self._written(self._needed())

    def _forward(self, space: Space) -> tuple[Mapping[str, str], str]:
        """A statement with a name of its own for what its target is after it; which names tensors
        had before, and that.
        """
        statement, before = space.statement, dict(self._current)
        after = self._names.fresh(f"{statement.target}_")
        old = before.get(statement.target)
        self._shapes[after] = tuple(space.sizes[name] for name in statement.indices)
        self._dtypes[after] = space.dtype
        if statement.goes_on and old is not None:
            self._say(after, statement.indices, "=", element(old, statement.indices), space.sizes)
        value = renamed(statement.value, before, self._sizes)
        sign = {Reduction.SUM: "+=", Reduction.PRODUCT: "*="}.get(statement.reduction, "=")
        if statement.reduction in (Reduction.MAX, Reduction.MIN):
            value = ast.Call(ast.Name(statement.reduction.value), [value], [])
        self._say(after, statement.indices, sign, value, space.sizes)
        self._current[statement.target] = after
        return before, after

    def _influenced(self, versions: Sequence[tuple[Mapping[str, str], str]]) -> set[str]:
        """What depends on the operand."""
        found = {self._operand}
        for (before, after), space in zip(versions, self._plan.spaces, strict=True):
            reads = _read_tensors(renamed(space.statement.value, before))
            if space.statement.goes_on:
                reads |= {before.get(space.statement.target, "")}
            if space.dtype == FLOAT and not found.isdisjoint(reads):
                found.add(after)
        return found

    def _backward(
        self, space: Space, before: Mapping[str, str], after: str, influenced: set[str]
    ) -> None:
        """What a statement's operands get."""
        statement, zero = space.statement, number(0.0)
        upstream: ast.expr = element(self._gradients[after], statement.indices)
        value = renamed(statement.value, before, self._sizes)
        old = before.get(statement.target)
        is_product = statement.reduction is Reduction.PRODUCT
        if statement.goes_on and old in influenced:
            assert old is not None
            places = tuple(ast.Name(name) for name in statement.indices)
            own = {name: space.sizes[name] for name in statement.indices}
            part = times(upstream, self._product(space, value)) if is_product else upstream
            self._give(replace(space, sizes=own), old, places, part)
        if is_product:
            upstream = times(upstream, self._others(space, value))
            if old is not None:
                upstream = times(upstream, element(old, statement.indices))
        if statement.reduction in (Reduction.MAX, Reduction.MIN):
            is_it = compared(value, ast.Eq(), element(after, statement.indices))
            upstream = where(is_it, upstream, zero)
        numbers = self._plan.numbers.items()
        types = {name: INT if isinstance(value, int) else FLOAT for name, value in numbers}
        types |= dict.fromkeys(space.sizes, INT)
        known = element(after, statement.indices) if statement.is_assignment else None
        parts = Parts(lambda node: type_of(node, self._dtypes, types), statement.line, value, known)
        for leaf, part in leaf_gradients(value, upstream, parts):
            items = subscripts(leaf)
            assert isinstance(leaf.value, ast.Name)
            assert items is not None
            if leaf.value.id in influenced:
                self._give(space, leaf.value.id, items, part)

    def _product(self, space: Space, value: ast.expr) -> ast.expr:
        """An element of the product over what the target does not have, without what that was."""
        name, indices = self._new(space.statement.indices, space), space.statement.indices
        self._say(name, indices, "*=", value, space.sizes)
        return element(name, indices)

    def _others(self, space: Space, value: ast.expr) -> ast.expr:
        """An element of the products of all factors but one: a quotient would be none of 0."""
        copies = {name: self._names.fresh(f"{name}_") for name in space.reduced}
        if not copies:
            return number(1.0)
        indices = tuple(space.sizes)
        name = self._new(indices, space)
        differ = [compared(ast.Name(copy), ast.NotEq(), ast.Name(name_))
                  for name_, copy in copies.items()]  # fmt: skip
        is_other = differ[0] if len(differ) == 1 else ast.BoolOp(ast.Or(), list(differ))
        factor = renamed(value, {}, {own: ast.Name(copy) for own, copy in copies.items()})
        sizes = {**space.sizes, **{copy: space.sizes[own] for own, copy in copies.items()}}
        self._say(name, indices, "*=", where(is_other, factor, number(1.0)), sizes)
        return element(name, indices)

    def _new(self, indices: Sequence[str], space: Space) -> str:
        """A tensor over these indices."""
        name = self._names.fresh(f"{space.statement.target}_")
        self._shapes[name] = tuple(space.sizes[index] for index in indices)
        self._dtypes[name] = FLOAT
        return name

    def _give(self, space: Space, tensor: str, places: Sequence[ast.expr], part: ast.expr) -> None:
        """`part` to the gradient of `tensor` at `places`, for all values of the indices."""
        if tensor not in self._gradients:
            self._gradients[tensor] = self._names.fresh(f"g_{tensor}")
        solved = _solved(space, self._shapes[tensor], places, self._names)
        value = solved.applied(part)
        if solved.guards:
            guards = [solved.applied(guard) for guard in solved.guards]
            value = where(both(guards), value, number(0.0))
        self._say(self._gradients[tensor], solved.indices, "+=", value, solved.sizes)

    def _say(
        self,
        target: str,
        indices: Sequence[str],
        sign: str,
        value: ast.expr,
        sizes: Mapping[str, int],
    ) -> None:
        """A statement with a `for` for each index: the value of a sum may lack some."""
        ast.fix_missing_locations(value)
        used = {*indices, *_names_in(value)}
        loops = [name for name in sizes if name in used or sign != "="]
        text = [f"for {name} in range({sizes[name]}):" for name in loops]
        text.append(f"{target}[{', '.join(indices)}] {sign} {ast.unparse(value)}")
        lines = tuple(f"{'    ' * depth}{line}" for depth, line in enumerate(text))
        own = {target} if target in {line.target for line in self._lines} else set()
        self._lines.append(_Line(target, lines, frozenset(_read_tensors(value) | own)))

    def _needed(self) -> list[_Line]:
        """Lines that the result depends on."""
        wanted, kept = {self._result}, list[_Line]()
        for line in reversed(self._lines):
            if line.target in wanted:
                wanted |= line.reads
                kept.append(line)
        return kept[::-1]

    def _written(self, lines: Sequence[_Line]) -> GradientDefinition:
        definition, read = self._plan.definition, {name for line in lines for name in line.reads}
        operands = tuple(form.name for form in definition.inputs if form.name in read)
        given = [(name, self._dtypes[name], self._shapes[name]) for name in operands]
        given.append((self._given, FLOAT, self._plan.outputs[0]))
        parameters = [f'{name}: "{dtype}{list(shape)}"' for name, dtype, shape in given]
        parameters += [
            f"{name}: {type(default).__name__} = {default!r}"
            for name, default in definition.attributes.items()
        ]
        result = f'"{self._result}: {FLOAT}{list(self._shapes[self._operand])}"'
        name = self._names.fresh(f"{definition.name[:10]}_gradient")
        head = f"def {name}({', '.join(parameters)}) -> {result}:"
        about = f'"""The gradient of {self._operand} of {definition.name}, written by glowmcu."""'
        body = [about, *(text for line in lines for text in line.text)]
        text = "\n".join([head, *(f"    {line}" for line in body), ""])
        try:
            read_definition(text)
        except DefinitionError as cause:
            raise DefinitionError(f"of its gradient: {cause}") from cause
        return GradientDefinition(text, operands)


@dataclass
class _Solved:
    """A statement's indices seen from the places that it reads: `indices` are those of a place,
    `sizes` of all that are left, `values` of those that follow from the place, where `guards` hold.
    """

    indices: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    values: dict[str, ast.expr] = field(default_factory=dict)
    guards: list[ast.expr] = field(default_factory=list)

    def applied(self, node: ast.expr) -> ast.expr:
        """An expression of the statement's indices in those that are left."""
        return renamed(node, {}, self.values)


def _solved(
    space: Space, shape: Sequence[int], places: Sequence[ast.expr], names: _Names
) -> _Solved:
    """Each axis in turn: an index that goes along all of it is the place; one that stands in a sum
    follows from it; else the place is compared.
    """
    solved, left = _Solved(), dict(space.sizes)
    for axis, place in enumerate(places):
        size = shape[axis]
        if isinstance(place, ast.Name) and left.get(place.id) == size:
            del left[place.id]
            solved.indices.append(place.id)
            solved.sizes[place.id] = size
            continue
        index = names.place(axis)
        solved.indices.append(index)
        solved.sizes[index] = size
        found = _alone(place, ast.Name(index), left)
        if found is None:
            _check_comparable(place, space.statement)
            solved.guards.append(compared(place, ast.Eq(), ast.Name(index)))
            continue
        name, value = found
        value = solved.applied(value)
        length = left.pop(name)
        solved.values = {key: renamed(one, {}, {name: value}) for key, one in solved.values.items()}
        solved.values[name] = clipped(value, 0, length - 1)
        solved.guards.append(compared(value, ast.GtE(), number(0)))
        solved.guards.append(compared(value, ast.Lt(), number(length)))
    solved.sizes |= left
    return solved


def _alone(
    place: ast.expr, index: ast.expr, left: Mapping[str, int]
) -> tuple[str, ast.expr] | None:
    """`t + d` = u: t, and u - d; None where no index stands alone in a sum."""
    if isinstance(place, ast.Name):
        return (place.id, index) if place.id in left else None
    if not isinstance(place, ast.BinOp) or not isinstance(place.op, ast.Add | ast.Sub):
        return None
    one, other = place.left, place.right
    sides = [(one, other, minus if isinstance(place.op, ast.Add) else _plus)]
    if isinstance(place.op, ast.Add):
        sides.append((other, one, minus))
    for side, rest, undone in sides:
        solved = _alone(side, undone(index, rest), left)
        if solved is not None and solved[0] not in _names_in(rest):
            return solved
    return None


def _plus(a: ast.expr, b: ast.expr) -> ast.expr:
    return ast.BinOp(a, ast.Add(), b)


def _check_comparable(place: ast.expr, statement: Statement) -> None:
    if any(isinstance(node, ast.FloorDiv | ast.Mod) for node in ast.walk(place)):
        what = f"a subscript {ast.unparse(place)} has no gradient: // and % cannot be compared"
        raise DefinitionError(what, statement.line)


def _names_in(node: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _read_tensors(value: ast.expr) -> set[str]:
    return {
        node.value.id
        for node in ast.walk(value)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)
    }
