"""What a definition means, in numpy: each statement over all of its indices, in parts."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.index_notation.expressions import FLOAT, REAL
from glowmcu.index_notation.spaces import Plan, Space
from glowmcu.index_notation.statements import Number, Reduction, subscripts

Array = npt.NDArray[Any]
#: Values that are computed at a time.
_AT_ONCE = 2**20
_UFUNCS: Mapping[Reduction, Any] = {
    Reduction.SUM: np.add, Reduction.PRODUCT: np.multiply, Reduction.MAX: np.maximum,
    Reduction.MIN: np.minimum,
}  # fmt: skip
_FUNCTIONS: Mapping[str, Any] = {
    name: getattr(np, name) for name in REAL if name != "sigmoid"
} | {"sigmoid": lambda x: np.float32(1) / (np.float32(1) + np.exp(-x))}  # fmt: skip
_OPERATORS: Mapping[type[ast.AST], Any] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide,
    ast.FloorDiv: np.floor_divide, ast.Mod: np.mod, ast.Lt: np.less, ast.LtE: np.less_equal,
    ast.Gt: np.greater, ast.GtE: np.greater_equal, ast.Eq: np.equal, ast.NotEq: np.not_equal,
}  # fmt: skip


def neutral(reduction: Reduction, dtype: str) -> Number:
    """What a reduction begins with."""
    if reduction in (Reduction.SUM, Reduction.PRODUCT):
        value = 0 if reduction is Reduction.SUM else 1
        return float(value) if dtype == FLOAT else value
    if dtype == FLOAT:
        most = float(np.finfo(np.float32).max)
        return -most if reduction is Reduction.MAX else most
    return -(2**31) if reduction is Reduction.MAX else 2**31 - 1


def results(plan: Plan, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """Of these operands."""
    held = {form.name: x for form, x in zip(plan.definition.inputs, inputs, strict=True)}
    with np.errstate(all="ignore"):
        for space in plan.spaces:
            held[space.statement.target] = target_of(plan, space, held)
    return tuple(held[form.name] for form in plan.definition.outputs)


def target_of(plan: Plan, space: Space, held: Mapping[str, Array]) -> Array:
    """The statement's target; `held` are all tensors that it reads."""
    statement, names = space.statement, list(space.sizes)
    shape = tuple(space.sizes[name] for name in statement.indices)
    before = held.get(statement.target)
    if statement.goes_on and before is not None:
        made = before.copy()
    else:
        made = np.full(shape, neutral(statement.reduction, space.dtype), space.dtype)
    first = 0
    while math.prod(space.sizes[name] for name in names[first:]) > _AT_ONCE:
        first += 1
    # The axis before those that are computed at once is computed in parts.
    outer, inner = names[: max(first - 1, 0)], names[max(first - 1, 0) :]
    for place in np.ndindex(*(space.sizes[name] for name in outer)):
        for part in _parts(space, inner):
            env: dict[str, Array] = {
                name: np.full((1,) * len(inner), at, np.int32)
                for name, at in zip(outer, place, strict=True)
            }
            lengths = [len(part), *(space.sizes[name] for name in inner[1:])][: len(inner)]
            for axis, name in enumerate(inner):
                form = [1] * len(inner)
                form[axis] = lengths[axis]
                begin = part.start if axis == 0 else 0
                indices = np.arange(begin, begin + lengths[axis], dtype=np.int32)
                env[name] = indices.reshape(form)
            value = _Values(plan, held, env).value(statement.value)
            values = np.broadcast_to(value, lengths).astype(space.dtype)
            _put(space, made, values, (*place, slice(part.start, part.stop)), inner)
    return made


def values_over(
    plan: Plan, node: ast.expr, held: Mapping[str, Array], sizes: Mapping[str, int]
) -> Array:
    """A value over all indices, in their order; an axis where it is the same has length 1."""
    env = {
        name: np.arange(size, dtype=np.int32).reshape([-1 if n == name else 1 for n in sizes])
        for name, size in sizes.items()
    }
    with np.errstate(all="ignore"):
        value = _Values(plan, held, env).value(node)
    return value.reshape((1,) * (len(sizes) - value.ndim) + value.shape)


def _parts(space: Space, inner: Sequence[str]) -> Iterator[range]:
    """Of the first of these axes as much as is computed at once."""
    if not inner:
        yield range(1)
        return
    length = space.sizes[inner[0]]
    step = max(1, _AT_ONCE // math.prod(space.sizes[name] for name in inner[1:]))
    for begin in range(0, length, step):
        yield range(begin, min(begin + step, length))


def _put(
    space: Space,
    made: Array,
    values: Array,
    place: tuple[int | slice, ...],
    inner: Sequence[str],
) -> None:
    """Values over the inner indices go to where the outer ones, and a part of the first, say."""
    statement = space.statement
    outer = place[: len(statement.indices)]
    if statement.reduction is Reduction.NONE:
        made[outer] = values
        return
    ufunc = _UFUNCS[statement.reduction]
    axes = tuple(axis for axis, name in enumerate(inner) if name not in statement.indices)
    part = ufunc.reduce(values, axis=axes, dtype=values.dtype) if axes else values
    made[outer] = ufunc(made[outer], part)


class _Values:
    """Expressions where indices have values."""

    def __init__(self, plan: Plan, held: Mapping[str, Array], env: Mapping[str, Array]) -> None:
        self._plan, self._held, self._env = plan, held, env

    def value(self, node: ast.expr) -> Array:
        """A float32, int32 or bool array that broadcasts over the indices."""
        if isinstance(node, ast.Constant):
            return _scalar(node.value)
        if isinstance(node, ast.Name):
            if node.id in self._env:
                return self._env[node.id]
            return _scalar(self._plan.numbers[node.id])
        if isinstance(node, ast.Subscript):
            return self._read(node)
        if isinstance(node, ast.UnaryOp):
            return np.asarray(np.negative(self.value(node.operand)))
        if isinstance(node, ast.BinOp):
            left, right = _alike(self.value(node.left), self.value(node.right))
            return np.asarray(_OPERATORS[type(node.op)](left, right))
        if isinstance(node, ast.Compare):
            left, right = _alike(self.value(node.left), self.value(node.comparators[0]))
            return np.asarray(_OPERATORS[type(node.ops[0])](left, right))
        if isinstance(node, ast.BoolOp):
            ufunc = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            return np.asarray(ufunc.reduce(np.broadcast_arrays(*map(self.value, node.values))))
        assert isinstance(node, ast.Call), ast.dump(node)
        return self._call(node)

    def _read(self, node: ast.Subscript) -> Array:
        items = subscripts(node)
        assert items is not None
        assert isinstance(node.value, ast.Name)
        places = tuple(self.value(item) for item in items)
        found: Array = self._held[node.value.id][places]
        return found

    def _call(self, node: ast.Call) -> Array:
        name, given = ast.unparse(node.func), [self.value(each) for each in node.args]
        if name in _FUNCTIONS:
            return np.asarray(_FUNCTIONS[name](given[0].astype(np.float32)), np.float32)
        if name == "float":
            return given[0].astype(np.float32)
        if name == "abs":
            return np.asarray(np.abs(given[0]))
        if name == "where":
            return np.where(given[0], *_alike(*given[1:]))
        x, *others = _alike(*given)
        if name == "clip":
            return np.asarray(np.minimum(np.maximum(x, others[0]), others[1]))
        return np.asarray((np.minimum if name == "min" else np.maximum)(x, others[0]))


def _scalar(number: object) -> Array:
    return np.asarray(number, np.float32 if isinstance(number, float) else np.int32)


def _alike(*values: Array) -> list[Array]:
    """All float32 if one is."""
    if any(value.dtype == np.float32 for value in values):
        return [value.astype(np.float32) for value in values]
    return list(values)
