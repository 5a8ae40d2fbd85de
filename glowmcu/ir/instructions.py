"""The instructions of a program and the buffers that they work on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from glowmcu.ir.division import Division
from glowmcu.ir.graph import Node
from glowmcu.ir.kernel_code import Overlap, RowSupport
from glowmcu.ir.operation import Array
from glowmcu.ir.types import TensorType
from glowmcu.lazy_dataclass import dataclass

#: Every root buffer starts on a multiple of this, so that kernels may load words.
BUFFER_ALIGN = 4
#: Where a structure that holds pointers may start, on cores and on the host.
POINTER_ALIGN = 8
#: Alignment of the caller's arena in bytes: enough for int64 and for Helium loads.
ARENA_ALIGN = 16


def aligned(size_bytes: int, align: int = BUFFER_ALIGN) -> int:
    """The next multiple of `align`."""
    return -(-size_bytes // align) * align


@dataclass(frozen=True, eq=False)
class Buffer:
    """A tensor in memory. `data` is set for constants, which live in flash, not in the arena.

    `external`: a model input that stays in memory of the application's, if it is only read.
    """

    name: str
    type: TensorType
    data: Array | None = None
    external: bool = False

    @property
    def in_arena(self) -> bool:
        """Whether the arena has a place for it; in other memory nothing may be written."""
        return self.data is None and not self.external

    @property
    def size_bytes(self) -> int:
        return self.type.size_bytes

    @property
    def align(self) -> int:
        """Bytes that the offset of a root buffer is a multiple of."""
        return max(BUFFER_ALIGN, self.type.element.size_bytes)


@dataclass(frozen=True, eq=False)
class Alloc:
    """The buffer's life begins; its content is undefined."""

    buffer: Buffer


@dataclass(frozen=True, eq=False)
class Dealloc:
    """The buffer's life ends."""

    buffer: Buffer


class ViewRole(Enum):
    """Whose content the shared bytes hold."""

    #: The base is written first; the view reads its bytes (reshape, split, outer slice).
    SLICE = "slice"
    #: The view is written by its own producer and so becomes that part of the base (concatenation).
    PART = "part"
    #: The view is written by the run that reads the base for the last time (in place).
    OVERWRITE = "overwrite"
    #: A part whose rows are pieces of the base's rows: some of its columns.
    COLUMNS = "columns"


@dataclass(frozen=True, eq=False)
class View:
    """`buffer` is `size_bytes` of `base` from `offset_bytes` on: no code, no memory of its own.

    Columns lie apart: their rows are as far from each other as the base's.
    """

    buffer: Buffer
    base: Buffer
    offset_bytes: int = 0
    role: ViewRole = ViewRole.SLICE

    @property
    def row_pitch(self) -> int:
        """Bytes between the starts of rows; 0 if the view is one piece."""
        if self.role is not ViewRole.COLUMNS:
            return 0
        return self.base.size_bytes // self.base.type.shape[1]

    @property
    def end_bytes(self) -> int:
        """The byte of the base after the last."""
        if self.role is not ViewRole.COLUMNS:
            return self.offset_bytes + self.buffer.size_bytes
        rows = self.buffer.type.shape[1]
        row_bytes = self.buffer.size_bytes // rows
        return self.offset_bytes + (rows - 1) * self.row_pitch + row_bytes


@dataclass(frozen=True, eq=False)
class Run:
    """One kernel call: reads `inputs` (@in), writes `outputs` (@out), uses `scratch` (@inout).

    `positions[i]` is the operand of `node` that `inputs[i]` holds; the others are the kernel's own
    constants. Pointers are multiples of `operand_align` bytes and of their element's size.
    `overlaps` (by position): operands with which the first result may share bytes. `rows`: how it
    is called for a row at a time, if it can be. `division`: how two cores share it. `prefetches`:
    weights come into its scratch while the step before runs.
    """

    node: Node
    kernel: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    scratch: Buffer | None = None
    positions: tuple[int, ...] = ()
    operand_align: int = 1
    overlaps: Mapping[int, Overlap] = field(default_factory=dict)
    rows: RowSupport | None = None
    division: Division | None = None
    prefetches: bool = False

    @property
    def own_memory(self) -> tuple[Buffer, ...]:
        """Buffers that no other run reads or writes."""
        scratch = () if self.scratch is None else (self.scratch,)
        return scratch if self.division is None else (*scratch, *self.division.memory)

    @property
    def operands(self) -> tuple[Buffer, ...]:
        return (*self.inputs, *self.outputs, *self.own_memory)
