"""Instruction IR: a list of instructions on buffers, and where each buffer lies.

A buffer is a tensor's place in memory. `View` makes a buffer that is part of another one (a
reshape, a slice of a concatenation); `Run` calls a kernel; `Alloc` and `Dealloc` bound a buffer's
life. After planning every arena buffer has an offset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from glowmcu.ir.graph import Node
from glowmcu.ir.kernel_code import Overlap
from glowmcu.ir.operation import Array
from glowmcu.ir.types import TensorType

#: Every root buffer starts on a multiple of this, so that kernels may load words.
BUFFER_ALIGN = 4
#: What the caller's arena must be aligned to: enough for int64 and for Helium loads.
ARENA_ALIGN = 16


def aligned(size_bytes: int, align: int = BUFFER_ALIGN) -> int:
    """The next multiple of `align`."""
    return -(-size_bytes // align) * align


@dataclass(frozen=True, eq=False)
class Buffer:
    """A tensor in memory. `data` is set for constants, which live in flash, not in the arena."""

    name: str
    type: TensorType
    data: Array | None = None

    @property
    def size_bytes(self) -> int:
        return self.type.size_bytes

    @property
    def align(self) -> int:
        """What the offset of a root buffer must be a multiple of."""
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


@dataclass(frozen=True, eq=False)
class View:
    """`buffer` is `size_bytes` of `base` from `offset_bytes` on: no code, no memory of its own."""

    buffer: Buffer
    base: Buffer
    offset_bytes: int = 0
    role: ViewRole = ViewRole.SLICE


@dataclass(frozen=True, eq=False)
class Run:
    """One kernel call: reads `inputs` (@in), writes `outputs` (@out), uses `scratch` (@inout).

    `positions[i]` is the operand of `node` that `inputs[i]` holds; the others are the kernel's own
    constants. Pointers are multiples of `operand_align` bytes and of their element's size.
    `overlaps` (by position): operands with which the first result may share bytes.
    """

    node: Node
    kernel: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    scratch: Buffer | None = None
    positions: tuple[int, ...] = ()
    operand_align: int = 1
    overlaps: Mapping[int, Overlap] = field(default_factory=dict)

    @property
    def operands(self) -> tuple[Buffer, ...]:
        extra = () if self.scratch is None else (self.scratch,)
        return (*self.inputs, *self.outputs, *extra)


Instruction = Alloc | Dealloc | View | Run


@dataclass(frozen=True)
class Life:
    """Steps from the one that first writes a buffer to the last that touches it, both included.

    Step -1 is before the first `Run` (the application writes inputs), `run_count` after the last.
    """

    first: int
    last: int

    def overlaps(self, other: Life) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, eq=False)
class Program:
    """Instructions in order. `offsets` maps root buffers (no views) to bytes once planned."""

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    instructions: tuple[Instruction, ...]
    offsets: Mapping[Buffer, int] = field(default_factory=dict)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The kernel calls; a step's number is its index here."""
        return tuple(item for item in self.instructions if isinstance(item, Run))

    @cached_property
    def views(self) -> dict[Buffer, View]:
        """View buffers to what they view."""
        return {item.buffer: item for item in self.instructions if isinstance(item, View)}

    def root(self, buffer: Buffer) -> tuple[Buffer, int]:
        """The buffer that owns the memory, and the byte offset within it."""
        return self._roots.get(buffer, (buffer, 0))

    @cached_property
    def _roots(self) -> dict[Buffer, tuple[Buffer, int]]:
        found: dict[Buffer, tuple[Buffer, int]] = {}
        for first in self.views:
            chain, buffer = list[View](), first
            while buffer in self.views and buffer not in found:
                chain.append(self.views[buffer])
                assert len(chain) <= len(self.views), f"view {first.name!r} is part of itself"
                buffer = self.views[buffer].base
            root, offset = found.get(buffer, (buffer, 0))
            for view in reversed(chain):
                offset += view.offset_bytes
                found[view.buffer] = root, offset
        return found

    def offset(self, buffer: Buffer) -> int:
        """Arena offset of any buffer, views included."""
        root, inner = self.root(buffer)
        return self.offsets[root] + inner

    def span(self, buffer: Buffer) -> tuple[Buffer, int, int]:
        """Root buffer, first byte in it and the byte after the last."""
        root, start = self.root(buffer)
        return root, start, start + buffer.size_bytes

    @cached_property
    def lives(self) -> dict[Buffer, Life]:
        """Life of every root buffer in the arena, in order of first use."""
        touched: dict[Buffer, list[int]] = {}
        for buffer in self.inputs:
            touched.setdefault(self.root(buffer)[0], []).append(-1)
        for step, run in enumerate(self.runs):
            for buffer in run.operands:
                touched.setdefault(self.root(buffer)[0], []).append(step)
        for buffer in self.outputs:
            touched.setdefault(self.root(buffer)[0], []).append(len(self.runs))
        return {
            buffer: Life(min(steps), max(steps))
            for buffer, steps in touched.items()
            if buffer.data is None
        }

    def with_instructions(self, instructions: Sequence[Instruction]) -> Program:
        """The same program with other instructions and no offsets."""
        return replace(self, instructions=tuple(instructions), offsets={})

    def with_offsets(self, offsets: Mapping[Buffer, int]) -> Program:
        """The same program with a place for each root buffer."""
        return replace(self, offsets=dict(offsets))
