"""How long a run on an emulated core may take, by the instructions it may execute at most.

A core that hangs (an instruction that this emulator does not know, a fault in a fault handler)
would otherwise be waited for as long as the slowest model needs. Both limits are generous: they
are there to end a run that will never end, not to judge one.
"""

from __future__ import annotations

from glowmcu.cores import core
from glowmcu.manifest import Manifest

#: Instructions for each multiply-accumulate, several times what the portable C takes; the second
#: is for cores whose float32 arithmetic is done by a library.
_PER_MAC, _PER_SOFT_FLOAT_MAC = 40, 400
#: For each byte of a tensor, which is filled, read, written and printed.
_PER_TENSOR_BYTE = 400
#: Start-up, and the loop of known length that shows whether instructions are counted.
_PER_RUN = 50_000_000
#: Instructions that Renode's cores execute in a second of the board's time, by default.
_PER_VIRTUAL_SECOND = 100_000_000
#: Instructions for each second of this computer's time, on a slow and busy one; and its start.
_PER_WALL_SECOND, _START_SECONDS = 2_000_000, 120


def most_instructions(manifest: Manifest, core_name: str, inferences: int) -> int:
    """Executed instructions that a working run of `inferences` stays well below."""
    per_mac = _PER_MAC if core(core_name).has_fpu else _PER_SOFT_FLOAT_MAC
    tensors = sum(buffer.bytes for buffer in manifest.buffers)
    each = per_mac * manifest.macs + _PER_TENSOR_BYTE * tensors
    return _PER_RUN + inferences * each


def virtual_seconds(instructions: int) -> int:
    """The board's time that `instructions` take in Renode, in seconds, rounded up."""
    return -(-instructions // _PER_VIRTUAL_SECOND) + 1


def wall_seconds(instructions: int) -> int:
    """This computer's time, start of the emulator included."""
    return _START_SECONDS + instructions // _PER_WALL_SECOND


def run_seconds(manifest: Manifest, core_name: str, inferences: int = 1) -> int:
    """This computer's time that a working run of `inferences` stays well below."""
    return wall_seconds(most_instructions(manifest, core_name, inferences))
