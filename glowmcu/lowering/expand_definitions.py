"""Definitions that are compositions of operators become these, each of which has an int8 form.

Statement by statement: sums of products with constants are layers, other sums of products are
products of matrices, what is left are functions of elements. A definition of which any part has no
int8 form stays as it is: its own C computes it in float32.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from glowmcu.index_notation import Plan, Reduction, Space
from glowmcu.index_notation.meaning import target_of
from glowmcu.index_notation.rewriting import element, number, renamed
from glowmcu.index_notation.statements import subscripts
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Constant, OperationError
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import ElementType
from glowmcu.lowering.definition_sums import Sums
from glowmcu.lowering.definition_terms import Emitter, NotComposed, Term, Terms
from glowmcu.ops.defined import Defined
from glowmcu.ops.elementwise import Add
from glowmcu.ops.reduction import ReduceMax, ReduceMin

_EXTREMES: Mapping[Reduction, type[ReduceMax | ReduceMin]] = {
    Reduction.MAX: ReduceMax, Reduction.MIN: ReduceMin,
}  # fmt: skip

#: Parts of a value that is written out wherever it is read, and of any that is looked at.
_MOST_INLINED, _MOST_PARTS = 200, 600


def run(graph: Graph) -> Graph:
    """The graph with compositions in the place of their definitions."""
    return rewrite(graph, _expand)


def _expand(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, Defined):
        return None
    if any(value.type.element is not ElementType.F32 for value in node.outputs):
        return None
    try:
        values = _Expansion(context, node).values()
    except (NotComposed, OperationError):
        return None
    for added in context.added:
        if not isinstance(added.op, Constant) and not added.op.quantization_rule(added.signature):
            return None
    return values


class _Expansion:
    """A definition's statements, one behind the other. Each target has a name of its own, so that
    one that is assigned twice is two tensors.
    """

    def __init__(self, context: Context, node: Node) -> None:
        assert isinstance(node.op, Defined)
        self._node = node
        self._plan: Plan = node.op.plan([value.type for value in node.inputs])
        self._emit = Emitter(context, node)
        self._names = {form.name: form.name for form in self._plan.definition.inputs}
        self._made: dict[str, Value] = {}
        self._known: dict[str, Array] = {}
        #: Targets that are functions of one element, until somebody wants the tensor: the value,
        #: and the indices of the target that stand in it.
        self._functions: dict[str, tuple[ast.expr, Space]] = {}
        for name, value in zip(self._names, node.inputs, strict=True):
            data = context.constant(value)
            if data is not None:
                self._known[name] = data
            elif value.type.element is not ElementType.F32:
                raise NotComposed(f"{name} holds integers")
            else:
                self._made[name] = value

    def values(self) -> list[Value]:
        """The results. Raises NotComposed, OperationError."""
        for count, space in enumerate(self._plan.spaces):
            self._run(space, f"{space.statement.target}__{count}")
        results: list[Value] = []
        for form, old in zip(self._plan.definition.outputs, self._node.outputs, strict=True):
            value = self._tensor(self._names[form.name])
            results.append(self._emit.named(value, old, results))
            self._made[self._names[form.name]] = results[-1]
        return results

    def _run(self, space: Space, name: str) -> None:
        """One statement, whose target is called `name` from now on."""
        statement, target = space.statement, space.statement.target
        value = self._written(statement.value)
        terms = Terms(self._emit, self._plan, space.sizes, self._made, self._known)
        goes_on = statement.goes_on and target in self._names
        before = self._names.get(target)
        if terms.is_known(value) and (not goes_on or before in self._known):
            held = {own: self._known[at] for own, at in self._names.items() if at in self._known}
            self._known[name] = target_of(self._plan, space, held)
        elif statement.is_assignment and self._is_short_function(terms, value):
            self._functions[name] = value, space
        else:
            term = self._reduced(space, terms, value)
            if goes_on:
                old = terms.term(self._written(element(target, statement.indices)))
                term = terms.binary(Add(), term, old)
            self._made[name] = terms.whole(term, statement.indices)
        self._names[target] = name

    def _reduced(self, space: Space, terms: Terms, value: ast.expr) -> Term:
        statement = space.statement
        if statement.reduction is Reduction.NONE:
            return terms.term(value)
        if statement.reduction is Reduction.SUM:
            return Sums(terms, statement.indices).sum(value)
        if statement.reduction not in _EXTREMES:
            raise NotComposed("a product over an index")
        term = terms.term(value)
        axes = tuple(i for i, a in enumerate(term.axes) if a not in statement.indices)
        left = tuple(a for a in term.axes if a in statement.indices)
        op = _EXTREMES[statement.reduction](axes, False)
        return Term(self._emit.add(op, term.value), left) if axes else term

    def _is_short_function(self, terms: Terms, value: ast.expr) -> bool:
        return _parts(value) <= _MOST_INLINED and terms.is_function(value)

    def _written(self, value: ast.expr) -> ast.expr:
        """A value with numbers in the place of sizes and attributes, and functions written out."""
        numbers = {name: number(value) for name, value in self._plan.numbers.items()}
        made: ast.expr = _Inlined(self._functions, self._names).visit(renamed(value, {}, numbers))
        if _parts(made) > _MOST_PARTS:
            raise NotComposed("a value of many parts")
        return made

    def _tensor(self, name: str) -> Value:
        """All of a target."""
        if name in self._known:
            return self._emit.constant(self._known[name])
        if name not in self._made:
            value, space = self._functions[name]
            terms = Terms(self._emit, self._plan, space.sizes, self._made, self._known)
            self._made[name] = terms.whole(terms.term(value), space.statement.indices)
        return self._made[name]


def _parts(value: ast.expr) -> int:
    return sum(1 for _ in ast.walk(value))


class _Inlined(ast.NodeTransformer):
    """Elements of functions become what these are."""

    def __init__(
        self, functions: Mapping[str, tuple[ast.expr, Space]], names: Mapping[str, str]
    ) -> None:
        self._functions, self._names = functions, names

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        assert isinstance(node.value, ast.Name)
        name = self._names[node.value.id]
        if name not in self._functions:
            return ast.Subscript(ast.Name(name), node.slice, node.ctx)
        value, space = self._functions[name]
        items = subscripts(node) or []
        return renamed(value, {}, dict(zip(space.statement.indices, items, strict=True)))
