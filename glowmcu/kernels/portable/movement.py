"""Portable kernel of every operator that is strided copies (`ops/movement.py`).

Regions are coalesced here, at compile time, to the fewest loops around the longest unbroken runs.
One copy is one call of the shared C function; several make a small function of the layer's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.kernel_code import ConstantArray, Field, KernelCode, Parameters
from glowmcu.ir.operation import Signature
from glowmcu.ir.types import TensorType
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.movement import Copy, Movement
from glowmcu.ops.padding import MirrorPad, Pad
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.space import BatchToSpace, DepthToSpace, SpaceToBatch, SpaceToDepth
from glowmcu.ops.tiling import BroadcastTo, Tile
from glowmcu.ops.transpose import Reverse, Transpose

#: As many as libjit's `GLOWMCU_STRIDED_COPY_LOOPS`.
MAX_LOOPS = 8
_MEMCPY_FROM_BYTES, _WORD_BYTES = 16, 4


@dataclass(frozen=True)
class StridedCopy:
    """A copy in bytes. `loops` is `(count, in step, out step)`, outermost first."""

    unit_bytes: int
    in_first: int
    out_first: int
    loops: tuple[tuple[int, int, int], ...]

    @property
    def cycles(self) -> float:
        """Estimate for a Cortex-M4."""
        counts = [count for count, _, _ in self.loops]
        units, turns = math.prod(counts), math.prod(counts[:-1])
        if self.unit_bytes >= _MEMCPY_FROM_BYTES:
            of_unit = 25.0 + 0.6 * self.unit_bytes
        else:
            of_unit = {1: 4.5, _WORD_BYTES: 9.0}.get(self.unit_bytes, 10.0 + 6.0 * self.unit_bytes)
        return 60.0 + 20.0 * turns + of_unit * units


def coalesce(copy: Copy, element_bytes: int) -> StridedCopy:
    """The fewest loops that make `copy`. Both regions must have the same shape."""
    assert copy.source.shape == copy.target.shape
    loops: list[tuple[int, int, int]] = []
    for (count, in_stride), (_, out_stride) in zip(
        copy.source.loops, copy.target.loops, strict=True
    ):
        step = (count, in_stride * element_bytes, out_stride * element_bytes)
        if count == 1:
            continue
        if loops and loops[-1][1] == count * step[1] and loops[-1][2] == count * step[2]:
            loops[-1] = (loops[-1][0] * count, step[1], step[2])
        else:
            loops.append(step)
    unit = element_bytes
    if loops and loops[-1][1] == loops[-1][2] == unit:
        unit *= loops.pop()[0]
    first = copy.source.first * element_bytes, copy.target.first * element_bytes
    return StridedCopy(unit, *first, tuple(loops))


def longest_innermost(copy: StridedCopy) -> StridedCopy:
    """The same with the longest loop where a turn costs least; nothing is read that is written."""
    if copy.unit_bytes >= _MEMCPY_FROM_BYTES:
        return copy
    longest = max((count for count, _, _ in copy.loops), default=0)
    return replace(copy, loops=tuple(sorted(copy.loops, key=lambda loop: loop[0] == longest)))


def strided_copies(site: Site) -> list[tuple[Copy, StridedCopy]]:
    """The copies of a node that move anything."""
    op = site.node.op
    assert isinstance(op, Movement)
    element_bytes = site.signature.output.element.size_bytes
    return [
        (copy, coalesce(copy, element_bytes))
        for copy in op.copies(site.signature)
        if 0 not in copy.source.shape
    ]


_MOVEMENTS = (
    BatchToSpace, BroadcastTo, Concatenation, DepthToSpace, MirrorPad, Pad, Reverse, Slice,
    SpaceToBatch, SpaceToDepth, Split, Tile, Transpose,
)  # fmt: skip


@kernel("strided_copy.portable", *_MOVEMENTS)
class PortableStridedCopy(Kernel):
    """Loops around the longest runs that lie together; any core, any element type."""

    is_loops = True

    def copies(self, site: Site) -> list[tuple[Copy, StridedCopy]]:
        """What is moved, and how."""
        return strided_copies(site)

    def accepts(self, site: Site, target: Target) -> bool:
        copies = [strided for _, strided in self.copies(site)]
        return bool(copies) and all(len(copy.loops) <= MAX_LOOPS for copy in copies)

    def cost(self, site: Site, target: Target) -> Cost:
        copies = [strided for _, strided in self.copies(site)]
        cycles = sum(copy.cycles for copy in copies)
        if _fill(site) is not None:
            cycles += 0.5 * sum(type_.size_bytes for type_ in site.signature.outputs)
        tables = sum(20 + 12 * len(copy.loops) for copy in copies)
        return Cost(cycles, 360, tables, code_key="strided_copy")

    def generate(self, site: Site, target: Target) -> KernelCode:
        copies = self.copies(site)
        single = len(copies) == 1 and len(site.signature.outputs) == 1
        if single and _fill(site) is None:
            return _one_copy(*copies[0])
        return _several_copies(site, copies)


@kernel("strided_copy.longest", *_MOVEMENTS)
class LongestStridedCopy(PortableStridedCopy):
    """The same with the longest loop innermost, where another is; not for open sizes, of which
    another loop may be the longest.
    """

    def copies(self, site: Site) -> list[tuple[Copy, StridedCopy]]:
        return [(copy, longest_innermost(strided)) for copy, strided in strided_copies(site)]

    def accepts(self, site: Site, target: Target) -> bool:
        return super().accepts(site, target) and self.copies(site) != strided_copies(site)


def _fill(site: Site) -> int | float | None:
    op = site.node.op
    assert isinstance(op, Movement)
    return op.fill(site.signature)


def _one_copy(copy: Copy, strided: StridedCopy) -> KernelCode:
    assert copy.operand is not None
    loops = _loops_table(strided.loops) if strided.loops else None
    fields = (
        Field("unit_bytes", strided.unit_bytes),
        Field("in_first", strided.in_first),
        Field("out_first", strided.out_first),
        Field("loop_count", len(strided.loops)),
        Field("loops", loops),
    )
    return KernelCode(
        function="glowmcu_strided_copy_bytes",
        operands=(copy.operand,),
        header="glowmcu_strided_copy.h",
        parameters=Parameters("glowmcu_strided_copy", fields),
    )


def _loops_table(loops: Sequence[tuple[int, int, int]]) -> ConstantArray:
    return ConstantArray("loops", np.array(loops, np.int32), "count, in step, out step")


def _several_copies(site: Site, copies: Sequence[tuple[Copy, StridedCopy]]) -> KernelCode:
    signature = site.signature
    operands = tuple(sorted({copy.operand for copy, _ in copies if copy.operand is not None}))
    loops: list[tuple[int, int, int]] = []
    views: list[dict[str, object]] = []
    for copy, strided in copies:
        target = f"out{copy.result}"
        source = target if copy.operand is None else f"in{copy.operand}"
        views.append(
            {
                "unit_bytes": strided.unit_bytes,
                "operand": copy.operand,
                "loop_count": len(strided.loops),
                "first_loop": 3 * len(loops),
                "source": _place(source, strided.in_first, "const uint8_t *"),
                "target": _place(target, strided.out_first, "uint8_t *"),
            }
        )
        loops.extend(strided.loops)
    view = {
        "parameters": _parameters(signature, operands),
        "loops": _loops_table(loops) if loops else "NULL",
        "copies": views,
        "empty": [f"out{i}" for i, type_ in enumerate(signature.outputs) if not type_.size_bytes],
        "fills": _fills(site),
    }
    return KernelCode(
        function="",
        operands=operands,
        header="glowmcu_strided_copy.h",
        template="portable/copies.c.j2",
        view=view,
    )


def _place(pointer: str, first_byte: int, bytes_type: str) -> str:
    return f"({bytes_type}){pointer} + {first_byte}" if first_byte else pointer


def _parameters(signature: Signature, operands: Sequence[int]) -> list[str]:
    inputs = [f"const {signature.inputs[i].element.c_name} *in{i}" for i in operands]
    return inputs + [f"{type_.element.c_name} *out{i}" for i, type_ in enumerate(signature.outputs)]


def _fills(site: Site) -> list[dict[str, object]]:
    value = _fill(site)
    if value is None:
        return []
    return [_fill_view(i, type_, value) for i, type_ in enumerate(site.signature.outputs)]


def _fill_view(result: int, type_: TensorType, value: int | float) -> dict[str, object]:
    """memset where all bytes of the value are the same (always, for one-byte elements)."""
    stored = {int(byte) for byte in np.array(value, type_.element.numpy).tobytes()}
    return {
        "target": f"out{result}",
        "byte": stored.pop() if len(stored) == 1 else None,
        "bytes": type_.size_bytes,
        "elements": type_.element_count,
        "value": np.array(value, type_.element.numpy).item(),
    }
