"""Trees as Thumb instructions that every Cortex-M has: six bytes a comparison.

A compiler ends every leaf by itself, four bytes. Here a leaf is a branch to the nearest place that
returns the same: such places are left behind where both branches of a node end, and elsewhere as
seldom as the reach of a conditional branch allows (256 bytes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from glowmcu.lazy_dataclass import dataclass

#: What a conditional branch and a branch reach, with room for what they grow by.
_REACH, _FAR_REACH = 252, 2040
#: Farthest exit that is reached, before branches that do not reach their target grow.
_NEAR = 228
#: What may come before the next place for exits.
_AHEAD = 60
#: Of a comparison with its share of leaves, about.
_NODE_BYTES = 8
_INVERSE = {"bhi": "bls", "bls": "bhi"}


@dataclass
class _Item:
    """An instruction, or a label of no bytes; a branch that `is_far` is two instructions."""

    text: str
    size: int
    target: int = -1
    label: int = -1
    is_far: bool = False


@dataclass(frozen=True)
class TreeNode:
    """A comparison: `load` puts what is compared into r3, a few instructions of two bytes."""

    load: tuple[str, ...]
    threshold: int
    left: int
    right: int


@dataclass
class _Assembler:
    """Instructions in the making. `pending`: branches to exits that are still to come. An exit puts
    its number into `register`, and returns or goes on at the label `done`.
    """

    register: str = "r0"
    done: int = -1
    items: list[_Item] = field(default_factory=list)
    position: int = 0
    labels: int = 0
    exits: dict[int, tuple[int, int]] = field(default_factory=dict)
    pending: dict[int, list[tuple[int, _Item]]] = field(default_factory=dict)

    def add(self, text: str, size: int = 2, target: int = -1) -> _Item:
        item = _Item(text, size, target)
        self.items.append(item)
        self.position += size
        return item

    def label(self, number: int | None = None) -> int:
        if number is None:
            number = self.new_label()
        self.items.append(_Item("", 0, label=number))
        return number

    def new_label(self) -> int:
        self.labels += 1
        return self.labels

    def is_near(self, leaf: int) -> bool:
        return leaf in self.exits and self.position - self.exits[leaf][0] <= _NEAR

    def branch_to_exit(self, condition: str, leaf: int) -> None:
        if self.is_near(leaf):
            self.add(condition, target=self.exits[leaf][1])
            return
        self.pending.setdefault(leaf, []).append((self.position, self.add(condition)))

    def exit(self, leaf: int) -> None:
        place, label = self.position, self.label()
        self.add(f"movs {self.register}, #{leaf}")
        if self.done < 0:
            self.add("bx lr")
        else:
            self.add("b", target=self.done)
        for _, item in self.pending.pop(leaf, ()):
            item.target = label
        self.exits[leaf] = place, label

    def exits_due(self, ahead: int) -> list[int]:
        """Those that are out of reach if they come behind the next `ahead` bytes."""
        room = ahead + 4 * len(self.pending)
        return [
            leaf
            for leaf, waiting in self.pending.items()
            if self.position + room - waiting[0][0] > _NEAR
        ]

    def leave_exits(self, ahead: int = _AHEAD) -> None:
        """Where nothing runs into the next instruction."""
        for leaf in self.exits_due(ahead):
            self.exit(leaf)

    def step_over_exits(self) -> None:
        """In the middle of comparisons, if there is no other place in reach."""
        due = self.exits_due(8)
        if not due:
            return
        over = self.new_label()
        self.add("b", target=over)
        for leaf in due:
            self.exit(leaf)
        self.label(over)


def tree_assembly(
    root: int,
    nodes: Mapping[int, TreeNode],
    leaf_of: Callable[[int], int],
    goes_on: bool = False,
) -> tuple[str, ...] | None:
    """Instructions of a function that returns in r0 what `leaf_of` says of the leaf that a tree
    ends at; or that have it in r3 where they end, if one `goes_on` there. `nodes` are the
    comparisons. None where a branch is too far for these instructions.
    """
    made, sizes = _Assembler(), _sizes(root, nodes)
    if goes_on:
        made.register, made.done = "r3", made.new_label()
    todo: list[tuple[int, int]] = [(root, -1)]
    while todo:
        node, label = todo.pop()
        if label >= 0:
            made.label(label)
        while node in nodes:
            entry = nodes[node]
            made.step_over_exits()
            for text in entry.load:
                made.add(text)
            made.add(f"cmp r3, #{entry.threshold}")
            following = _after(made, entry, nodes, sizes, leaf_of, todo)
            if following is None:
                break
            node = following
        else:
            made.exit(leaf_of(node))
            made.leave_exits()
    made.leave_exits(_FAR_REACH)
    if goes_on:
        if made.items[-1].target == made.done:
            made.items.pop()
        made.label(made.done)
    return _laid_out(made.items)


def _after(
    made: _Assembler,
    entry: TreeNode,
    nodes: Mapping[int, TreeNode],
    sizes: Mapping[int, int],
    leaf_of: Callable[[int], int],
    todo: list[tuple[int, int]],
) -> int | None:
    """Branches behind a comparison; the node that follows, None if both branches are left."""
    left, right = entry.left, entry.right
    if left in nodes and right in nodes:
        label = made.new_label()
        is_left_first = sizes[left] <= sizes[right]
        if max(sizes[left], sizes[right]) * _NODE_BYTES < _NEAR:
            is_left_first = not is_left_first  # a branch that is not taken is the faster one
        made.add("bhi" if is_left_first else "bls", target=label)
        todo.append((right, label) if is_left_first else (left, label))
        return left if is_left_first else right
    if left in nodes or right in nodes:
        inner, leaf = (left, right) if left in nodes else (right, left)
        made.branch_to_exit("bhi" if leaf == right else "bls", leaf_of(leaf))
        return inner
    ends = {"bls": leaf_of(left), "bhi": leaf_of(right)}
    condition = "bhi" if made.is_near(ends["bhi"]) or not made.is_near(ends["bls"]) else "bls"
    made.branch_to_exit(condition, ends[condition])
    other = ends[_INVERSE[condition]]
    if made.is_near(other):
        made.add("b", target=made.exits[other][1])
    else:
        made.exit(other)
    made.leave_exits()
    return None


def _sizes(root: int, nodes: Mapping[int, TreeNode]) -> dict[int, int]:
    """Comparisons below each node, itself included."""
    order, todo = [], [root]
    while todo:
        node = todo.pop()
        if node in nodes:
            order.append(node)
            todo += [nodes[node].left, nodes[node].right]
    sizes: dict[int, int] = {}
    for node in reversed(order):
        entry = nodes[node]
        sizes[node] = 1 + sizes.get(entry.left, 0) + sizes.get(entry.right, 0)
    return sizes


def _laid_out(items: list[_Item]) -> tuple[str, ...] | None:
    """Branches that do not reach become an inverse one over a longer one, until all reach."""
    changed = True
    while changed:
        places, targets, position = [], {}, 0
        for item in items:
            places.append(position)
            if item.label >= 0:
                targets[item.label] = position
            position += item.size + 2 * item.is_far
        changed = False
        for place, item in zip(places, items, strict=True):
            if item.target < 0:
                continue
            distance = abs(targets[item.target] - place) + 4
            if distance > _FAR_REACH:
                return None
            if item.text != "b" and not item.is_far and distance > _REACH:
                item.is_far = changed = True
    used = {item.target for item in items}
    lines = []
    for place, item in zip(places, items, strict=True):
        if item.label >= 0:
            lines += [f"{item.label}:"] if item.label in used else []
            continue
        if item.target < 0:
            lines.append(item.text)
            continue
        suffix = "b" if targets[item.target] <= place else "f"
        if item.is_far:
            lines += [f"{_INVERSE[item.text]} 0f", f"b {item.target}{suffix}", "0:"]
        else:
            lines.append(f"{item.text} {item.target}{suffix}")
    return tuple(lines)
