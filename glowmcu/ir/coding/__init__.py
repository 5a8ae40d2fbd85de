"""Arrays of constants in fewer bytes, and back: what flash holds, and what C decodes to RAM."""

from glowmcu.ir.coding.coded import Coded, decoded, encoded

__all__ = ["Coded", "decoded", "encoded"]
