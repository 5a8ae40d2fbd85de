"""One process of fuzzing by coverage: python -m benchmarks.fuzz_worker TARGET FOLDER SECONDS

In FOLDER: `corpus/` grows, `findings/` gets an input for each kind of escape, `state.json` says how
many inputs ran and what became of them, `now` holds the input that runs (a process that dies leaves
it behind).
"""

from __future__ import annotations

import atexit
import hashlib
import json
import mmap
import os
import random
import resource
import sys
import time
from collections import Counter
from itertools import islice
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["glowmcu"]):
    from benchmarks.fuzz_judge import judge, limit_process
    from benchmarks.fuzz_mutators import MUTATORS
    from benchmarks.fuzz_targets import TARGETS, Target

MAX_INPUT_BYTES = 32 << 10
_SAVE_EVERY_S = 5.0


class Runner:
    """Runs inputs, counts what became of them, keeps the smallest of each kind of escape."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target, self.folder = target, folder
        self.inputs, self.slowest_s = 0, 0.0
        self.verdicts: Counter[str] = Counter()
        self.found: dict[str, int] = {}
        self.saved = time.monotonic()
        (folder / "findings").mkdir(parents=True, exist_ok=True)
        (folder / "now").write_bytes(bytes(MAX_INPUT_BYTES + 8))
        self.now = mmap.mmap(os.open(folder / "now", os.O_RDWR), MAX_INPUT_BYTES + 8)

    def __call__(self, data: bytes) -> None:
        self.now[0:8] = len(data).to_bytes(8, "little")
        self.now[8 : 8 + len(data)] = data
        self.inputs += 1
        found = judge(self.target, data)
        self.verdicts[found.what] += 1
        if found.what == "escaped":
            self.keep(found.kind, found.trace, data)
        self.slowest_s = max(self.slowest_s, found.seconds)
        if time.monotonic() - self.saved > _SAVE_EVERY_S:
            self.save()

    def keep(self, kind: str, trace: str, data: bytes) -> None:
        if len(data) >= self.found.get(kind, MAX_INPUT_BYTES + 1):
            return
        self.found[kind] = len(data)
        name = hashlib.sha256(kind.encode()).hexdigest()[:12]
        (self.folder / "findings" / f"{name}.bin").write_bytes(data)
        (self.folder / "findings" / f"{name}.txt").write_text(f"{kind}\n{trace}", encoding="utf-8")

    def save(self) -> None:
        self.saved = time.monotonic()
        body = {
            "inputs": self.inputs,
            "verdicts": dict(sorted(self.verdicts.items())),
            "slowest_s": round(self.slowest_s, 2),
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "cpu_s": round(time.process_time(), 1),
        }
        draft = self.folder / "state.part"
        draft.write_text(json.dumps(body), encoding="utf-8")
        draft.replace(self.folder / "state.json")


def write_seeds(target: Target, corpus: Path) -> None:
    """The seeds of today beside what earlier runs found."""
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in target.seeds():
        if len(seed) <= MAX_INPUT_BYTES:
            (corpus / hashlib.sha256(seed).hexdigest()[:40]).write_bytes(seed)


def _warm_up(target: Target) -> None:
    """Imports that wait for the first use take seconds when they are instrumented."""
    for seed in islice(target.seeds(), 20):
        judge(target, seed, seconds=0)


def main(name: str, folder: Path, seconds: int) -> None:
    target = TARGETS[name]
    write_seeds(target, folder / "corpus")
    runner = Runner(target, folder)
    mutate = MUTATORS[target.form]

    def structured(data: bytes, max_size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.6:
            try:
                return mutate(data, max_size, rng)
            except Exception:  # noqa: BLE001 - what is too broken for it is mutated as bytes
                pass
        return bytes(atheris.Mutate(data, max_size))

    _warm_up(target)
    limit_process()
    # Signals and memory are the judge's business: libFuzzer's own would end the process.
    arguments = [
        "fuzz", str(folder / "corpus"), f"-max_total_time={seconds}", "-timeout=100000",
        "-reload=0", f"-max_len={MAX_INPUT_BYTES}", "-rss_limit_mb=0", "-malloc_limit_mb=0",
        "-print_final_stats=1", "-detect_leaks=0", f"-artifact_prefix={folder}/",
    ]  # fmt: skip
    atexit.register(runner.save)
    atheris.Setup(arguments, runner, custom_mutator=structured)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
