"""Kernels that compute a layer row by row: which, what they are called with, with which constants.

Kernels of row ranges are called with `[y, y + 1)`. Where row y of the result needs row y of the
operands alone, the kernel of a tensor with that one row does, which any variant can generate. The
best variant for rows need not be the best one for the whole layer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.kernel_code import RowCall, RowRule, RowSupport
from glowmcu.ir.operation import Operation, RowWindow
from glowmcu.ir.types import TensorType
from glowmcu.kernels.kernel import Cost, Kernel, KernelCode, Site, Target
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.slicing import Slice

#: Kernels that take less than this many times the cycles of the quickest count as equally quick.
_SAME_SPEED = 1.03


@dataclass(frozen=True, eq=False)
class RowKernel:
    """The code that is called a row at a time, and how. `cost`: estimate for all rows;
    `least_scratch_bytes`: of all variants that could do it.
    """

    variant: Kernel
    code: KernelCode
    support: RowSupport
    cost: Cost
    least_scratch_bytes: int


@dataclass(frozen=True, eq=False)
class _Way:
    """A variant on the site that it is generated for, and what all rows would cost."""

    variant: Kernel
    site: Site
    call: RowCall
    cost: Cost

    def preference(self, alike: float) -> tuple[bool, int, float, str]:
        """Less is better; ways of up to `alike` cycles count as equally quick."""
        slow = self.cost.cycles > alike
        return slow, 0 if slow else self.cost.scratch_bytes, self.cost.cycles, self.variant.name


def best_row_kernel(
    variants: Iterable[Kernel],
    operands: Sequence[int],
    site: Site,
    target: Target,
    of_one_row: Iterable[Kernel] = (),
) -> RowKernel | None:
    """A quick one of the variants within the site's limit of scratch, or the one with the least.

    Of those that take about as long it is the one with the least scratch: rows are streamed where
    bytes are scarce. `operands` are the node's inputs that kernels take as pointers; `of_one_row`
    may accept the tensor of a single row, though not the layer. None if no variant goes row by
    row: tensors must be images of one batch item.
    """
    ways = _ways(variants, operands, site, target, of_one_row)
    least = min((way.cost.scratch_bytes for way in ways), default=0)
    limit = max(least, site.scratch_limit if site.scratch_limit is not None else 1 << 62)
    within = [way for way in ways if way.cost.scratch_bytes <= limit]
    alike = _SAME_SPEED * min((way.cost.cycles for way in within), default=0.0)
    found = None
    for way in sorted(within, key=lambda way: way.preference(alike)):
        found = _row_kernel(way, operands, site, target, least)
        if found is not None:
            break
    site.memory.clear()
    return found


def _ways(
    variants: Iterable[Kernel],
    operands: Sequence[int],
    site: Site,
    target: Target,
    of_one_row: Iterable[Kernel],
) -> list[_Way]:
    signature = site.signature
    images = [signature.inputs[position] for position in operands]
    is_image = all(type_.rank == 4 and type_.shape[0] == 1 for type_ in (*images, signature.output))
    if not is_image or not images or len(signature.outputs) > 1:
        return []
    if signature.output.shape[1] == 1:
        accumulating = [variant for variant in variants if variant.accumulates]
        in_parts = replace(site, by_rows=True)
        found = [
            (v, v.calibrated_cost(in_parts, target)) for v in accumulating if images[0].shape[1] > 1
        ]
        return [_Way(variant, site, RowCall.ACCUMULATE, cost) for variant, cost in found]
    rules = row_rules(site.node, operands)
    if rules is None:
        return []
    usual = [variant for variant in variants if not variant.accumulates]
    ways = [way for v in usual if (way := _range_way(v, site, target, rules[0])) is not None]
    turns = signature.output.shape[1]
    if all(rule.is_same_row and rule.rows == turns for rule in rules):
        row_site = replace(site, node=_one_row(site.node, operands))
        ways += [
            _Way(v, row_site, RowCall.WHOLE, _times(v.calibrated_cost(row_site, target), turns))
            for v in (*usual, *of_one_row)
            if not v.accumulates and v.accepts(row_site, target)
        ]
    return ways


def _range_way(variant: Kernel, site: Site, target: Target, rule: RowRule) -> _Way | None:
    """All rows: each like a layer with one row of results and the rows under it."""
    by_rows = replace(site, by_rows=True)
    chosen = by_rows if variant.accepts(by_rows, target) else site
    whole = variant.calibrated_cost(chosen, target)
    cycles = 0.0
    for (above, below), rows in _edges(rule, site.signature.output.shape[1]).items():
        strip = replace(chosen, node=_strip(site.node, rule, above, below))
        if strip.node is site.node or not variant.accepts(strip, target):
            cycles = whole.cycles * variant.row_slowdown
            break
        cycles += rows * variant.calibrated_cost(strip, target).cycles
    return _Way(variant, chosen, RowCall.RANGE, replace(whole, cycles=cycles))


def _edges(rule: RowRule, rows: int) -> Counter[tuple[int, int]]:
    """Result rows by how many rows of their windows lie above and below the image."""
    tops = [y * rule.stride - rule.before for y in range(rows)]
    return Counter((max(-top, 0), max(top + rule.extent - rule.rows, 0)) for top in tops)


def _times(cost: Cost, turns: int) -> Cost:
    return replace(cost, cycles=cost.cycles * turns)


def _row_kernel(
    way: _Way, operands: Sequence[int], site: Site, target: Target, least: int
) -> RowKernel | None:
    """The way's code; None if it turns out not to be for rows."""
    try:
        code = way.variant.generate(way.site, target)
    except GlowmcuError:
        return None
    signature = site.signature
    if code.operands != tuple(operands) or code.batches > 1:
        return None
    if way.call is RowCall.ACCUMULATE:
        turns = signature.inputs[operands[0]].shape[1]
        rules: tuple[RowRule, ...] | None = (RowRule(1, 0, 1, turns),)
    else:
        turns, rules = signature.output.shape[1], row_rules(site.node, operands)
    if rules is None or (way.call is not RowCall.WHOLE and code.rows != turns):
        return None
    # What holds while all rows follow each other holds for row 0, and so for every pair of rows.
    same_rows = way.call is RowCall.RANGE and all(rule.is_same_row for rule in rules)
    overlaps = code.overlaps if way.call is RowCall.WHOLE or same_rows else {}
    support = RowSupport(way.call, turns, rules, code.scratch_bytes, overlaps, way.variant.name)
    return RowKernel(way.variant, code, support, way.cost, least)


def _strip(node: Node, rule: RowRule, above: int, below: int) -> Node:
    """The node on the rows under one result row, `above` and `below` of which are off the image."""
    op, (x, *others) = node.op, node.inputs
    if not isinstance(op, Conv2D | DepthwiseConv2D | AveragePool2D | MaxPool2D):
        return node
    _, left, _, right = op.padding
    height = rule.extent - above - below
    if height < 1:
        return node
    shape = (x.type.shape[0], height, *x.type.shape[2:])
    (output,) = node.outputs
    return Node(
        replace(op, padding=(above, left, below, right)),
        (Value(x.type.with_shape(shape), x.name), *others),
        (Value(_row_of(output.type), output.name),),
        node.name,
        node.source,
    )


def _one_row(node: Node, operands: Sequence[int]) -> Node:
    """The node on operands and a result of one row."""
    inputs = tuple(
        Value(_row_of(value.type), value.name) if position in operands else value
        for position, value in enumerate(node.inputs)
    )
    (output,) = node.outputs
    outputs = (Value(_row_of(output.type), output.name),)
    return Node(_one_row_op(node.op), inputs, outputs, node.name, node.source)


def _one_row_op(op: Operation) -> Operation:
    """The same for one row: some operators name the rows that there are."""
    if isinstance(op, Slice):
        return replace(op, size=(op.size[0], 1, *op.size[2:]))
    return op


def _row_of(type_: TensorType) -> TensorType:
    return type_.with_shape((type_.shape[0], 1, *type_.shape[2:]))


def row_rules(node: Node, operands: Sequence[int]) -> tuple[RowRule, ...] | None:
    """A rule for each of the operands, or None if some rows follow none."""
    signature = node.signature
    height = signature.output.shape[1]
    constants = [
        type_
        for position, type_ in enumerate(signature.inputs)
        if position not in operands and type_.rank == 4 and node.op.elementwise
    ]
    if any(type_.shape[1] > 1 for type_ in constants):
        return None
    windows = [node.op.input_rows(signature, y, y + 1) for y in range(height)]
    rules = []
    for position in operands:
        rows = signature.inputs[position].shape[1]
        found = [window[position] for window in windows]
        rule = _rule(found, rows)
        if rule is None:
            return None
        rules.append(rule)
    return tuple(rules)


def _rule(windows: Sequence[RowWindow | None], rows: int) -> RowRule | None:
    """The rule that gives these windows of an operand with `rows` rows."""
    known = [window for window in windows if window is not None]
    if len(known) < len(windows):
        return None
    firsts = [window.first for window in known]
    stride = max((b - a for a, b in pairwise(firsts)), default=1)
    before = max((y * stride - first for y, first in enumerate(firsts)), default=0)
    extent = max(window.end - y * stride + before for y, window in enumerate(known))
    rule = RowRule(stride, before, extent, rows)
    fits = all(
        (rule.first(y), rule.end(y)) == (window.first, window.end) for y, window in enumerate(known)
    )
    return rule if fits else None
