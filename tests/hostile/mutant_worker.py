"""Compiles mutants of a model in a process of its own: python mutant_worker.py MODEL COUNT SEED

Up to the files' text, no C compiler. One JSON line a mutant: verdict (compiled, refused, escaped,
slow), code or exception, and how long it took. Memory and time are limited by the kernel, since a
hostile file is at its worst where Python never gets the turn to say so.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "1"  # every thread of a BLAS reserves address space
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from glowmcu.compilation import Options  # noqa: E402
from glowmcu.errors import GlowmcuError  # noqa: E402
from glowmcu.pipeline import compile_model  # noqa: E402
from tests.support.mutate import mutations  # noqa: E402

MEMORY_BYTES = 2 << 30
#: Of the processor; a computer with more to do takes longer.
SECONDS_EACH = 5
WALL_SECONDS_EACH = 60


class TooSlow(BaseException):
    """Not an Exception, so that no handler of the code under test takes it for its own."""


def _too_slow(signal_number: int, frame: FrameType | None) -> None:
    raise TooSlow


def judge(data: bytes, file_name: str) -> tuple[str, str]:
    """Verdict on one file, and its code or what escaped."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS_EACH)
    signal.alarm(WALL_SECONDS_EACH)
    try:
        compile_model(data, file_name, Options("mutant"))
        return "compiled", ""
    except GlowmcuError as cause:
        return "refused", cause.code
    except TooSlow:
        return "slow", traceback.format_exc(limit=-4)
    except BaseException:  # noqa: BLE001 - what escapes is what we look for
        return "escaped", traceback.format_exc(limit=-4)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def variants(model: Path, count: int, seed: int) -> Iterator[bytes]:
    """Mutants of a model file, as its format wants them made."""
    if model.suffix == ".onnx":
        from tests.support.mutate_onnx import onnx_mutations

        return onnx_mutations(model.read_bytes(), count, seed)
    return mutations(model.read_bytes(), count, seed)


def main(model: str, count: int, seed: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGALRM, _too_slow)
    signal.signal(signal.SIGPROF, _too_slow)
    for index, mutant in enumerate(variants(Path(model), count, seed)):
        start = time.monotonic()
        verdict, detail = judge(mutant, str(Path(model).with_stem("mutant")))
        row = {"index": index, "verdict": verdict, "detail": detail}
        print(json.dumps({**row, "seconds": time.monotonic() - start}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
