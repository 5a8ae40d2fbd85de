"""Write a program to a board's flash, by whichever of the usual tools is installed."""

from glowmcu.verify.flash.flashing import Flashing, build_test_firmware, flashing, write_to_board
from glowmcu.verify.flash.tools import TOOL_NAMES, found_tools, missing

__all__ = [
    "TOOL_NAMES",
    "Flashing",
    "build_test_firmware",
    "flashing",
    "found_tools",
    "missing",
    "write_to_board",
]
