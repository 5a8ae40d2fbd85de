"""Small changes to a Python file, one at a time: what the tests of its meaning should notice.

Own code, as neither library fits: mutmut leaves functions with decorators alone (every property)
and cosmic-ray has no deleted statement and no condition that holds always; both run all tests anew.
Only what stands in functions is changed. Left alone are assertions, which are checks themselves,
messages, types, default values, and `strict=` of zip.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
_PAIRS = (("min", "max"), ("any", "all"), ("minimum", "maximum"), ("floor", "ceil"))
_NAMES = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
_COMPOUND = ast.If | ast.While | ast.For | ast.With | ast.Try | ast.FunctionDef | ast.Match
_UNTOUCHED = ast.Assert | ast.Raise | ast.JoinedStr | ast.arguments | ast.Import | ast.ImportFrom


@dataclass(frozen=True)
class Mutant:
    """The `number`th change of a file; `line` is where the statement begins that is changed."""

    file: str
    number: int
    function: str
    line: int
    before: str
    after: str
    nth: int = 0

    @property
    def key(self) -> str:
        """Stays the same when lines move."""
        which = f" #{self.nth + 1}" if self.nth else ""
        return f"{self.file}:{self.function}{which}: {self.before} -> {self.after}"


@dataclass
class _Change:
    """A node (or item of a list) of `parent` that becomes `new`."""

    function: str
    statement: ast.stmt
    shown: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    new: ast.AST

    def swap(self) -> None:
        """There, and back again."""
        if self.index is None:
            old = getattr(self.parent, self.field)
            setattr(self.parent, self.field, self.new)
        else:
            items = getattr(self.parent, self.field)
            old, items[self.index] = items[self.index], self.new
        self.shown = self.new if self.shown is old else self.shown
        self.new = old


def mutants_of(source: str, file: str) -> list[Mutant]:
    """All changes, in the order of the text."""
    found: list[Mutant] = []
    seen: dict[str, int] = {}
    for number, change in enumerate(_changes(ast.parse(source))):
        before = ast.unparse(change.shown)
        change.swap()
        after = ast.unparse(change.shown)
        change.swap()
        args = (file, number, change.function, change.statement.lineno, before, after)
        key = Mutant(*args).key
        found.append(Mutant(*args, nth=seen.get(key, 0)))
        seen[key] = seen.get(key, 0) + 1
    return found


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """The file with the change; lines are where they were."""
    tree = ast.parse(source)
    list(_changes(tree))[mutant.number].swap()
    return ast.fix_missing_locations(tree)


def _changes(tree: ast.Module) -> list[_Change]:
    return [
        change
        for name, function in _functions(tree, "")
        for index, statement in enumerate(function.body)
        for change in _inside(_Place(name, function, statement), function, "body", index, statement)
    ]


def _functions(parent: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, _Def]]:
    for node in parent.body:
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")


_Def = ast.FunctionDef


@dataclass(frozen=True)
class _Place:
    name: str
    function: _Def
    statement: ast.stmt
    shown: ast.AST | None = None


def _inside(
    place: _Place, parent: ast.AST, field: str, index: int | None, node: ast.AST
) -> Iterator[_Change]:
    """Changes of a node and of what is in it."""
    if _stays(parent, field, node):
        return
    if isinstance(node, ast.stmt):
        shown = None if isinstance(node, _COMPOUND) else node
        place = _Place(place.name, place.function, node, shown)
    elif place.shown is None:
        place = _Place(place.name, place.function, place.statement, node)
    for new in (*_replacements(node), *_by_context(place, parent, field, node)):
        if isinstance(parent, ast.Subscript) and _is_last(new):
            continue  # the first of one is the last
        ast.copy_location(new, node)
        assert place.shown is not None or isinstance(node, ast.stmt)
        shown = place.shown or node
        yield _Change(place.name, place.statement, shown, parent, field, index, new)
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            for number, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _inside(place, node, name, number, item)
        elif isinstance(value, ast.AST):
            yield from _inside(place, node, name, None, value)


def _stays(parent: ast.AST, field: str, node: ast.AST) -> bool:
    """Whether a change would be an error at once, or none."""
    if isinstance(node, _UNTOUCHED) or field in ("annotation", "returns", "decorator_list"):
        return True
    if isinstance(node, ast.keyword):
        return node.arg == "strict"
    # reshape takes any negative number for what is left.
    return isinstance(parent, ast.Call) and ast.unparse(node) == "-1"


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    """What a node may become wherever it stands."""
    if isinstance(node, ast.Constant):
        yield from _other_constants(node.value)
    elif isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            for other in _COMPARISONS[type(op)]:
                ops = [*node.ops[:index], other(), *node.ops[index + 1 :]]
                yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield from _other_conditions(node)
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        if not any(_is_no_number(side) for side in (node.left, node.right)):
            yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.UnaryOp):
        yield copy.copy(node.operand)
    elif isinstance(node, ast.Name) and node.id in _NAMES:
        yield ast.Name(_NAMES[node.id], node.ctx)
    elif isinstance(node, ast.Attribute) and node.attr in _NAMES:
        yield ast.Attribute(node.value, _NAMES[node.attr], node.ctx)
    elif _can_go(node):
        yield ast.Pass()


def _other_constants(value: object) -> Iterator[ast.AST]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int | float):
        # To a real number that is large enough one more is the same.
        yield from (ast.Constant(other) for other in (value + 1, value - 1) if other != value)


def _other_conditions(node: ast.BoolOp) -> Iterator[ast.AST]:
    yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    for index in range(len(node.values)):
        left = node.values[:index] + node.values[index + 1 :]
        yield left[0] if len(left) == 1 else ast.BoolOp(node.op, left)


def _is_last(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == -1


def _is_no_number(node: ast.AST) -> bool:
    """Texts, lists, and types: another operator is an error at once."""
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, int | float)
    if isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        return name.lstrip("_")[:1].isupper() and not name.isupper()
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.Dict | ast.ListComp)


def _can_go(node: ast.AST) -> bool:
    """Statements without which the others still have all their names."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if isinstance(node, ast.Assign):
        return all(isinstance(to, ast.Subscript | ast.Attribute) for to in node.targets)
    return isinstance(node, ast.AugAssign | ast.Break | ast.Continue | ast.Delete)


def _by_context(place: _Place, parent: ast.AST, field: str, node: ast.AST) -> Iterator[ast.AST]:
    """Conditions that hold always or never, and what a function may return besides."""
    if isinstance(node, ast.Constant):
        return
    is_filter = isinstance(parent, ast.comprehension) and field == "ifs"
    if is_filter or (isinstance(parent, ast.If | ast.IfExp) and field == "test"):
        yield ast.Constant(True)
        yield ast.Constant(False)
    elif isinstance(parent, ast.While) and field == "test":
        yield ast.Constant(False)
    elif isinstance(parent, ast.Return) and place.function.returns is not None:
        returned = ast.unparse(place.function.returns)
        if returned == "bool":
            yield ast.Constant(True)
            yield ast.Constant(False)
        elif returned.endswith("| None"):
            yield ast.Constant(None)
