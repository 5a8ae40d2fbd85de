"""What the firmware templates read: a bundle on a board, with the stack that is left for it."""

from __future__ import annotations

from dataclasses import dataclass

from glowmcu.board import Board, Placement
from glowmcu.cores import Core
from glowmcu.errors import ExitCode, error
from glowmcu.manifest import BufferEntry, Manifest, RowsEntry, TensorEntry

GUARD_BYTES = 64
STACK_MOST_BYTES = 32 * 1024
STACK_LEAST_BYTES = 1024
# Variables of the firmware and of the C library; the linker has the last word.
STATIC_BYTES = 1024
# TensorFlow joins the names of all that it fused: enough of one to find it again.
_NAME_LENGTH = 40


@dataclass(frozen=True)
class TensorView:
    """An input or output of the bundle: where in the arena, and what a comment says about it; a
    streamed input is nowhere in it.
    """

    offset: int | None
    bytes: int
    comment: str


@dataclass(frozen=True)
class LinkRegion:
    """A region for the linker, with all addresses up to the next region: see `image_fit`."""

    name: str
    origin: int
    size_bytes: int
    link_bytes: int


@dataclass(frozen=True)
class FirmwareView:
    """Everything the templates in `templates/firmware/` use."""

    name: str
    macro: str
    board: str
    is_riscv: bool
    has_fpu: bool
    has_fault_registers: bool
    arena_align: int
    guard_bytes: int
    input_bytes: int
    rows: RowsEntry | None
    inputs: tuple[TensorView, ...]
    outputs: tuple[TensorView, ...]
    regions: tuple[LinkRegion, ...]
    placement: Placement
    stack_bytes: int


def firmware_view(manifest: Manifest, board: Board, core: Core) -> FirmwareView:
    """View of a bundle in the memory of `board`. Raises GM401 when arena and stack don't fit."""
    assert board.placement is not None, "a firmware needs a board with a memory map"
    guard_bytes = max(GUARD_BYTES, manifest.arena_align)
    streamed = manifest.streamed_input
    rows = None if streamed is None else manifest.inputs[streamed].rows
    pushed_bytes = 0 if rows is None else rows.count * rows.bytes
    return FirmwareView(
        name=manifest.name,
        macro=manifest.name.upper(),
        board=board.title,
        is_riscv=core.is_riscv,
        has_fpu=core.has_fpu,
        has_fault_registers=core.architecture != "armv6s-m",
        arena_align=manifest.arena_align,
        guard_bytes=guard_bytes,
        input_bytes=sum(tensor.bytes for tensor in manifest.inputs),
        rows=rows,
        inputs=_tensors(manifest.inputs),
        outputs=_tensors(manifest.outputs),
        regions=_link_regions(board),
        placement=board.placement,
        stack_bytes=_stack_bytes(
            manifest, board, manifest.arena_bytes + 2 * guard_bytes, pushed_bytes
        ),
    )


def _link_regions(board: Board) -> tuple[LinkRegion, ...]:
    in_order = sorted(board.memory, key=lambda region: region.origin)
    ends = [region.origin for region in in_order[1:]] + [1 << 32]
    return tuple(
        LinkRegion(region.name, region.origin, region.size_bytes, end - region.origin)
        for region, end in zip(in_order, ends, strict=True)
    )


def _tensors(entries: tuple[TensorEntry, ...]) -> tuple[TensorView, ...]:
    return tuple(
        TensorView(entry.offset, entry.bytes, f"{entry.dtype}{list(entry.shape)}")
        for entry in entries
    )


def _stack_bytes(manifest: Manifest, board: Board, arena_bytes: int, pushed_bytes: int) -> int:
    """What the arena, and a whole input to push, leave of the RAM, within reason."""
    assert board.placement is not None
    arena = board.region(board.placement.arena)
    same = board.placement.arena == board.placement.data
    least = STACK_LEAST_BYTES + STATIC_BYTES + pushed_bytes if same else 0
    if arena_bytes + least > arena.size_bytes:
        raise error(
            "GM401",
            f"does not fit: {manifest.name} needs an arena of {manifest.arena_bytes} B, "
            f"{2 * STACK_LEAST_BYTES} B of stack and variables and two guards; that is "
            f"{arena_bytes + least - arena.size_bytes} B more than {board.name} has",
            f"region {arena.name!r} of {board.title}, {arena.size_bytes} B{_peak(manifest)}",
            "compile with --optimize ram, or run on a larger machine",
            ExitCode.DOES_NOT_FIT,
        )
    data = board.region(board.placement.data)
    left = data.size_bytes - STATIC_BYTES - pushed_bytes - (arena_bytes if same else 0)
    return min(STACK_MOST_BYTES, left) // 8 * 8


def _peak(manifest: Manifest) -> str:
    """The step with the most bytes alive, and what is alive then."""
    if not manifest.buffers:
        return ""

    def alive(step: int) -> list[BufferEntry]:
        return [b for b in manifest.buffers if b.first_step <= step <= b.last_step]

    steps = range(max(b.last_step for b in manifest.buffers) + 1)
    peak = max(steps, key=lambda step: sum(b.bytes for b in alive(step)))
    names = ", ".join(f"{b.name[:_NAME_LENGTH]} {b.bytes} B" for b in alive(peak))
    layer = next(
        (layer.name[:_NAME_LENGTH] for layer in manifest.layers if layer.index == peak), ""
    )
    return f'; the peak is step {peak} "{layer}" ({names})'
