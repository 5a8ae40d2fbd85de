"""A definition at given shapes: how far each index goes, and the proof that every read is inside.

An index goes as far as the axes are long that it stands at alone; else `range` says it. Subscripts
are sums, products and extremes of indices, whose interval follows from theirs.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TypeVar

from glowmcu.index_notation.definition import Definition
from glowmcu.index_notation.expressions import BOOL, FLOAT, INT, is_stored, type_of
from glowmcu.index_notation.statements import (
    DefinitionError,
    Form,
    Number,
    Reduction,
    Statement,
    subscripts,
)
from glowmcu.lazy_dataclass import dataclass

_T = TypeVar("_T")
Shape = tuple[int, ...]
Interval = tuple[int, int]
_INT32 = (-(2**31), 2**31 - 1)
#: What a definition may compute of one call, so that no model makes it run for hours.
MOST_STEPS = 2**30


@dataclass(frozen=True, eq=False)
class Space:
    """A statement, and its indices with how far each goes: those of the target first."""

    statement: Statement
    sizes: Mapping[str, int]
    dtype: str

    @property
    def reduced(self) -> tuple[str, ...]:
        """Indices that the target does not have."""
        return tuple(name for name in self.sizes if name not in self.statement.indices)


@dataclass(frozen=True, eq=False)
class Plan:
    """All statements at given shapes; `numbers` are sizes and attributes by name."""

    definition: Definition
    numbers: Mapping[str, Number]
    shapes: Mapping[str, Shape]
    dtypes: Mapping[str, str]
    spaces: tuple[Space, ...]

    @property
    def outputs(self) -> tuple[Shape, ...]:
        """Shapes of the results."""
        return tuple(self.shapes[form.name] for form in self.definition.outputs)

    @property
    def temporaries(self) -> tuple[str, ...]:
        """Names of what is neither operand nor result, in order."""
        own = {form.name for form in (*self.definition.inputs, *self.definition.outputs)}
        return tuple(name for name in self.shapes if name not in own)

    @property
    def products(self) -> int:
        """Values that are summed up."""
        sums = (each for each in self.spaces if each.statement.reduction is Reduction.SUM)
        return sum(math.prod(space.sizes.values()) for space in sums)

    @property
    def steps(self) -> int:
        """How often values are computed."""
        return sum(math.prod(space.sizes.values()) for space in self.spaces)


@dataclass
class _Known:
    """What is known on the way through the statements."""

    numbers: dict[str, Number]
    shapes: dict[str, Shape]
    dtypes: dict[str, str]
    written: set[str] = field(default_factory=set)

    def types(self, sizes: Mapping[str, int]) -> dict[str, str]:
        """Of all names that are numbers in a statement."""
        known = {name: INT if isinstance(n, int) else FLOAT for name, n in self.numbers.items()}
        return known | dict.fromkeys(sizes, INT)


def plan_of(
    definition: Definition, inputs: Sequence[tuple[Shape, str]], attributes: Sequence[Number]
) -> Plan:
    """The definition for operands of these shapes and types. Raises DefinitionError."""
    if len(attributes) != len(definition.attributes):
        count = len(definition.attributes)
        raise DefinitionError(f"it has {count} attributes, got {len(attributes)} numbers")
    numbers = _sizes(definition, inputs) | dict(zip(definition.attributes, attributes, strict=True))
    known = _Known(
        numbers,
        {form.name: shape for form, (shape, _) in zip(definition.inputs, inputs, strict=True)},
        {form.name: form.dtype for form in definition.inputs},
    )
    for form in definition.outputs:
        known.shapes[form.name] = tuple(_size(text, form, numbers) for text in form.sizes)
    forms = {form.name: form for form in definition.outputs}
    spaces = tuple(_space(each, known, forms) for each in definition.statements)
    if not all(map(is_stored, numbers.values())):
        raise DefinitionError("an attribute or a size is no number of int32 or float32")
    plan = Plan(definition, numbers, known.shapes, known.dtypes, spaces)
    if plan.steps > MOST_STEPS:
        raise DefinitionError(f"it computes {plan.steps} values; {MOST_STEPS} are allowed")
    return plan


def _sizes(definition: Definition, inputs: Sequence[tuple[Shape, str]]) -> dict[str, Number]:
    """Sizes by their names."""
    if len(inputs) != len(definition.inputs):
        raise DefinitionError(f"it takes {len(definition.inputs)} operands, got {len(inputs)}")
    numbers: dict[str, Number] = {}
    for form, (shape, dtype) in zip(definition.inputs, inputs, strict=True):
        said = f"{form.name} is {form.dtype}[{', '.join(form.sizes)}], got {dtype}{list(shape)}"
        if dtype != form.dtype or len(shape) != len(form.sizes):
            raise DefinitionError(said)
        for text, size in zip(form.sizes, shape, strict=True):
            wanted = int(text) if text.isdecimal() else numbers.setdefault(text, size)
            if wanted != size:
                raise DefinitionError(f"{said}; {text} is {wanted}")
    return numbers


def _size(text: str, form: Form, numbers: Mapping[str, Number]) -> int:
    """A size of a result, of an expression."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError) as cause:
        raise DefinitionError(f"a size of {form.name} is {text!r}") from cause
    low, high = interval(node, numbers, {}, {})
    if low != high or not 0 < low <= _INT32[1]:
        raise DefinitionError(f"{form.name} has a size {text} of {low}")
    return low


def _space(statement: Statement, known: _Known, results: Mapping[str, Form]) -> Space:
    sizes = _ranges(statement, known)
    for name in statement.indices:
        if name not in sizes:
            raise DefinitionError(_no_range(name), statement.line)
    shape = tuple(sizes[name] for name in statement.indices)
    declared = known.shapes.setdefault(statement.target, shape)
    if declared != shape:
        what = f"{statement.target} is {list(declared)}, and its indices go to {list(shape)}"
        raise DefinitionError(what, statement.line)
    for name in _number_names(statement.value):
        if name not in sizes and name not in known.numbers and name not in known.shapes:
            raise DefinitionError(_no_range(name), statement.line)
    reads = dict(known.dtypes)
    dtype = _line(statement, lambda: type_of(statement.value, reads, known.types(sizes)))
    if dtype == BOOL:
        raise DefinitionError("a comparison is no number: use where", statement.line)
    wanted = results[statement.target].dtype if statement.target in results else (
        known.dtypes.get(statement.target, dtype)
    )  # fmt: skip
    if dtype != wanted:
        what = f"{statement.target} is {wanted}, and its value {dtype}: write float(…)"
        raise DefinitionError(what if wanted == FLOAT else what.partition(":")[0], statement.line)
    for node in ast.walk(statement.value):
        _check_read(node, statement, sizes, known)
    ordered = {name: sizes[name] for name in (*statement.indices, *sizes)}
    reduced = [name for name in ordered if name not in statement.indices]
    if reduced and statement.reduction is Reduction.NONE:
        what = f"{reduced[0]} is no index of {statement.target}: write +=, *=, max(…) or min(…)"
        raise DefinitionError(what, statement.line)
    if not reduced and statement.reduction in (Reduction.MAX, Reduction.MIN):
        raise DefinitionError("there is no index to reduce over", statement.line)
    known.dtypes[statement.target] = dtype
    known.written.add(statement.target)
    return Space(statement, ordered, dtype)


def _no_range(name: str) -> str:
    return f"nothing says how far {name} goes: `for {name} in range(…):`"


def _line(statement: Statement, action: Callable[[], _T]) -> _T:
    """The result, with the statement's line in what is raised (lines of nodes are the same)."""
    try:
        return action()
    except DefinitionError as cause:
        raise DefinitionError(str(cause), cause.line or statement.line) from cause


def _ranges(statement: Statement, known: _Known) -> dict[str, int]:
    """How far each index of the statement goes."""
    used = {node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)}
    sizes: dict[str, int] = {}
    for name, node in statement.ranges.items():
        if statement.counts_turns or name in used or name in statement.indices:
            low, high = interval(node, known.numbers, {}, {})
            if low != high or low < 1:
                raise DefinitionError(f"{name} goes to {low}", statement.line)
            sizes[name] = low
        elif statement.target in used and statement.reduction is Reduction.NONE:
            what = f"{statement.target} is made of itself in a loop over {name}, which is not used"
            raise DefinitionError(f"{what}: write it before or behind the loop", statement.line)
    targets = known.shapes.get(statement.target)
    if targets is not None and len(targets) == len(statement.indices):
        for name, size in zip(statement.indices, targets, strict=True):
            sizes.setdefault(name, size)
    told: dict[str, str] = {}
    for part in ast.walk(statement.value):
        for name, size, tensor in _plain(part, known):
            if name in statement.ranges or (name in statement.indices and targets is not None):
                continue
            if sizes.setdefault(name, size) != size:
                what = f"{name} is {sizes[name]} in {told[name]} and {size} in {tensor}"
                raise DefinitionError(what, statement.line)
            told.setdefault(name, tensor)
    return sizes


def _plain(node: ast.AST, known: _Known) -> list[tuple[str, int, str]]:
    """Indices that stand alone at an axis, and how long that is."""
    items = subscripts(node) if isinstance(node, ast.Subscript) else None
    if items is None or not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return []
    shape = known.shapes.get(node.value.id, ())
    return [
        (item.id, size, node.value.id)
        for item, size in zip(items, shape, strict=False)
        if isinstance(item, ast.Name) and item.id not in known.numbers
    ]


def _check_read(
    node: ast.AST, statement: Statement, sizes: Mapping[str, int], known: _Known
) -> None:
    """That `x[b, t + d]` is inside of x for all values of the indices."""
    items = subscripts(node) if isinstance(node, ast.Subscript) else None
    if items is None or not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return
    name, shape = node.value.id, known.shapes[node.value.id]
    shown = ast.unparse(node)
    if len(items) != len(shape):
        raise DefinitionError(f"{shown}: {name} has {len(shape)} axes", statement.line)
    if name == statement.target:
        own = [item.id for item in items if isinstance(item, ast.Name)]
        if tuple(own) != statement.indices or name not in known.written:
            what = f"{shown} reads what the statement writes; only the same element may be read"
            raise DefinitionError(what, statement.line)
    for axis, (item, size) in enumerate(zip(items, shape, strict=True)):
        low, high = _line(statement, partial(interval, item, known.numbers, sizes, known.dtypes))
        if low < 0 or high >= size:
            text = ast.unparse(item)
            reach = f"goes down to {low}" if low < 0 else f"goes up to {high}"
            raise DefinitionError(
                f"{shown} reads outside of {name}: axis {axis} has {size} elements, and {text} "
                f"{reach}; clip({text}, 0, {size - 1}) stays inside", statement.line,
            )  # fmt: skip


def _number_names(value: ast.expr) -> Iterator[str]:
    """Names that stand for numbers, not for functions or tensors."""
    nodes = list(ast.walk(value))
    others = [node.func for node in nodes if isinstance(node, ast.Call)]
    others += [node.value for node in nodes if isinstance(node, ast.Subscript)]
    skipped = set(map(id, others))
    yield from (n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in skipped)


def interval(
    node: ast.expr,
    numbers: Mapping[str, Number],
    sizes: Mapping[str, int],
    dtypes: Mapping[str, str],
) -> Interval:
    """From where to where an integer goes. Raises DefinitionError for anything else."""
    found = _interval(node, numbers, sizes, dtypes)
    if found[0] < _INT32[0] or found[1] > _INT32[1]:
        raise DefinitionError(f"{ast.unparse(node)} does not fit 32 bits", node.lineno)
    return found


def _interval(
    node: ast.expr,
    numbers: Mapping[str, Number],
    sizes: Mapping[str, int],
    dtypes: Mapping[str, str],
) -> Interval:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value, node.value
    if isinstance(node, ast.Name):
        number = numbers.get(node.id)
        if isinstance(number, int):
            return number, number
        if node.id in sizes:
            return 0, sizes[node.id] - 1
    if isinstance(node, ast.Subscript) and dtypes.get(ast.unparse(node.value)) == INT:
        return _INT32
    parts = [interval(part, numbers, sizes, dtypes) for part in _parts(node)]
    if parts:
        return _combined(node, parts)
    raise DefinitionError(f"{ast.unparse(node)[:60]} is no whole number", node.lineno)


def _parts(node: ast.expr) -> list[ast.expr]:
    """Operands of what may stand in a subscript."""
    if isinstance(node, ast.BinOp) and isinstance(
        node.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod
    ):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return [node.operand]
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("min", "max", "clip"):
        return list(node.args)
    return []


def _combined(node: ast.expr, parts: Sequence[Interval]) -> Interval:
    if isinstance(node, ast.UnaryOp):
        return -parts[0][1], -parts[0][0]
    if isinstance(node, ast.Call):
        lows, highs = zip(*parts, strict=True)
        name = ast.unparse(node.func)
        if name == "clip" and len(parts) == 3:
            low = min(max(lows[0], lows[1]), lows[2])
            return low, min(max(highs[0], highs[1]), highs[2])
        if len(parts) == 2:
            return (min(lows), min(highs)) if name == "min" else (max(lows), max(highs))
        raise DefinitionError(f"{name} has {len(parts)} arguments", node.lineno)
    assert isinstance(node, ast.BinOp)
    (a, b), (c, d) = parts
    if isinstance(node.op, ast.Add):
        return a + c, b + d
    if isinstance(node.op, ast.Sub):
        return a - d, b - c
    if isinstance(node.op, ast.Mult):
        products = (a * c, a * d, b * c, b * d)
        return min(products), max(products)
    if a < 0 or c < 1 or c != d:
        what = f"{ast.unparse(node)}: // and % take what is not negative, by a positive number"
        raise DefinitionError(what, node.lineno)
    if isinstance(node.op, ast.FloorDiv):
        return a // c, b // c
    return (0, c - 1) if b >= c else (a, b)
