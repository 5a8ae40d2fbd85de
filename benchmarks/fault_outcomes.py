"""What runs with one flipped bit each come to, wherever they ran."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.fault_machine import Flip
from glowmcu.verify.cortex_m.elf import Segment

#: What a run with a flipped bit comes to. `near` and `far` are wild writes, where a chip would have
#: RAM and elsewhere; `stopped` is a status that says that nothing was run.
RESULTS = ("same", "other", "stopped", "fault", "endless", "near", "far")
WILD = ("near", "far")


@dataclass(frozen=True)
class Outcome:
    """`noticed`: the check afterwards says that a constant is not what was compiled."""

    flip: Flip
    result: str
    noticed: bool
    detail: str = ""


def program_digest(segments: Iterable[Segment]) -> str:
    """Of what is loaded: code and constants, as the compiler made them."""
    digest = hashlib.sha256()
    for segment in segments:
        digest.update(segment.address.to_bytes(4, "little") + segment.data)
    return digest.hexdigest()[:12]
