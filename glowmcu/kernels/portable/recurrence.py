"""Kernel of `recurrence` on real numbers: a function of the layer's own, with loops over
directions, batch items and steps. The next step reads the hidden state where a step put it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glowmcu.ir.operation import Operation, Signature
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.kernels.common.element_code import ElementCode, element_code_of
from glowmcu.kernels.common.layer_fields import constant_bytes
from glowmcu.kernels.kernel import Cost, Kernel, KernelCode, Site, Target, kernel
from glowmcu.kernels.portable.activation import clamped
from glowmcu.kernels.portable.stack import StructView, struct_views
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.recurrence import CellKind, Recurrence, RecurrenceShape
from glowmcu.ops.recurrence_cells import CellFunction

#: Without the functions that gates go through.
_CODE_BYTES = {CellKind.RNN: 300, CellKind.GRU: 650, CellKind.LSTM: 1550}
_NUMBER = TensorType((1,), ElementType.F32)


@dataclass(frozen=True)
class LineView:
    """`const float <name> = <expression>[ * <factor>];`."""

    name: str
    expression: str
    factor: float = 1.0


@dataclass(frozen=True)
class ActivationView:
    """A function of one number: what it declares, its lines, and what becomes of the last."""

    name: str
    structs: tuple[StructView, ...]
    lines: tuple[LineView, ...]
    last: str
    scale: float
    offset: float


@dataclass(frozen=True)
class StepView:
    """A step's function and the names of the functions that its gates go through."""

    name: str
    functions: tuple[str, str, str]


def recurrence_of(site: Site) -> tuple[Recurrence, RecurrenceShape]:
    """The operator and its sizes."""
    op = site.node.op
    assert isinstance(op, Recurrence)
    return op, op.shape(site.signature.inputs)


def step_count(site: Site) -> float:
    """Steps of all directions and sequences; of lengths that are computed the most there can be."""
    op, shape = recurrence_of(site)
    lengths = site.constants[op.position("lengths")] if op.has_lengths else None
    steps = shape.batches * shape.steps
    if lengths is not None:
        steps = int(lengths.clip(0, shape.steps).sum())
    return float(shape.directions * steps)


def strides(op: Recurrence, shape: RecurrenceShape) -> dict[str, int]:
    """Elements between steps, batch items and directions of x, results and states."""
    d, b, h = shape.directions, shape.batches, shape.units
    if op.batch_first:
        return {
            "x_step": shape.depth, "x_batch": shape.steps * shape.depth,
            "out_step": d * h, "out_batch": shape.steps * d * h, "out_direction": h,
            "state_batch": d * h, "state_direction": h,
        }  # fmt: skip
    return {
        "x_step": b * shape.depth, "x_batch": shape.depth,
        "out_step": d * b * h, "out_batch": h, "out_direction": b * h,
        "state_batch": h, "state_direction": b * h,
    }  # fmt: skip


@kernel("recurrence.portable_f32", Recurrence)
class RealRecurrence(Kernel):
    """Real numbers; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return site.signature.output.element.is_float

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, shape = recurrence_of(site)
        steps = step_count(site)
        units = steps * shape.units
        rows = units * shape.gates
        work = {
            "call": 1.0, "step": steps, "row": rows, "unit": units,
            "mac": rows * (shape.depth + shape.units),
        }  # fmt: skip
        for direction in range(shape.directions):
            functions = op.functions_of(direction)
            for function, count in zip(functions, _uses(op), strict=True):
                made = function.operation.name if function.operation else "affine"
                name = f"function {made}"
                work[name] = work.get(name, 0.0) + count * units / shape.directions
        return work

    def cost(self, site: Site, target: Target) -> Cost:
        op, shape = recurrence_of(site)
        codes = [code for function in set(op.functions) for code in _codes(op, function, False)]
        each = 4.0 if target.core.has_fpu else 90.0
        outputs = shape.directions * shape.batches * shape.steps * shape.units * shape.gates
        cycles = each * site.node.macs + (40 + 2 * sum(c.cycles for c in codes)) * outputs
        code_bytes = _CODE_BYTES[op.kind] + sum(code.code_bytes for code in codes)
        return Cost(cycles, 0, constant_bytes(site), layer_code_bytes=code_bytes)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, shape = recurrence_of(site)
        table = _Activations(op)
        by_direction = [_step(op, n, table) for n in range(shape.directions)]
        distinct = list(dict.fromkeys(by_direction))
        names = {functions: f"step{number}" for number, functions in enumerate(distinct)}
        view: dict[str, Any] = {
            "kind": op.kind.value,
            "shape": shape,
            **strides(op, shape),
            "reversed": op.reversed,
            "batch_first": op.batch_first,
            "activations": table.views,
            "steps": tuple(StepView(name, functions) for functions, name in names.items()),
            "steps_of": tuple(names.values()),
            "resets_after": op.resets_after,
            "couples_gates": op.couples_gates,
            "has_initial": op.has_initial,
            "has_peepholes": op.has_peepholes,
            "has_lengths": op.has_lengths,
            "is_packed": False,
            "headers": ("glowmcu_recurrence_f32.h", *table.headers),
        }
        operands = tuple(range(len(site.signature.inputs)))
        return KernelCode("", operands, template="portable/recurrence_f32.c.j2", view=view)


def _uses(op: Recurrence) -> tuple[int, ...]:
    """How often a unit's step goes through each of a direction's functions."""
    if op.kind is CellKind.LSTM:
        return (2 if op.couples_gates else 3, 1, 1)
    return {CellKind.GRU: (2, 1), CellKind.RNN: (1,)}[op.kind]


class _Activations:
    """The functions that a layer's gates go through, each once."""

    def __init__(self, op: Recurrence) -> None:
        self._op = op
        self._names: dict[tuple[CellFunction, bool], str] = {}
        self.views: tuple[ActivationView, ...] = ()
        self.headers: tuple[str, ...] = ()

    def name(self, function: CellFunction, is_clipped: bool) -> str:
        """Of the function with its argument clipped or as it is."""
        key = function, is_clipped and self._op.clip > 0
        if key not in self._names:
            self._names[key] = f"f{len(self._names)}"
            codes = _codes(self._op, *key)
            self.views += (_activation_view(self._names[key], function, codes, key[1]),)
            headers = {header for code in codes for header in code.headers}
            self.headers = tuple(sorted({*self.headers, *headers}))
        return self._names[key]


def _step(op: Recurrence, direction: int, table: _Activations) -> tuple[str, str, str]:
    """Names of the functions of gates, of what is new and of the cell state."""
    functions = op.functions_of(direction)
    names = [
        table.name(function, not (op.kind is CellKind.LSTM and index == 2))
        for index, function in enumerate(functions)
    ]
    first, second, third, *_ = (*names, "", "", "")
    return first, second, third


def _codes(op: Recurrence, function: CellFunction, is_clipped: bool) -> list[ElementCode]:
    """Of the clip and the operation, those that there are."""
    codes = [clamped("{0}", (-op.clip, op.clip))] if is_clipped else []
    return codes + ([_code(function.operation)] if function.operation is not None else [])


def _code(operation: Operation) -> ElementCode:
    code = element_code_of(operation, Signature((_NUMBER,), (_NUMBER,)))
    assert code is not None and code.table is None, operation.name
    return code


def _activation_view(
    name: str, function: CellFunction, codes: Sequence[ElementCode], is_clipped: bool
) -> ActivationView:
    lines: list[LineView] = []
    value, structs = "x", 0
    for index, code in enumerate(codes):
        if index == int(is_clipped) and function.scale_in != 1.0:
            lines.append(LineView(f"v{len(lines)}", value, function.scale_in))
            value = lines[-1].name
        lines.append(LineView(f"v{len(lines)}", code.expression.format(value, p=f"&p{structs}")))
        value = lines[-1].name
        structs += code.parameters is not None
    if function.operation is None:
        lines.append(LineView(f"v{len(lines)}", value, function.scale_in))
        value = lines[-1].name
    return ActivationView(
        name, struct_views(codes), tuple(lines), value, function.scale_out, function.offset
    )
