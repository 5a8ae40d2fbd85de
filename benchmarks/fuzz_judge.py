"""One input through one target: accepted, refused by a code, or escaped, within 2 GB and 20 s.

    python -m benchmarks.fuzz_judge TARGET FILE...

prints a JSON line for each file. The kernel limits memory, since a hostile file is at its worst
where Python never gets the turn to say so; time is the processor's, since computers are busy.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "1"  # every thread of a BLAS reserves address space

from glowmcu.errors import GlowmcuError  # noqa: E402 - after the threads

if TYPE_CHECKING:
    from benchmarks.fuzz_targets import Target

MEMORY_BYTES = 2 << 30
SECONDS_EACH = 20


@dataclass(frozen=True)
class Verdict:
    """`what` is accepted, escaped, or the code of the refusal; `kind` and `trace` say what
    escaped and where.
    """

    what: str
    seconds: float
    kind: str = ""
    trace: str = ""


class TooSlow(BaseException):
    """Not an Exception, so that no handler of the code under test takes it for its own."""


def _too_slow(signal_number: int, frame: FrameType | None) -> None:
    raise TooSlow


def limit_process() -> None:
    """No more memory than an input may take, and a way to end what takes too long."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGPROF, _too_slow)


def judge(target: Target, data: bytes, seconds: float = SECONDS_EACH) -> Verdict:
    """What becomes of one input; `limit_process` comes first. 0 seconds are no limit."""
    begin = time.process_time()
    what, kind, trace = "accepted", "", ""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        target.run(data)
    except GlowmcuError as cause:
        what = cause.code
    except BaseException as cause:  # noqa: BLE001 - what escapes is what we look for
        what, kind = "escaped", _kind(cause)
        trace = "".join(traceback.format_exception(cause, limit=-8))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return Verdict(what, time.process_time() - begin, kind, trace)


def _kind(cause: BaseException) -> str:
    """The exception and the innermost function of ours, which is what one cause has in common."""
    frames = [f for f in traceback.extract_tb(cause.__traceback__) if "/glowmcu/" in f.filename]
    if not frames:
        return type(cause).__name__
    file = frames[-1].filename.rpartition("/glowmcu/")[2]
    return f"{type(cause).__name__} in {file}:{frames[-1].name}"


def main(name: str, files: list[str]) -> None:
    from benchmarks.fuzz_targets import TARGETS

    limit_process()
    for file in files:
        found = judge(TARGETS[name], Path(file).read_bytes())
        print(json.dumps({"file": file, **vars(found)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
