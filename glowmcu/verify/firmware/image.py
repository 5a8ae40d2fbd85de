"""How much of each memory region a linked image takes, read from its ELF program headers."""

from __future__ import annotations

import struct
from pathlib import Path

from glowmcu.board import Board, CapacityCheck, Region, RegionUse

_PT_LOAD = 1


def image_fit(elf: Path, board: Board) -> CapacityCheck:
    """Use of every region of `board` that the image touches.

    The linker script lets a region run on to the next one, so that an image that is too large
    still links and can say by how much.
    """
    used: dict[str, int] = {}
    for start, end in extents(elf.read_bytes()):
        region = _region_of(board, start)
        used[region.name] = max(used.get(region.name, 0), end - region.origin)
    return CapacityCheck(
        board,
        tuple(
            RegionUse("flash" if region.kind == "flash" else "RAM", region, used[region.name])
            for region in board.memory
            if region.name in used
        ),
    )


def extents(elf: bytes) -> list[tuple[int, int]]:
    """[start, end) of all memory that is loaded to or used at run time. ELF32, little-endian."""
    assert elf[:6] == b"\x7fELF\x01\x01"
    table, size, count = struct.unpack_from("<I10xHH", elf, 28)
    extents = []
    for index in range(count):
        kind, _, virtual, physical, in_file, in_memory = struct.unpack_from(
            "<6I", elf, table + index * size
        )
        if kind == _PT_LOAD and in_memory:
            extents.append((virtual, virtual + in_memory))
            if in_file:
                extents.append((physical, physical + in_file))
    return extents


def _region_of(board: Board, address: int) -> Region:
    below = [region for region in board.memory if region.origin <= address]
    assert below, f"the image uses 0x{address:08X}, below all regions of {board.name}"
    return max(below, key=lambda region: region.origin)
