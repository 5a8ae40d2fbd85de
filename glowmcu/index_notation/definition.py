"""The syntax of definitions: from the text of a function to statements.

    def dense(x: "float32[B, I]", w: "float32[O, I]", limit: float = 6.0) -> "y: float32[B, O]":
        y[b, o] += w[o, i] * x[b, i]
        y[b, o] = min(y[b, o], limit)

`=` gives every element of its target a value; `+=` and `*=` sum or multiply over the indices that
the target does not have, `max(…)` and `min(…)` of one argument reduce. `for d in range(3):` says
how far an index goes that no operand tells. Other targets than results are temporary.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cache

from glowmcu.index_notation.decorators import read_schedules
from glowmcu.index_notation.statements import (
    DefinitionError,
    Form,
    Number,
    Reduction,
    Schedule,
    Statement,
    subscripts,
)
from glowmcu.lazy_dataclass import dataclass

_FORM = re.compile(r"(float32|int32)\s*\[([^\[\]]*)\]")
_NAME = re.compile(r"[A-Za-z_]\w{0,19}", re.ASCII)
_MOST_STATEMENTS, _MOST_CHARACTERS, _MOST_AXES = 64, 20_000, 8
#: Levels of expressions inside of each other; a sum of so many terms has as many.
_MOST_LEVELS = 100


@dataclass(frozen=True, eq=False)
class Definition:
    """All of it. `attributes` are numbers with defaults, `schedules` are given by target."""

    name: str
    inputs: tuple[Form, ...]
    outputs: tuple[Form, ...]
    attributes: Mapping[str, Number]
    statements: tuple[Statement, ...]
    schedules: Mapping[str, Schedule] = field(default_factory=dict)

    @property
    def is_function(self) -> bool:
        """Whether it is a function of one float32 tensor, element by element: of every shape with
        as many axes, and so of a stored byte, too.
        """
        if len(self.inputs) != 1 or len(self.outputs) != 1:
            return False
        x, y = self.inputs[0], self.outputs[0]
        plain = x.sizes == y.sizes and len(set(x.sizes)) == len(x.sizes) > 0
        if not plain or not all(map(str.isidentifier, x.sizes)):
            return False
        if (x.dtype, y.dtype) != ("float32", "float32"):
            return False
        return all(_is_of_an_element(each, self.attributes) for each in self.statements)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Sizes that operands give."""
        sizes = (size for form in self.inputs for size in form.sizes if size.isidentifier())
        return tuple(dict.fromkeys(sizes))


@cache
def read_definition(text: str) -> Definition:
    """The only function of a file. Raises DefinitionError."""
    if len(text) > _MOST_CHARACTERS or "*/" in text or "/*" in text:
        what = f"it has more than {_MOST_CHARACTERS} characters, or a mark of a comment of C"
        raise DefinitionError(what)
    try:
        functions = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as cause:
        line = getattr(cause, "lineno", 0) or 0
        raise DefinitionError(f"it is not Python: {str(cause)[:100]}", line) from cause
    if len(functions) != 1:
        raise DefinitionError(f"it has {len(functions)} functions; one is the definition")
    function = functions[0]
    _check_levels(function)
    inputs, attributes = _parameters(function)
    outputs = tuple(_results(function))
    statements = tuple(_statements(function.body, {}))
    if not inputs or not statements or len(statements) > _MOST_STATEMENTS:
        raise DefinitionError(
            f"it has {len(inputs)} operands and {len(statements)} statements; at least one of each "
            f"and at most {_MOST_STATEMENTS} statements make sense", function.lineno,
        )  # fmt: skip
    sizes = {size for form in inputs for size in form.sizes}
    others = {form.name for form in (*inputs, *outputs)} | sizes | {*attributes}
    others |= {each.target for each in statements}
    schedules = read_schedules(function.decorator_list, statements, others)
    found = Definition(function.name, inputs, outputs, attributes, statements, schedules)
    _check_names(found, function.lineno)
    return found


def _check_levels(function: ast.FunctionDef) -> None:
    """That nothing is so deep that functions which call themselves run out of stack."""
    level: list[ast.AST] = [function]
    for _ in range(_MOST_LEVELS + 2):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        line = getattr(level[0], "lineno", function.lineno)
        what = (
            f"an expression has more than {_MOST_LEVELS} levels, or terms: write several statements"
        )
        raise DefinitionError(what, line)


def _parameters(function: ast.FunctionDef) -> tuple[tuple[Form, ...], dict[str, Number]]:
    """Operands have an element type and sizes, attributes a default."""
    given = function.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs:
        raise DefinitionError("it has parameters of another kind than a name", function.lineno)
    first = len(given.args) - len(given.defaults)
    forms = [_form(each.arg, each.annotation, each.lineno) for each in given.args[:first]]
    attributes = {
        each.arg: _default(default) for each, default in
        zip(given.args[first:], given.defaults, strict=True)
    }  # fmt: skip
    for form in forms:
        for size in form.sizes:
            if not size.isidentifier() and not size.isdecimal():
                what = f"a size of {form.name} is {size!r}; expected a number or a name"
                raise DefinitionError(what, function.lineno)
    return tuple(forms), attributes


def _default(node: ast.expr) -> Number:
    try:
        value: object = ast.literal_eval(node)
    except ValueError:
        value = None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DefinitionError("a default is a number", node.lineno)
    return value


def _text(node: ast.expr | None, line: int) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if node is None:
        raise DefinitionError('an operand has no type, such as "float32[B, I]"', line)
    return ast.unparse(node)


def _form(name: str, node: ast.expr | None, line: int) -> Form:
    text = _text(node, line)
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise DefinitionError(f"{name} is {text!r}; expected float32[…] or int32[…]", line)
    sizes = tuple(part.strip() for part in found[2].split(",") if part.strip())
    if len(sizes) > _MOST_AXES:
        raise DefinitionError(f"{name} has {len(sizes)} axes; {_MOST_AXES} are allowed", line)
    return Form(name, found[1], sizes)


def _results(function: ast.FunctionDef) -> Iterator[Form]:
    """`"y: float32[B, O], n: int32[B]"`."""
    if function.returns is None:
        what = 'it says no result, such as -> "y: float32[B, O]"'
        raise DefinitionError(what, function.lineno)
    text = _text(function.returns, function.lineno)
    parts = re.findall(r"(\w+)\s*:\s*(\w+\s*\[[^\[\]]*\])\s*(?:,|$)", text)
    if not parts or not re.fullmatch(r"(\s*\w+\s*:\s*\w+\s*\[[^\[\]]*\]\s*,?)+", text):
        what = f'the results are {text!r}; expected "y: float32[B, O]"'
        raise DefinitionError(what, function.lineno)
    for name, form in parts:
        yield _form(name, ast.Constant(form), function.lineno)


def _statements(body: list[ast.stmt], ranges: Mapping[str, ast.expr]) -> Iterator[Statement]:
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # what the function is for
        if isinstance(node, ast.For) and not node.orelse:
            yield from _statements(node.body, {**ranges, **_range(node)})
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            yield _assignment(node, node.targets[0], node.value, None, ranges)
        elif isinstance(node, ast.AugAssign):
            yield _assignment(node, node.target, node.value, node.op, ranges)
        else:
            shown = ast.unparse(node).splitlines()[0][:60]
            what = f"{shown!r} is neither an assignment nor a `for`"
            raise DefinitionError(what, node.lineno)


def _range(node: ast.For) -> dict[str, ast.expr]:
    call, name = node.iter, node.target
    is_range = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    if (
        not isinstance(name, ast.Name) or not is_range or not isinstance(call, ast.Call)
        or ast.unparse(call.func) != "range" or len(call.args) != 1 or call.keywords
    ):  # fmt: skip
        raise DefinitionError("expected `for INDEX in range(SIZE):`", node.lineno)
    return {name.id: call.args[0]}


def _assignment(
    node: ast.stmt,
    target: ast.expr,
    value: ast.expr,
    op: ast.operator | None,
    ranges: Mapping[str, ast.expr],
) -> Statement:
    indices = subscripts(target)
    if indices is None or not all(isinstance(item, ast.Name) for item in indices):
        what = f"the target {ast.unparse(target)} is not like y[b, o], with an index an axis"
        raise DefinitionError(what, node.lineno)
    names = tuple(item.id for item in indices if isinstance(item, ast.Name))
    if len(set(names)) != len(names):
        raise DefinitionError(f"{ast.unparse(target)} has an index twice", node.lineno)
    assert isinstance(target, ast.Subscript)
    assert isinstance(target.value, ast.Name)
    reduction = Reduction.NONE
    if op is not None:
        kinds = {ast.Add: Reduction.SUM, ast.Mult: Reduction.PRODUCT}
        if type(op) not in kinds:
            raise DefinitionError("only += and *= reduce, and max(…) and min(…)", node.lineno)
        reduction = kinds[type(op)]
    elif isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        kind = {"max": Reduction.MAX, "min": Reduction.MIN}.get(ast.unparse(value.func))
        if kind is not None:
            reduction, value = kind, value.args[0]
    return Statement(target.value.id, names, reduction, op is not None, value, ranges, node.lineno)


def _is_of_an_element(statement: Statement, attributes: Mapping[str, Number]) -> bool:
    """Whether a statement reads what stands at its target's own place, and attributes alone."""
    if statement.reduction is not Reduction.NONE or statement.ranges:
        return False
    nodes = list(ast.walk(statement.value))
    others = [node.func for node in nodes if isinstance(node, ast.Call)]
    for node in nodes:
        if isinstance(node, ast.Subscript):
            items = subscripts(node) or []
            if tuple(ast.unparse(item) for item in items) != statement.indices:
                return False
            others += [node.value, *items]
    inside = set(map(id, others))
    names = (node for node in nodes if isinstance(node, ast.Name) and id(node) not in inside)
    return all(node.id in attributes for node in names)


def _check_names(found: Definition, line: int) -> None:
    """That no name is two things, and that every result gets a value."""
    tensors = [form.name for form in (*found.inputs, *found.outputs)]
    targets = {each.target for each in found.statements}
    indices = {name for each in found.statements for name in (*each.indices, *each.ranges)}
    kinds = (tensors, found.symbols, found.attributes, targets - set(tensors), indices)
    names = [name for kind in kinds for name in kind]
    odd = [name for name in names if not _NAME.fullmatch(name)]
    if odd:
        raise DefinitionError(f"the name {odd[0]} has more than letters, digits and _, or 20", line)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        what = f"{twice[0]} is two things: an operand, size, attribute, temporary or index"
        raise DefinitionError(what, line)
    read = {
        node.value.id
        for each in found.statements
        for node in ast.walk(each.value)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)
    }
    for form in found.inputs:
        if form.name not in read:
            raise DefinitionError(f"the operand {form.name} is never read", line)
        if form.name in targets:
            raise DefinitionError(f"the operand {form.name} is assigned", line)
    for form in found.outputs:
        if form.name not in targets:
            raise DefinitionError(f"the result {form.name} gets no value", line)
