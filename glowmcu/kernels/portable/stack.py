"""A loop of its own for a stack of element-wise operators or for one alone: constants baked in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glowmcu.ir.operation import Operation, Rounding, Signature
from glowmcu.ir.types import TensorType, element_type_of
from glowmcu.kernels.common.broadcasting import Axis, jumps, loop_axes
from glowmcu.kernels.common.element_code import ElementCode
from glowmcu.kernels.common.overlap import element_overlaps
from glowmcu.kernels.kernel import (
    Cost,
    Kernel,
    KernelCode,
    Site,
    Target,
    kernel,
)
from glowmcu.kernels.requantization.proved_elements import best_code, proved_code
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.registry import load_operations
from glowmcu.ops.stack import Member, Stack

_ELEMENTWISE = tuple(op for op in load_operations().values() if op.elementwise)


@dataclass(frozen=True)
class OperandView:
    """An operand `x<n>`: its C type, and its element in the innermost loop."""

    c_type: str
    name: str
    element: str


@dataclass(frozen=True)
class StructView:
    """Parameters of a member: `static const <struct> <name>`, its numbers by member name."""

    struct: str
    name: str
    fields: tuple[tuple[str, int | float], ...]


@dataclass(frozen=True)
class ValueView:
    """A line of the loop's body: `const <c_type> <name> = <expression>;`."""

    c_type: str
    name: str
    expression: str
    comment: str


@dataclass(frozen=True)
class LoopView:
    """A `for` of the nest; `moves` are what each turn adds to the pointers at its end."""

    index: str
    size: int
    indent: str
    moves: tuple[tuple[str, int], ...]


def _members(
    op: Operation, signature: Signature
) -> tuple[tuple[Member, ...], tuple[Signature, ...]]:
    """A stack's members, or the operator itself as the only one."""
    if isinstance(op, Stack):
        return op.members, op.signatures(signature.inputs)
    only = Member(op, tuple(range(len(signature.inputs))), signature.output)
    return (only,), (signature,)


def member_codes(
    op: Operation, signature: Signature, rounding: Rounding
) -> tuple[ElementCode | None, ...]:
    """The element code of every member."""
    members, signatures = _members(op, signature)
    return tuple(
        best_code(member.op, inner, rounding)
        for member, inner in zip(members, signatures, strict=True)
    )


def _codes(site: Site) -> tuple[ElementCode, ...]:
    codes = member_codes(site.node.op, site.signature, site.rounding)
    return tuple(code for code in codes if code is not None)


@kernel("elementwise.baked", *_ELEMENTWISE)
class BakedLoop(Kernel):
    """`k_<step>`: one pass over the result, intermediate values in registers; any core."""

    is_loops = True

    def accepts(self, site: Site, target: Target) -> bool:
        return None not in member_codes(site.node.op, site.signature, site.rounding)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        types = (*site.signature.inputs, *site.signature.outputs)
        if any(type_.element.is_float or type_.element.size_bytes > 1 for type_ in types):
            return {}
        elements = site.signature.output.element_count
        axes = loop_axes([type_.shape for type_ in site.signature.inputs], types[-1].shape)
        work = {"call": 1.0, "element": float(elements), "run": elements / max(axes[-1].size, 1)}
        members, signatures = _members(site.node.op, site.signature)
        for member, signature in zip(members, signatures, strict=True):
            proved = proved_code(member.op, signature, site.rounding) is not None
            name = f"proved {member.op.name}" if proved else member.op.name
            work[name] = work.get(name, 0.0) + elements
        return work

    def cost(self, site: Site, target: Target) -> Cost:
        codes = _codes(site)
        operands = len(site.signature.inputs)
        per_element = sum(code.cycles for code in codes) + 2 * operands + 6
        code_bytes = sum(code.code_bytes for code in codes) + 10 * operands + 40
        tables = sum(int(code.table.data.nbytes) for code in codes if code.table is not None)
        cycles = per_element * site.signature.output.element_count
        return Cost(cycles, 0, tables, layer_code_bytes=code_bytes)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, signature = site.node.op, site.signature
        codes = _codes(site)
        headers = {header for code in codes for header in code.headers}
        view: dict[str, Any] = {
            "headers": tuple(sorted(headers)),
            "out_type": signature.output.element.c_name,
            "operands": _operand_views(signature),
            "structs": struct_views(codes),
            "tables": tuple(code.table for code in codes if code.table is not None),
            "table_types": tuple(
                element_type_of(code.table.data.dtype).c_name
                for code in codes
                if code.table is not None
            ),
            "loops": _loop_views(signature),
            "values": _value_views(op, codes, signature),
        }
        operands = tuple(range(len(signature.inputs)))
        overlaps = element_overlaps(signature)
        return KernelCode(
            "", operands, template="portable/stack.c.j2", view=view, overlaps=overlaps
        )


def _axes(signature: Signature) -> tuple[Axis, ...]:
    return loop_axes([type_.shape for type_ in signature.inputs], signature.output.shape)


def _operand_views(signature: Signature) -> tuple[OperandView, ...]:
    axes = _axes(signature)
    index = f"i{len(axes) - 1}"
    return tuple(
        OperandView(
            type_.element.c_name,
            f"x{operand}",
            f"x{operand}[{index if axes[-1].strides[operand] else 0}]",
        )
        for operand, type_ in enumerate(signature.inputs)
    )


def _loop_views(signature: Signature) -> tuple[LoopView, ...]:
    axes = _axes(signature)
    last = len(axes) - 1
    views: list[LoopView] = []
    for level, axis in enumerate(axes):
        moves = []
        for operand in range(len(signature.inputs)):
            if level == last:
                break
            # The innermost loop indexes, so here the pointer has not moved over what it covers.
            indexed = axes[last].size * axes[last].strides[operand] if level == last - 1 else 0
            moves.append((f"x{operand}", jumps(axes, operand)[level] + indexed))
        if level == last - 1:
            moves.append(("out", axes[last].size))
        moves = [(name, step) for name, step in moves if step]
        views.append(LoopView(f"i{level}", axis.size, "    " * (level + 1), tuple(moves)))
    return tuple(views)


def struct_views(codes: Sequence[ElementCode]) -> tuple[StructView, ...]:
    """The members' parameters: numbers only, arrays are tables."""
    views: list[StructView] = []
    for parameters in (code.parameters for code in codes if code.parameters is not None):
        fields = tuple(
            (field.name, field.value)
            for field in parameters.fields
            if isinstance(field.value, int | float)
        )
        assert len(fields) == len(parameters.fields)
        views.append(StructView(parameters.struct, f"p{len(views)}", fields))
    return tuple(views)


def _value_type(type_: TensorType) -> str:
    """The C type that an element is computed in: its own where int32_t does not hold it."""
    low, high = (0, 0) if type_.element.is_float else type_.element.limits
    fits = not type_.element.is_float and low >= -(2**31) and high < 2**31
    return "int32_t" if fits else type_.element.c_name


def _value_views(
    op: Operation, codes: Sequence[ElementCode], signature: Signature
) -> tuple[ValueView, ...]:
    """Every operand loaded once, then the members in order."""
    views = [
        ValueView(
            _value_type(type_), f"e{operand.name[1:]}", operand.element, str(type_.element.numpy)
        )
        for operand, type_ in zip(_operand_views(signature), signature.inputs, strict=True)
    ]
    names = [view.name for view in views]
    structs = tables = 0
    for number, (member, code) in enumerate(zip(_members(op, signature)[0], codes, strict=True)):
        operands = [names[operand] for operand in member.operands]
        text = code.expression.format(*operands, p=f"&p{structs}", t=f"t{tables}")
        structs += code.parameters is not None
        tables += code.table is not None
        views.append(ValueView(_value_type(member.type), f"v{number}", text, member.op.name))
        names.append(f"v{number}")
    return tuple(views)
