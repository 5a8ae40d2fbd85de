"""Boards: what a program has to fit into, read from one TOML file each.

`find_board("nrf52")` for a name or a path, `board_names()` for the list, `check_capacity(...)` to
ask whether a bundle's flash and RAM fit. The file format is described in `boards/README.md`.
"""

from glowmcu.board.capacity import CapacityCheck, RegionUse, check_capacity, does_not_fit
from glowmcu.board.catalogue import board_names, find_board
from glowmcu.board.constant_waits import constant_waits
from glowmcu.board.memory_timing import CacheGeometry, MemoryTiming, SlowMemory
from glowmcu.board.model import (
    Board,
    FlashTarget,
    Placement,
    Power,
    QemuTarget,
    Region,
    RegisterWrite,
    RenodeTarget,
    SecondCore,
    SerialTarget,
)
from glowmcu.board.placing import PlacementRequest, Places, place
from glowmcu.board.placing_auto import has_quick_regions
from glowmcu.board.read_board import read_board

__all__ = [
    "Board",
    "CacheGeometry",
    "CapacityCheck",
    "FlashTarget",
    "MemoryTiming",
    "Placement",
    "PlacementRequest",
    "Places",
    "Power",
    "QemuTarget",
    "Region",
    "RegionUse",
    "RegisterWrite",
    "RenodeTarget",
    "SecondCore",
    "SerialTarget",
    "SlowMemory",
    "board_names",
    "check_capacity",
    "constant_waits",
    "does_not_fit",
    "find_board",
    "has_quick_regions",
    "place",
    "read_board",
]
