"""Trees as nested comparisons in C, a function a tree, which returns what its leaf stores.

Bytes within 31 of a pointer are the shortest loads of Thumb: a function gets pointers to the blocks
of 32 features that its tree reads, three at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.stored_trees import Key, StoredTrees
from glowmcu.kernels.common.tree_assembly import TreeNode, tree_assembly
from glowmcu.kernels.common.tree_ranks import Ranks
from glowmcu.kernels.common.tree_rows import Rows

_BLOCK = 32
_MOST_BLOCKS = 3
_NAMES = "abc"
#: Of an immediate load, of what MOVS puts into a register, and leaves that are worth a return each.
_MOST_OFFSET, _MOST_RETURNED, _MOST_LEAVES = 256, 255, 24


@dataclass(frozen=True)
class CodeOfTree:
    """`parameters` and the `arguments` for them, `x` being the features; the lines of the body."""

    type: str
    parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    lines: tuple[str, ...]
    #: The same as Thumb instructions, if there are such.
    assembly: tuple[str, ...] = ()


Condition = Callable[[int, str], str]


def code_of_trees(
    trees: StoredTrees, rows: Rows, ranks: Ranks | None, has_assembly: bool
) -> tuple[CodeOfTree, ...]:
    """All functions. With `ranks` features are ranks."""
    ends = [*trees.roots[1:].tolist(), trees.key.size]
    found = []
    for root, end in zip(trees.roots.tolist(), ends, strict=True):
        features = [_place(trees, node, ranks) for node in range(root, end) if trees.inner[node]]
        type_ = trees.element.c_name if ranks is None else f"uint{8 * ranks.rank_bytes}_t"
        names, blocks = _pointers(features, type_ == "uint8_t")
        compare = _condition(trees, ranks)

        def condition(
            node: int,
            sign: str,
            compare: Callable[[int, str, str], str] = compare,
            names: dict[int, str] = names,
        ) -> str:
            return compare(node, names[_place(trees, node, ranks)], sign)

        lines = tuple(_lines(trees, rows, root, condition))
        parameters = tuple(f"const {type_} *{name}" for name, _ in blocks)
        arguments = tuple(f"x + {offset}" if offset else "x" for _, offset in blocks)
        assembly = None
        if has_assembly and type_ == "uint8_t":
            thresholds = trees.thresholds if ranks is None else ranks.thresholds
            places = {node: names[_place(trees, node, ranks)] for node in range(root, end)
                      if trees.inner[node]}  # fmt: skip
            assembly = _assembly(trees, rows, root, places, thresholds)
        found.append(CodeOfTree(type_, parameters, arguments, lines, assembly or ()))
    return tuple(found)


def _place(trees: StoredTrees, node: int, ranks: Ranks | None) -> int:
    """Where the function finds what a node compares."""
    number = int(trees.key[node])
    return number if ranks is not None else trees.keys[number].feature


def _pointers(
    features: list[int], has_blocks: bool
) -> tuple[dict[int, str], list[tuple[str, int]]]:
    """Each feature's name, and the pointers' names and offsets."""
    if not has_blocks:
        return {f: f"a[{f}]" for f in features}, [("a", 0)] if features else []
    uses = Counter(feature // _BLOCK for feature in features)
    chosen = [block for block, _ in uses.most_common(_MOST_BLOCKS)]
    if uses and min(uses) not in chosen:
        chosen[-1] = min(uses)  # every feature is at or behind a pointer
    chosen.sort()
    blocks = [(name, _BLOCK * block) for name, block in zip(_NAMES, chosen, strict=False)]
    names = {}
    for feature in features:
        name, offset = max(
            (item for item in blocks if item[1] <= feature), key=lambda item: item[1]
        )
        names[feature] = f"{name}[{feature - offset}]"
    return names, blocks


def _condition(trees: StoredTrees, ranks: Ranks | None) -> Callable[[int, str, str], str]:
    """A comparison in C: of a node, with what it compares, `<=` or `>`."""
    if ranks is not None:
        return lambda node, x, sign: f"{x} {sign} {int(ranks.thresholds[node])}"
    if trees.element is not ElementType.F32:
        suffix = "LL" if trees.element is ElementType.I64 else ""
        return lambda node, x, sign: f"{x} {sign} {_whole(int(trees.thresholds[node]), suffix)}"

    def compare(node: int, x: str, sign: str) -> str:
        key: Key = trees.keys[int(trees.key[node])]
        word = "low" if key.low else "high"
        return f"glowmcu_tree_{word}({x}) {sign} {int(trees.thresholds[node])}u"

    return compare


def _assembly(
    trees: StoredTrees, rows: Rows, root: int, places: dict[int, str], thresholds: Array
) -> tuple[str, ...] | None:
    """Where leaves are few: each has a return of its own."""
    nodes = {}
    for node, name in places.items():
        register, offset = f"r{_NAMES.index(name[0])}", int(name[2:-1])
        if offset >= _MOST_OFFSET:
            return None
        load: tuple[str, ...] = (f"ldrb r3, [{register}, #{offset}]",)
        if offset >= _BLOCK:
            load = (f"movs r3, #{offset}", f"ldrb r3, [{register}, r3]")
        left, right = int(trees.left[node]), int(trees.right[node])
        nodes[node] = TreeNode(load, int(thresholds[node]), left, right)

    def leaf_of(node: int) -> int:
        return int(rows.numbers[trees.left[node]])

    leaves = {
        leaf_of(side)
        for entry in nodes.values()
        for side in (entry.left, entry.right)
        if side not in nodes
    }
    if not nodes or len(leaves) > _MOST_LEAVES or max(leaves) > _MOST_RETURNED:
        return None
    return tree_assembly(root, nodes, leaf_of)


def _whole(value: int, suffix: str) -> str:
    if value == -(2**31) and not suffix:
        return "(-2147483647 - 1)"
    if value == -(2**63):
        return "(-9223372036854775807LL - 1)"
    return f"{value}{suffix}"


def _lines(trees: StoredTrees, rows: Rows, root: int, condition: Condition) -> list[str]:
    """The body of a tree's function, indented from one level on."""
    lines: list[str] = []
    #: Text, or a node and its level.
    todo: list[tuple[int, int] | str] = [(root, 1)]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            lines.append(item)
            continue
        node, level = item
        pad = "    " * min(level, 12)
        if not trees.inner[node]:
            lines.append(f"{pad}return {int(rows.numbers[trees.left[node]])}u;")
            continue
        left, right = int(trees.left[node]), int(trees.right[node])
        if not trees.inner[right] and trees.inner[left]:
            lines += [f"{pad}if ({condition(node, '>')}) {{"]
            todo += [(left, level), f"{pad}}}", (right, level + 1)]
            continue
        lines += [f"{pad}if ({condition(node, '<=')}) {{"]
        todo += [(right, level), f"{pad}}}", (left, level + 1)]
    return lines
