"""Values of a definition as operators on whole tensors, which broadcast over the indices."""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

import numpy as np

from glowmcu.index_notation import Plan
from glowmcu.index_notation.meaning import values_over
from glowmcu.index_notation.places import Place, factors, place_of, reads
from glowmcu.index_notation.rewriting import called, times
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Array, Constant, Operation, Signature
from glowmcu.ir.rewriting import Context
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.limits import tensor_bytes
from glowmcu.ops.activation import Abs, Relu
from glowmcu.ops.defined import Defined, DefinedFunction
from glowmcu.ops.elementwise import Add, Maximum, Minimum, Mul, Sub
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.real_functions import Cos, Floor, Sin, Sqrt
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice
from glowmcu.ops.tiling import BroadcastTo
from glowmcu.ops.transcendental import Exp, Log, Logistic, Tanh
from glowmcu.ops.transpose import Transpose

_FUNCTIONS: Mapping[str, type[Operation]] = {
    "abs": Abs, "exp": Exp, "log": Log, "sqrt": Sqrt, "tanh": Tanh, "sigmoid": Logistic,
    "floor": Floor, "sin": Sin, "cos": Cos,
}  # fmt: skip
_SUMS: Mapping[type[ast.operator], type[Operation]] = {ast.Add: Add, ast.Sub: Sub}
_EXTREMES: Mapping[str, type[Operation]] = {"max": Maximum, "min": Minimum}


class NotComposed(Exception):
    """The definition is no composition of operators that there are."""


@dataclass(frozen=True)
class Term:
    """A tensor whose axes are these indices, in the statement's order."""

    value: Value
    axes: tuple[str, ...]


class Emitter:
    """Nodes in front of the definition's."""

    def __init__(self, context: Context, node: Node) -> None:
        self._context, self._node = context, node

    def add(self, op: Operation, *inputs: Value) -> Value:
        """The result of a new node. Raises OperationError."""
        (shape,) = op.infer([value.type for value in inputs])
        type_ = TensorType(shape, ElementType.F32)
        op.verify(Signature(tuple(value.type for value in inputs), (type_,)))
        made = self._context.added
        name = f"{self._node.name}/{op.name}_{len(made)}"
        value = Value(type_, name)
        made.append(Node(op, inputs, (value,), name, self._node.source, self._node.stage))
        return value

    def constant(self, data: Array) -> Value:
        """A constant of float32."""
        data = np.ascontiguousarray(data, np.float32).reshape(data.shape)
        return self._context.add_constant(data, name=self._constant_name())

    def no_bias(self, channels: int) -> Value:
        """Of a layer that a definition gives none."""
        return self._context.add_no_bias(channels, self._constant_name())

    def _constant_name(self) -> str:
        return f"{self._node.name}/constant_{len(self._context.added)}"

    def reshape(self, value: Value, shape: Shape) -> Value:
        return value if value.type.shape == shape else self.add(Reshape(shape), value)

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        is_same = list(order) == sorted(order)
        return value if is_same else self.add(Transpose(tuple(order)), value)

    def broadcast(self, value: Value, shape: Shape) -> Value:
        return value if value.type.shape == shape else self.add(BroadcastTo(shape), value)

    def named(self, value: Value, like: Value, taken: Collection[Value]) -> Value:
        """`value` under another name; what has one already, of those `taken`, gets a node more."""
        made = self._context.added
        maker = next((node for node in made if value in node.outputs), None)
        result = Value(value.type, like.name)
        if maker is None or isinstance(maker.op, Constant) or value in taken:
            op = Reshape(value.type.shape)
            made.append(Node(op, (value,), (result,), like.name, self._node.source))
            return result
        renamed = {value: result}
        made[:] = [
            replace(
                node,
                inputs=tuple(renamed.get(each, each) for each in node.inputs),
                outputs=tuple(renamed.get(each, each) for each in node.outputs),
                name=like.name if node is maker else node.name,
            )
            for node in made
        ]
        return result

    def function(self, value: Value, text: str) -> Value:
        """`text`, in which `x` is an element, of each element: a table where that is int8."""
        op = self._node.op
        assert isinstance(op, Defined)
        axes = [f"a{axis}" for axis in range(value.type.rank)]
        sizes = ", ".join(axis.upper() for axis in axes)
        stem = PurePath(op.file).stem
        head = f'def {stem}(x: "float32[{sizes}]") -> "y: float32[{sizes}]":'
        place = ", ".join(axes)
        lines = f"{head}\n    y[{place}] = {text.replace('x[]', f'x[{place}]')}\n"
        return self.add(DefinedFunction(op.kind, f"{stem}_function.py", lines, ()), value)


class Terms:
    """Values over the indices of one statement. `made` are tensors that the network computes,
    `known` those that are constant.
    """

    def __init__(
        self,
        emit: Emitter,
        plan: Plan,
        sizes: Mapping[str, int],
        made: Mapping[str, Value],
        known: Mapping[str, Array],
    ) -> None:
        self.emit, self.sizes, self.made = emit, sizes, made
        self._plan, self._known = plan, known

    def is_known(self, node: ast.expr) -> bool:
        """Whether nothing of it depends on what the network is given."""
        return not self.variables(node)

    def variables(self, node: ast.expr) -> dict[str, ast.Subscript]:
        """Elements that the network computes, by how they are written."""
        return {ast.unparse(read): read for read in reads(node) if _tensor(read) not in self._known}

    def data(self, node: ast.expr) -> Array:
        """What is known over all indices: an axis each, of length 1 where it does not matter.

        Raises NotComposed for more than a tensor may have.
        """
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        count = math.prod(size for name, size in self.sizes.items() if name in names)
        if 4 * count > tensor_bytes():
            raise NotComposed(f"{count} constants")
        data = values_over(self._plan, node, self._known, self.sizes)
        for axis in range(data.ndim):
            first = data.take([0], axis)
            data = first if bool((data == first).all()) else data
        return data

    def constant(self, data: Array) -> Term:
        """Known data over all indices."""
        names = list(self.sizes)
        used = tuple(name for axis, name in enumerate(names) if data.shape[axis] > 1)
        return Term(self.emit.constant(data.reshape([self.sizes[name] for name in used])), used)

    def term(self, node: ast.expr) -> Term:
        """The value over its indices. Raises NotComposed."""
        variables = self.variables(node)
        if not variables:
            return self.constant(self.data(node))
        if self.is_function(node):
            ((text, read),) = variables.items()
            place = self.place(read)
            return self._view(place, self.applied(node, text, self.made[place.tensor]))
        parts = self.groups(factors(node))
        if len(parts) > 1:
            return self._product(parts)
        inner = self._only_part(node)
        if inner is not None:
            core = self.term(inner)
            return Term(self.applied(node, ast.unparse(inner), core.value), core.axes)
        return self._combined(node)

    def place(self, read: ast.Subscript) -> Place:
        """What is read. Raises NotComposed for a subscript that is no sum of indices."""
        place = place_of(read)
        if place is None:
            raise NotComposed(f"{ast.unparse(read)} is no slice")
        return place

    def is_function(self, node: ast.expr) -> bool:
        """Whether it is made of one element that the network computes, and numbers."""
        if len(self.variables(node)) != 1:
            return False
        known = any(_tensor(read) in self._known for read in reads(node))
        return not known and not self._has_index(node)

    def _has_index(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Subscript):
            return False
        if isinstance(node, ast.Name):
            return node.id in self.sizes
        children = node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node)
        return any(self._has_index(each) for each in children if isinstance(each, ast.expr))

    def _only_part(self, node: ast.expr) -> ast.expr | None:
        """The part that the rest is a function of, with numbers; None if there are several."""
        children = node.args if isinstance(node, ast.Call) else list(ast.iter_child_nodes(node))
        parts = [each for each in children if isinstance(each, ast.expr)]
        varying = [each for each in parts if list(reads(each)) or self._has_index(each)]
        if len(varying) != 1 or isinstance(node, ast.Compare | ast.BoolOp):
            return None
        (part,) = varying
        return self._only_part(part) or part

    def applied(self, node: ast.expr, inner: str, value: Value) -> Value:
        """A function of `value`, which stands in `node` as `inner`."""
        text = ast.unparse(node)
        if text == inner:
            return value
        made = self._operator(node, inner, value)
        if made is not None:
            return made
        hole = _Hole(inner)
        return self.emit.function(value, ast.unparse(hole.visit(_copy(node))).replace(
            _MARK, "x[]"))  # fmt: skip

    def _operator(self, node: ast.expr, inner: str, value: Value) -> Value | None:
        """A function that is an operator, or a limit of one: those are fused."""
        if isinstance(node, ast.Call):
            name, given = ast.unparse(node.func), node.args
            if name in _FUNCTIONS and ast.unparse(given[0]) == inner:
                return self.emit.add(_FUNCTIONS[name](), value)
            limits = self._limits(name, given)
            if limits is None:
                return None
            (rest,) = (each for each in given if not self._is_number(each))
            limited = value if ast.unparse(rest) == inner else self._operator(rest, inner, value)
            return None if limited is None else self.emit.add(Relu(limits), limited)
        parts = factors(node)
        scales = [part for part in parts if self._is_number(part)]
        others = [ast.unparse(part) for part in parts if not self._is_number(part)]
        if not scales or others != [inner]:
            return None
        scale = math.prod(float(self.data(part).reshape(-1)[0]) for part in scales)
        return self.emit.add(Mul(), value, self.emit.constant(np.full(1, scale)))

    def _limits(self, name: str, given: Sequence[ast.expr]) -> tuple[float, float] | None:
        """Of `max(…, 0)`, `min(…, 6)` and `clip`."""
        numbers = [each for each in given if self._is_number(each)]
        if len(numbers) != len(given) - 1 or name not in ("max", "min", "clip"):
            return None
        bounds = [float(self.data(each).reshape(-1)[0]) for each in numbers]
        if name == "clip":
            is_first = not self._is_number(given[0])
            return (bounds[0], bounds[1]) if is_first and bounds[0] <= bounds[1] else None
        return (bounds[0], FLOAT_MAX) if name == "max" else (-FLOAT_MAX, bounds[0])

    def _is_number(self, node: ast.expr) -> bool:
        return not list(reads(node)) and not self._has_index(node)

    def _combined(self, node: ast.expr) -> Term:
        """Of several parts."""
        if isinstance(node, ast.BinOp) and type(node.op) in _SUMS:
            left, right = self.term(node.left), self.term(node.right)
            return self.binary(_SUMS[type(node.op)](), left, right)
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in _EXTREMES:
                return self.binary(_EXTREMES[name](), *map(self.term, node.args))
            if name == "clip":
                x, low, high = node.args
                return self._combined(called("min", called("max", x, low), high))
        raise NotComposed(f"{ast.unparse(node)} has no operator")

    def _product(self, parts: Sequence[ast.expr]) -> Term:
        made = [self.term(part) for part in parts]
        product = made[0]
        for factor in made[1:]:
            product = self.binary(Mul(), product, factor)
        return product

    def groups(self, parts: Sequence[ast.expr]) -> list[ast.expr]:
        """Factors that are functions of the same element become one; numbers go to one of these."""
        numbers = [part for part in parts if self._is_number(part)]
        found: dict[str, ast.expr] = {}
        others: list[ast.expr] = []
        for part in parts:
            if part in numbers:
                continue
            if self.is_function(part):
                (text,) = self.variables(part)
                found[text] = times(found[text], part) if text in found else part
            else:
                others.append(part)
        made = [*found.values(), *others]
        for factor in numbers:
            # What is a table already takes a number for nothing.
            first = next((i for i, part in enumerate(made) if not isinstance(part, ast.Subscript)
                          and i < len(found)), 0)  # fmt: skip
            made[first : first + 1] = [times(part, factor) for part in made[first : first + 1]]
        return made

    def binary(self, op: Operation, a: Term, b: Term) -> Term:
        """Of two terms, over the indices of both."""
        axes = self.ordered({*a.axes, *b.axes})
        return Term(self.emit.add(op, self._over(a, axes), self._over(b, axes)), axes)

    def ordered(self, axes: set[str]) -> tuple[str, ...]:
        """Indices in the statement's order."""
        return tuple(name for name in self.sizes if name in axes)

    def _over(self, term: Term, axes: tuple[str, ...]) -> Value:
        """With an axis of length 1 for each index that it lacks; none in front of all others."""
        shape = [self.sizes[name] if name in term.axes else 1 for name in axes]
        while len(shape) > max(len(term.axes), 1) and shape[0] == 1 and axes[0] not in term.axes:
            shape, axes = shape[1:], axes[1:]
        return self.emit.reshape(term.value, tuple(shape))

    def _view(self, place: Place, value: Value) -> Term:
        """The elements of a place over its indices."""
        if place.is_window:
            raise NotComposed(f"windows of {place.tensor}")
        value = self.sliced(value, place)
        names = place.indices
        value = self.emit.reshape(value, tuple(self.sizes[name] for name in names))
        return self.reordered(Term(value, names))

    def sliced(self, value: Value, place: Place) -> Value:
        """What an axis with one index takes of it; of one with windows all that these reach."""
        begin, size, step = [], [], []
        for length, each in zip(value.type.shape, place.subscripts, strict=True):
            begin.append(each.offset)
            if len(each.coefficients) > 1:
                reach = sum(factor * (self.sizes[name] - 1) for name, factor in each.coefficients)
                size.append(min(reach + 1, length))
                step.append(1)
            else:
                size.append(math.prod(self.sizes[name] for name in each.indices))
                step.append(each.coefficients[0][1] if each.coefficients else 1)
        if tuple(size) == value.type.shape and all(one == 1 for one in step):
            return value
        return self.emit.add(Slice(tuple(begin), tuple(size), tuple(step)), value)

    def reordered(self, term: Term) -> Term:
        """With its axes in the statement's order."""
        axes = self.ordered({*term.axes})
        return Term(self.emit.transpose(term.value, [term.axes.index(a) for a in axes]), axes)

    def whole(self, term: Term, axes: tuple[str, ...]) -> Value:
        """With all of these axes."""
        value = self.emit.reshape(
            term.value, tuple(self.sizes[a] if a in term.axes else 1 for a in axes)
        )
        return self.emit.broadcast(value, tuple(self.sizes[a] for a in axes))


_MARK = "__here__"


class _Hole(ast.NodeTransformer):
    """A mark in the place of one part."""

    def __init__(self, text: str) -> None:
        self._text = text

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and ast.unparse(node) == self._text:
            return ast.Name(_MARK)
        return super().generic_visit(node)


def _copy(node: ast.expr) -> ast.expr:
    made: ast.expr = ast.parse(ast.unparse(node), mode="eval").body
    return made


def _tensor(read: ast.Subscript) -> str:
    assert isinstance(read.value, ast.Name)
    return read.value.id
