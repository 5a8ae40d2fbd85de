"""Kernels that compute a layer row by row: what they are called with, and with which constants.

Kernels of row ranges are called with `[y, y + 1)`. Where row y of the result needs row y of the
operands alone, the kernel of a tensor with that one row does, which any variant can generate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.kernel_code import RowCall, RowRule, RowSupport
from glowmcu.ir.operation import RowWindow
from glowmcu.ir.types import TensorType
from glowmcu.kernels.kernel import Kernel, KernelCode, Site, Target
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D


@dataclass(frozen=True, eq=False)
class RowKernel:
    """The code that is called a row at a time, and how. `cycles`: estimate for all rows."""

    code: KernelCode
    support: RowSupport
    cycles: float


def row_kernel(variant: Kernel, code: KernelCode, site: Site, target: Target) -> RowKernel | None:
    """How `variant`, which computes the whole layer by `code`, goes row by row; None if it cannot.

    Tensors must be images of one batch item.
    """
    signature = site.signature
    out = signature.output
    images = [signature.inputs[position] for position in code.operands]
    is_image = all(type_.rank == 4 and type_.shape[0] == 1 for type_ in (*images, out))
    if not is_image or not images or len(signature.outputs) > 1 or code.batches > 1:
        return None
    rules = row_rules(site.node, code.operands)
    if code.accumulates:
        rows = images[0].shape[1]
        support = RowSupport(
            RowCall.ACCUMULATE, rows, (RowRule(1, 0, 1, rows),), code.scratch_bytes
        )
        cycles = variant.price(site, target).cycles
        return RowKernel(code, support, cycles) if len(images) == 1 else None
    if rules is None or out.shape[1] < 2:
        return None
    if all(rule.is_same_row and rule.rows == out.shape[1] for rule in rules):
        alone = _of_one_row(variant, code, site, target, rules)
        if alone is not None:
            return alone
    if code.rows != out.shape[1]:
        return None
    by_rows = replace(site, by_rows=True)
    if variant.accepts(by_rows, target):
        code = variant.generate(by_rows, target)
    support = RowSupport(RowCall.RANGE, code.rows, rules, code.scratch_bytes)
    return RowKernel(code, support, _range_cycles(variant, by_rows, target, rules[0]))


def _range_cycles(variant: Kernel, site: Site, target: Target, rule: RowRule) -> float:
    """What all rows take: each like a layer with one row of results and the rows under it."""
    turns = site.signature.output.shape[1]
    strip = replace(site, node=_strip(site.node, rule))
    if strip.node is site.node or not variant.accepts(strip, target):
        return variant.price(site, target).cycles * variant.row_slowdown
    return turns * variant.price(strip, target).cycles


def _strip(node: Node, rule: RowRule) -> Node:
    """The node on the rows under one result row, without padding above and below."""
    op, (x, *others) = node.op, node.inputs
    if not isinstance(op, Conv2D | DepthwiseConv2D | AveragePool2D | MaxPool2D):
        return node
    _, left, _, right = op.padding
    height = min(rule.extent, rule.rows)
    if height < rule.extent:
        return node
    shape = (x.type.shape[0], height, *x.type.shape[2:])
    (output,) = node.outputs
    return Node(
        replace(op, padding=(0, left, 0, right)),
        (Value(x.type.with_shape(shape), x.name), *others),
        (Value(_row_of(output.type), output.name),),
        node.name,
        node.source,
    )


def _of_one_row(
    variant: Kernel, code: KernelCode, site: Site, target: Target, rules: tuple[RowRule, ...]
) -> RowKernel | None:
    row_site = replace(site, node=_one_row(site.node, code.operands))
    if not variant.accepts(row_site, target):
        return None
    try:
        row_code = variant.generate(row_site, target)
    except GlowmcuError:
        return None
    if row_code.operands != code.operands or row_code.accumulates:
        return None
    turns = site.signature.output.shape[1]
    support = RowSupport(RowCall.WHOLE, turns, rules, row_code.scratch_bytes, row_code.overlaps)
    return RowKernel(row_code, support, turns * variant.price(row_site, target).cycles)


def _one_row(node: Node, operands: Sequence[int]) -> Node:
    """The node on operands and a result of one row."""
    inputs = tuple(
        Value(_row_of(value.type), value.name) if position in operands else value
        for position, value in enumerate(node.inputs)
    )
    (output,) = node.outputs
    outputs = (Value(_row_of(output.type), output.name),)
    return Node(node.op, inputs, outputs, node.name, node.source)


def _row_of(type_: TensorType) -> TensorType:
    return type_.with_shape((type_.shape[0], 1, *type_.shape[2:]))


def row_rules(node: Node, operands: Sequence[int]) -> tuple[RowRule, ...] | None:
    """A rule for each of the operands, or None where some rows follow none."""
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
