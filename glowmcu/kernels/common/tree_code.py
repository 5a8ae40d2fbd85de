"""Trees as nested comparisons in C, a function a tree, which returns what its leaf stores.

Bytes within 31 of a pointer are the shortest loads of Thumb: a function gets pointers to the blocks
of 32 features that its tree reads, three at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import field, replace

from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.stored_thresholds import real_of_key
from glowmcu.kernels.common.stored_trees import Key, StoredTrees
from glowmcu.kernels.common.tree_assembly import TreeNode, tree_assembly
from glowmcu.kernels.common.tree_ranks import Ranks
from glowmcu.kernels.common.tree_rows import RowKind, Rows
from glowmcu.kernels.common.tree_sets import CodeSet, TreeSets
from glowmcu.lazy_dataclass import dataclass

_BLOCK = 32
_MOST_BLOCKS = 3
_NAMES = "abc"
#: Of an immediate load, of what MOVS puts into a register, and leaves that are worth a return each.
_MOST_OFFSET, _MOST_RETURNED, _MOST_LEAVES = 256, 255, 24
#: Targets whose votes an immediate byte counts, in words.
_MOST_VOTED = 63
#: What stands for the function that asks for a set of more codes than a word has bits.
HAS = "@has"


@dataclass(frozen=True)
class CodeOfTree:
    """`parameters` and the `arguments` for them, `x` being the features; the lines of the body. The
    leaf's number is what it returns and `base`.
    """

    type: str
    parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    lines: tuple[str, ...]
    base: int = 0
    #: The same as Thumb instructions, if there are such.
    assembly: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Compared:
    """What nodes compare: key k is element `places[k]` of an array of `type`, node n compares it
    with `thresholds[n]` or asks for `sets[n]`.
    """

    type: str
    places: tuple[int, ...]
    thresholds: Array
    sets: Mapping[int, CodeSet] = field(default_factory=dict)


def with_sets(compared: Compared, sets: TreeSets) -> Compared:
    """The same with what nodes ask for."""
    return replace(compared, sets=sets.of_node)


def as_stored(trees: StoredTrees) -> Compared:
    """Features as they are; bytes with a sign each 128 more, without."""
    places = tuple(key.feature for key in trees.keys)
    if trees.element is ElementType.I8:
        return Compared("uint8_t", places, trees.thresholds + 128)
    return Compared(trees.element.c_name, places, trees.thresholds)


def as_ranks(trees: StoredTrees, ranks: Ranks, rank_bytes: int) -> Compared:
    """Ranks and codes of `rank_bytes`, one a key."""
    places = tuple(range(len(trees.keys)))
    return Compared(f"uint{8 * rank_bytes}_t", places, ranks.thresholds)


def as_keys(trees: StoredTrees) -> Compared:
    """float32 as keys, which are found once."""
    return Compared("uint32_t", tuple(range(len(trees.keys))), trees.thresholds)


Condition = Callable[[int, str], str]


def code_of_trees(
    trees: StoredTrees, rows: Rows, compared: Compared, has_assembly: bool
) -> tuple[CodeOfTree, ...]:
    """All functions."""
    ends = [*trees.roots[1:].tolist(), trees.key.size]
    pairs = zip(trees.roots.tolist(), ends, strict=True)
    return tuple(_code_of_tree(trees, rows, compared, has_assembly, *pair) for pair in pairs)


def _code_of_tree(
    trees: StoredTrees, rows: Rows, compared: Compared, has_assembly: bool, root: int, end: int
) -> CodeOfTree:
    nodes = [node for node in range(root, end) if trees.inner[node]]
    features = {node: compared.places[trees.key[node]] for node in nodes}
    names, blocks = _pointers(list(features.values()), compared.type == "uint8_t")
    numbers = {
        node: int(rows.numbers[trees.left[node]])
        for node in range(root, end)
        if not trees.inner[node]
    }
    # Votes and counts are numbers by themselves, of few; others are rows, in the trees' order.
    base = 0 if rows.kind in (RowKind.VOTE, RowKind.COUNT) else min(numbers.values())
    leaves = {node: number - base for node, number in numbers.items()}
    compare = _condition(trees, compared)

    def condition(node: int, sign: str) -> str:
        if node in compared.sets:
            return _membership(compared.sets[node], names[features[node]], sign == "<=")
        return compare(node, names[features[node]], sign)

    lines = _lines(trees, leaves, root, condition)
    assembly = None
    if has_assembly and compared.type == "uint8_t" and not compared.sets.keys() & features.keys():
        places = {node: names[feature] for node, feature in features.items()}
        assembly = _assembly(trees, leaves, root, places, compared.thresholds)
    return CodeOfTree(
        compared.type,
        tuple(f"const {compared.type} *{name}" for name, _ in blocks),
        tuple(f"x + {offset}" if offset else "x" for _, offset in blocks),
        tuple(lines),
        base,
        assembly or (),
    )


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


def _membership(item: CodeSet, x: str, is_in: bool) -> str:
    """Whether a code is in a set, or whether it is not."""
    place = f"{x} - {item.first}u" if item.first else x
    if item.count == 1:
        return f"{x} {'==' if is_in else '!='} {item.first}u"
    if item.is_run:
        return f"{place} {'<' if is_in else '>='} {item.count}u"
    text = f"{HAS}({x}, {item.place}u)"
    if item.is_word:
        text = f"glowmcu_tree_has_bit({item.bits:#x}u, {place})"
    return f"{text} {'!=' if is_in else '=='} 0u"


def _condition(trees: StoredTrees, compared: Compared) -> Callable[[int, str, str], str]:
    """A comparison in C: of a node, with what it compares, `<=` or `>`."""
    if compared.type not in ("float", "uint32_t"):
        suffix = "LL" if compared.type == "int64_t" else ""
        limits = compared.thresholds
        return lambda node, x, sign: f"{x} {sign} {_whole(int(limits[node]), suffix)}"

    def compare(node: int, x: str, sign: str) -> str:
        key: Key = trees.keys[int(trees.key[node])]
        limit = int(trees.thresholds[node])
        if compared.type == "float":
            x = f"glowmcu_tree_{'low' if key.low else 'high'}({x})"
        return f"{x} {sign} {limit}u /* {real_of_key(limit):.9g} */"

    return compare


def _assembly(
    trees: StoredTrees,
    leaves: dict[int, int],
    root: int,
    places: dict[int, str],
    thresholds: Array,
) -> tuple[str, ...] | None:
    """Where leaves are few: each has a return of its own."""
    nodes = {}
    for node, name in places.items():
        register, offset = f"r{_NAMES.index(name[0])}", int(name[2:-1])
        if offset >= _MOST_OFFSET:
            return None
        left, right = int(trees.left[node]), int(trees.right[node])
        nodes[node] = TreeNode(_load(register, offset), int(thresholds[node]), left, right)

    different = set(leaves.values())
    if not nodes or len(different) > _MOST_LEAVES or max(different) > _MOST_RETURNED:
        return None
    return tree_assembly(root, nodes, leaves.__getitem__)


def votes_assembly(
    trees: StoredTrees, rows: Rows, compared: Compared, targets: int
) -> tuple[str, ...]:
    """Instructions of a function of bytes (r0) and votes (r1) for all trees, one behind the other;
    nothing where there are none.
    """
    if (
        compared.sets
        or rows.kind is not RowKind.VOTE
        or compared.type != "uint8_t"
        or targets > _MOST_VOTED
    ):
        return ()
    lines, registers = [], set[int]()
    ends = [*trees.roots[1:].tolist(), trees.key.size]
    for root, end in zip(trees.roots.tolist(), ends, strict=True):
        nodes = {}
        for node in (node for node in range(root, end) if trees.inner[node]):
            place = compared.places[trees.key[node]]
            register = min(place // _BLOCK, _MOST_BLOCKS - 1)
            offset = place - _BLOCK * register
            if offset >= _MOST_OFFSET:
                return ()
            registers.add(register)
            load = _load(f"r{register}", offset)
            sides = int(trees.left[node]), int(trees.right[node])
            nodes[node] = TreeNode(load, int(compared.thresholds[node]), *sides)
        made = tree_assembly(
            root, nodes, lambda node: 4 * int(rows.numbers[trees.left[node]]), goes_on=True
        )
        if made is None:
            return ()
        lines += [*made, "ldr r5, [r4, r3]", "adds r5, #1", "str r5, [r4, r3]"]
    first = ["push {r4, r5, lr}", "movs r4, r1"]
    for register in sorted(registers - {0}):
        first += [f"movs r{register}, r0", f"adds r{register}, #{_BLOCK * register}"]
    return (*first, *lines, "pop {r4, r5, pc}")


def _load(register: str, offset: int) -> tuple[str, ...]:
    """A byte to r3."""
    if offset < _BLOCK:
        return (f"ldrb r3, [{register}, #{offset}]",)
    return f"movs r3, #{offset}", f"ldrb r3, [{register}, r3]"


def _whole(value: int, suffix: str) -> str:
    if value == -(2**31) and not suffix:
        return "(-2147483647 - 1)"
    if value == -(2**63):
        return "(-9223372036854775807LL - 1)"
    return f"{value}{suffix}"


def _lines(
    trees: StoredTrees, leaves: dict[int, int], root: int, condition: Condition
) -> list[str]:
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
            lines.append(f"{pad}return {leaves[node]}u;")
            continue
        left, right = int(trees.left[node]), int(trees.right[node])
        if not trees.inner[right] and trees.inner[left]:
            lines += [f"{pad}if ({condition(node, '>')}) {{"]
            todo += [(left, level), f"{pad}}}", (right, level + 1)]
            continue
        lines += [f"{pad}if ({condition(node, '<=')}) {{"]
        todo += [(right, level), f"{pad}}}", (left, level + 1)]
    return lines
