"""What the firmware templates read: a bundle on a board, with the stack that is left for it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from glowmcu.board import Board, Placement, Region, RegisterWrite
from glowmcu.cores import Core
from glowmcu.errors import ExitCode, error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import BufferEntry, Manifest, PlacementEntry, RowsEntry, TensorEntry
from glowmcu.verify.firmware.port import Port

GUARD_BYTES = 64
#: Of a size that each run is given, before its inputs.
SIZE_BYTES = 4
STACK_MOST_BYTES = 32 * 1024
STACK_LEAST_BYTES = 1024
# Variables of the firmware and of the C library; the linker has the last word.
STATIC_BYTES = 1024
# More of them where a computer asks: two frames and a line; and cycles of each layer.
_SERVING_BYTES, _PROFILE_BYTES = 768, 8
# TensorFlow joins the names of all that it fused: enough of one to find it again.
_NAME_LENGTH = 40


@dataclass(frozen=True)
class TensorView:
    """An input or output of the bundle: where in the arena, and what a comment says about it; a
    streamed input is nowhere in it, one that stays outside is the variable `symbol`.
    """

    offset: int | None
    bytes: int
    comment: str
    symbol: str
    align: int


@dataclass(frozen=True)
class LinkRegion:
    """A region for the linker, with all addresses up to the next region: see `image_fit`."""

    name: str
    origin: int
    size_bytes: int
    link_bytes: int


@dataclass(frozen=True)
class FirmwarePlaces:
    """What a bundle that was placed in regions brings along.

    `fragment` is its linker fragment, empty if it has none; `aliases` are regions that the
    machine lacks, each with one that stands in. `loads`: it has to be copied to RAM first.
    """

    arena_section: str
    fragment: str
    aliases: tuple[tuple[str, str], ...]
    loads: bool


@dataclass(frozen=True)
class SetupView:
    """A write to a register as C; `until` is empty if nothing is waited for."""

    register: str
    value: str
    until: str
    comment: str


@dataclass(frozen=True)
class ServingView:
    """Of a firmware that a computer asks: which bundle it holds, and whether layers are timed."""

    identity_bytes: tuple[str, ...]
    layers: bool
    setup: tuple[SetupView, ...]


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
    entry: str
    takes_size: bool
    reset: str
    gaps: tuple[tuple[int, int], ...]
    regions: tuple[LinkRegion, ...]
    placement: Placement
    stack_bytes: int
    places: FirmwarePlaces
    is_shipped: bool
    serial: ServingView | None

    @property
    def runs_selftest(self) -> bool:
        """Whether the bundle's self test is a part of it."""
        return self.is_shipped and self.serial is None


def firmware_view(
    manifest: Manifest,
    board: Board,
    core: Core,
    is_shipped: bool = False,
    port: Port | None = None,
) -> FirmwareView:
    """View of a bundle in the memory of `board`. Raises GM401 when arena and stack don't fit.

    A firmware that is shipped with its bundle runs the self test, too, and whoever builds it hears
    from the linker what does not fit: its regions end where the board's do.
    """
    assert board.placement is not None, "a firmware needs a board with a memory map"
    guard_bytes = max(GUARD_BYTES, manifest.arena_align)
    streamed = manifest.streamed_input
    rows = None if streamed is None else manifest.inputs[streamed].rows
    streamed_bytes = 0 if rows is None else rows.count * rows.bytes
    arena_bytes = manifest.arena_bytes + 2 * guard_bytes
    serial = None if port is None or not port.serves else _serving(manifest, port)
    more_bytes = streamed_bytes
    if serial is not None:
        more_bytes += _SERVING_BYTES + (_PROFILE_BYTES * len(manifest.layers) * serial.layers)
    return FirmwareView(
        name=manifest.name,
        macro=manifest.name.upper(),
        board=board.plain_title,
        is_riscv=core.is_riscv,
        has_fpu=core.has_fpu,
        has_fault_registers=core.architecture != "armv6s-m",
        arena_align=manifest.arena_align,
        guard_bytes=guard_bytes,
        input_bytes=max(1, sum(tensor.bytes for tensor in manifest.inputs))
        + (SIZE_BYTES if manifest.size is not None else 0),
        rows=rows,
        inputs=_tensors(manifest.inputs),
        outputs=_tensors(manifest.outputs),
        entry=manifest.entry_points[-1],
        takes_size=manifest.size is not None,
        reset=manifest.reset_function,
        gaps=_gaps(manifest),
        regions=_own_regions(board) if is_shipped else _link_regions(board),
        placement=board.placement,
        stack_bytes=_stack_bytes(manifest, board, arena_bytes, more_bytes, is_shipped),
        places=_places(manifest, board),
        is_shipped=is_shipped,
        serial=serial,
    )


def _serving(manifest: Manifest, port: Port) -> ServingView:
    return ServingView(
        tuple(f"0x{byte:02X}u" for byte in manifest.identity),
        bool(manifest.options.get("instrument")),
        tuple(_setup(write) for write in port.setup),
    )


def _setup(write: RegisterWrite) -> SetupView:
    kept = "0u" if write.clear == 0xFFFFFFFF else f"(*at & 0x{~write.clear & 0xFFFFFFFF:08X}u)"
    return SetupView(
        f"0x{write.register:08X}u",
        f"{kept} | 0x{write.set:08X}u",
        f"0x{write.until:08X}u" if write.until else "",
        re.sub(r"[^ -~]|[\\*]", "?", write.note),
    )


def _gaps(manifest: Manifest) -> tuple[tuple[int, int], ...]:
    """Parts of the arena that outlive no run: offsets and bytes."""
    found, end = [], 0
    for entry in sorted(manifest.states, key=lambda entry: entry.offset):
        found.append((end, entry.offset - end))
        end = entry.offset + entry.bytes
    found.append((end, manifest.arena_bytes - end))
    return tuple((offset, size) for offset, size in found if size > 0)


def _places(manifest: Manifest, board: Board) -> FirmwarePlaces:
    placed = [entry for entry in manifest.placement if entry.section]
    known = {region.name for region in board.memory}
    stand_ins: dict[str, str] = {}
    for entry in placed:
        stand_ins.setdefault(entry.region, _stand_in(board, placed, entry.region))
        if entry.image_region:
            assert board.placement is not None
            stand_ins.setdefault(entry.image_region, board.placement.constants)
    return FirmwarePlaces(
        next((entry.section for entry in placed if entry.what == "arena"), ".glowmcu_arena"),
        f"{manifest.name}.ld" if placed else "",
        tuple((name, other) for name, other in stand_ins.items() if name not in known),
        any(entry.image_region for entry in placed),
    )


def _stand_in(board: Board, placed: Sequence[PlacementEntry], region: str) -> str:
    """Flash for what stays where it is, RAM for what is written or copied."""
    assert board.placement is not None
    here = [entry for entry in placed if entry.region == region]
    is_ram = any(entry.image_region or entry.what == "arena" for entry in here)
    return board.placement.arena if is_ram else board.placement.constants


def _arena_region(manifest: Manifest, board: Board) -> Region:
    """Where the firmware's arena lies on this machine."""
    assert board.placement is not None
    placed = [entry for entry in manifest.placement if entry.section and entry.what == "arena"]
    names = [entry.region for entry in placed]
    found = [region for region in board.memory if region.name in names]
    return found[0] if found else board.region(board.placement.arena)


def _link_regions(board: Board) -> tuple[LinkRegion, ...]:
    in_order = sorted(board.memory, key=lambda region: region.origin)
    ends = [region.origin for region in in_order[1:]] + [1 << 32]
    return tuple(
        LinkRegion(region.name, region.origin, region.size_bytes, end - region.origin)
        for region, end in zip(in_order, ends, strict=True)
    )


def _own_regions(board: Board) -> tuple[LinkRegion, ...]:
    return tuple(
        LinkRegion(region.name, region.origin, region.size_bytes, region.size_bytes)
        for region in board.memory
    )


def _tensors(entries: tuple[TensorEntry, ...]) -> tuple[TensorView, ...]:
    return tuple(
        TensorView(
            entry.offset,
            entry.bytes,
            f"{entry.dtype}{list(entry.shape)}",
            f"input_{number}",
            entry.outside_align,
        )
        for number, entry in enumerate(entries)
    )


def _stack_bytes(
    manifest: Manifest, board: Board, arena_bytes: int, more_bytes: int, may_overflow: bool
) -> int:
    """What the arena, and `more_bytes` of the firmware's own, leave of the RAM, within reason."""
    assert board.placement is not None
    arena = _arena_region(manifest, board)
    same = arena.name == board.placement.data
    least = STACK_LEAST_BYTES + STATIC_BYTES + more_bytes if same else 0
    if arena_bytes + least > arena.size_bytes and not may_overflow:
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
    left = data.size_bytes - STATIC_BYTES - more_bytes - (arena_bytes if same else 0)
    left -= sum(entry.bytes + entry.outside_align for entry in manifest.external)
    return min(STACK_MOST_BYTES, max(STACK_LEAST_BYTES, left)) // 8 * 8


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
