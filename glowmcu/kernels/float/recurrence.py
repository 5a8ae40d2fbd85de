"""Recurrent layers on real numbers with constant weights, on cores with an FPU.

A gate of all units at once, as vectors times a matrix: see glowmcu_matrix_f32.h. What the gates see
of the input and of the hidden state lies in the scratch until the units go through their functions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from glowmcu.ir.function_names import specialized
from glowmcu.kernels.common.layer_fields import clamping_fields, constant, is_constant
from glowmcu.kernels.float.windows import (
    block_work,
    packed_blocks,
    packed_bytes,
    packed_gates,
)
from glowmcu.kernels.kernel import (
    ConstantArray,
    Cost,
    Field,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.kernels.portable.recurrence import RealRecurrence, recurrence_of, step_count
from glowmcu.ops.recurrence import USUAL_FUNCTIONS, Recurrence, RecurrenceShape

#: Of the code of vectors times a matrix.
_FLOAT_BYTES, _MATRIX_BYTES = 4, 900


@kernel("recurrence.packed_f32", Recurrence)
class PackedRecurrence(RealRecurrence):
    """Real numbers, eight gates at a time; any core with an FPU."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not (target.core.has_fpu and super().accepts(site, target)):
            return False
        return is_constant(site, *_packed_operands(site))

    def work(self, site: Site, target: Target) -> dict[str, float]:
        """As of the portable kernel, but for products: those of eight gates and of four."""
        work = super().work(site, target)
        del work["mac"]
        return work | block_work(_matrices(recurrence_of(site)[1]), step_count(site))

    def cost(self, site: Site, target: Target) -> Cost:
        estimate = super().cost(site, target)
        return Cost(
            estimate.cycles - site.node.macs,
            estimate.layer_code_bytes + _MATRIX_BYTES,
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
        )

    def flash_bytes(self, site: Site, target: Target) -> int:
        _, shape = recurrence_of(site)
        each = sum(packed_bytes(rows, depth) for depth, rows in _matrices(shape))
        return shape.directions * each

    def scratch_bytes(self, site: Site, target: Target) -> int:
        _, shape = recurrence_of(site)
        return _FLOAT_BYTES * shape.gates * shape.units

    def code_key(self, site: Site, target: Target) -> str:
        op, shape = recurrence_of(site)
        return specialized(
            op.kind.value,
            f"{shape.steps} steps",
            f"{shape.depth} inputs",
            f"{shape.units} units",
            *_facts(op, shape),
        )

    def generate(self, site: Site, target: Target) -> KernelCode:
        _, shape = recurrence_of(site)
        code = super().generate(site, target)
        directions = [_direction(site, number) for number in range(shape.directions)]
        parameters = Parameters("glowmcu_recurrence_packed", directions[0])
        if shape.directions == 2:
            both = zip(("forward", "backward"), directions, strict=True)
            fields = [Field(name, Parameters(parameters.struct, each)) for name, each in both]
            parameters = Parameters(f"{parameters.struct}_both", tuple(fields))
        headers = [name for name in code.view["headers"] if name != "glowmcu_recurrence_f32.h"]
        packed = _packed_operands(site)
        return replace(
            code,
            function=self.code_key(site, target),
            operands=tuple(number for number in code.operands if number not in packed),
            view={
                **code.view,
                "is_packed": True,
                "headers": ("glowmcu_recurrence_packed_f32.h", *headers),
            },
            parameters=parameters,
            scratch_bytes=self.scratch_bytes(site, target),
        )


def _facts(op: Recurrence, shape: RecurrenceShape) -> Iterator[str]:
    """What the function depends on besides its sizes; empty where it is usual."""
    yield f"{shape.batches} sequences" if shape.batches > 1 else ""
    yield "both directions" if shape.directions > 1 else "reversed" if op.reversed[0] else ""
    yield "batch first" if op.batch_first else ""
    yield "reset gate behind" if op.resets_after else ""
    yield "coupled gates" if op.couples_gates else ""
    yield "states given" if op.has_initial else ""
    yield "peepholes" if op.has_peepholes else ""
    yield "lengths" if op.has_lengths else ""
    if op.functions != USUAL_FUNCTIONS[op.kind] * shape.directions or op.clip > 0:
        text = repr((op.functions, op.clip))
        yield f"functions {hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _packed_operands(site: Site) -> tuple[int, ...]:
    """Weights, recurrent weights and biases."""
    op, _ = recurrence_of(site)
    return (1, 2, 3, 4) if op.resets_after else (1, 2, 3)


def _matrices(shape: RecurrenceShape) -> list[tuple[int, int]]:
    """Of one direction: inputs and outputs of each."""
    return [(shape.depth, shape.gates * shape.units), *[(shape.units, shape.units)] * shape.gates]


def _direction(site: Site, number: int) -> tuple[Field, ...]:
    op, shape = recurrence_of(site)
    rows = shape.gates * shape.units
    weights, recurrent, bias, *after = (
        constant(site, position).reshape(shape.directions, rows, -1)[number]
        for position in _packed_operands(site)
    )
    own = after[0].reshape(-1) if op.resets_after else np.zeros(rows, np.float32)
    hidden = packed_gates(recurrent, own, shape.gates)
    return (
        Field("input", _matrix(shape.depth, rows, packed_blocks(weights, bias.reshape(-1)))),
        Field("hidden", _matrix(shape.units, shape.units, hidden)),
        Field("gate_floats", hidden.data.size // shape.gates),
    )


def _matrix(depth: int, rows: int, weights: ConstantArray) -> Parameters:
    fields = (
        Field("vectors", 1),
        Field("depth_in", depth),
        Field("depth_out", rows),
        *clamping_fields(None),
        Field("weights", weights),
    )
    return Parameters("glowmcu_matrix_real", fields)
