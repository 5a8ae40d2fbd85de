"""What memories and caches make a core wait, found by replaying what it fetched, read and wrote.

A core is a timing table, a board is a memory system: nothing here knows an instruction set.
"""

from glowmcu.verify.memory_system.layout import MemoryLayout, Span
from glowmcu.verify.memory_system.replayer import Replayer
from glowmcu.verify.memory_system.trace import Trace, Waits

__all__ = ["MemoryLayout", "Replayer", "Span", "Trace", "Waits"]
