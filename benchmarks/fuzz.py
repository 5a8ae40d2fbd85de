"""Hostile files by the million: nothing but a refusal may leave a reader, in 2 GB and 20 s each.

    python -m benchmarks.fuzz --target onnx --minutes 10      # or all, in turns
    python -m benchmarks.fuzz --replay                        # what was found, is it mended?
    python -m benchmarks.fuzz --page

Guided by coverage (atheris: pip install "glowmcu[fuzz]"), from seeds made of the tests' models; the
corpus stays in build/fuzz, so that a run goes on where the last one ended. fuzz.json counts what
ran; fuzz.md shows it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.fuzz_page import page
from benchmarks.fuzz_targets import REPO, TARGETS
from benchmarks.ledger import read_ledger, write_ledger

LEDGER = REPO / "benchmarks" / "fuzz.json"
WORK = REPO / "build" / "fuzz"
_TURN_S = 120
_GRACE_S = 180
_COVERAGE = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)")


def stored() -> dict[str, Any]:
    return read_ledger(LEDGER, {"targets": {}, "findings": []})


def save(body: dict[str, Any]) -> None:
    write_ledger(LEDGER, body, page(body))


def one_turn(name: str, seconds: int) -> dict[str, Any]:
    """A worker for so long; what it did. One that dies leaves its last input as a finding."""
    folder = WORK / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "state.json").unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks.fuzz_worker", name, str(folder), str(seconds)]
    with (folder / "log").open("w", encoding="utf-8") as log, _scratch() as scratch:
        environment = {**os.environ, "TMPDIR": scratch}
        done = subprocess.Popen(command, cwd=REPO, stderr=log, stdout=log, env=environment)
        try:
            code = done.wait(seconds + _GRACE_S)
        except subprocess.TimeoutExpired:
            done.kill()
            code = done.wait()
    log_text = (folder / "log").read_text(encoding="utf-8", errors="replace")
    if code != 0:
        _keep_last_input(folder, f"the process ended with {code}\n{log_text[-4000:]}")
    file = folder / "state.json"
    body: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    reached = _COVERAGE.findall(log_text)
    if reached:
        body["coverage"], body["features"], body["corpus"] = map(int, reached[-1])
    return body


def _scratch() -> tempfile.TemporaryDirectory[str]:
    """For a worker's files, in memory where there is such a place."""
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() else None
    return tempfile.TemporaryDirectory(prefix="glowmcu-fuzz-", dir=place)


def _keep_last_input(folder: Path, text: str) -> None:
    raw = (folder / "now").read_bytes() if (folder / "now").is_file() else bytes(8)
    data = raw[8 : 8 + int.from_bytes(raw[:8], "little")]
    name = f"died-{hashlib.sha256(data).hexdigest()[:12]}"
    (folder / "findings").mkdir(exist_ok=True)
    (folder / "findings" / f"{name}.bin").write_bytes(data)
    (folder / "findings" / f"{name}.txt").write_text(text, encoding="utf-8")


def add(entry: dict[str, Any], turn: dict[str, Any]) -> dict[str, Any]:
    """Counts add up; of coverage, time and memory the greatest is kept."""
    verdicts = Counter(entry.get("verdicts", {})) + Counter(turn.get("verdicts", {}))
    made: dict[str, Any] = {"verdicts": dict(sorted(verdicts.items()))}
    for key in ("inputs", "cpu_s"):
        made[key] = round(entry.get(key, 0) + turn.get(key, 0), 1)
    for key in ("coverage", "features", "corpus", "slowest_s", "peak_bytes"):
        made[key] = max(entry.get(key, 0), turn.get(key, 0))
    return made


def replay() -> list[dict[str, Any]]:
    """Every finding again: `open` where it still escapes."""
    rows = []
    for name in TARGETS:
        files = sorted((WORK / name / "findings").glob("*.bin"))
        known = {str(file): file for file in files}
        while known:  # one that ends the process is open; the others come in the next
            command = [sys.executable, "-m", "benchmarks.fuzz_judge", name, *known]
            done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)
            for line in done.stdout.splitlines():
                found = json.loads(line)
                rows.append(_row(name, known.pop(found["file"]), found["what"] == "escaped"))
            if known:
                rows.append(_row(name, known.pop(next(iter(known))), True))
    return rows


def _row(name: str, file: Path, is_open: bool) -> dict[str, Any]:
    text = file.with_suffix(".txt").read_text(encoding="utf-8", errors="replace")
    return {"target": name, "input": file.stem, "kind": text.splitlines()[0], "open": is_open}


def with_findings(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was found once stays listed, also where its input is kept no more."""
    rows = {(row["target"], row["input"]): row for row in (*old, *new)}
    return [rows[key] for key in sorted(rows)]


def fuzz(names: list[str], minutes: float) -> None:
    """Targets in turns, until the time is over; the ledger is written after each."""
    end = time.monotonic() + 60 * minutes
    turn = min(_TURN_S, max(int(60 * minutes / len(names)), 10))
    while time.monotonic() < end:
        for name in names:
            done = one_turn(name, turn)
            body = stored()
            body["targets"][name] = add(body["targets"].get(name, {}), done)
            save(body)
            print(f"{name}: {done.get('inputs', 0)} inputs", flush=True)


def main() -> None:
    """Exit code 1 where a finding is open."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="all", choices=["all", *TARGETS])
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.minutes:
        try:
            import atheris  # noqa: F401 - the worker needs it
        except ImportError:
            sys.exit('fuzzing needs atheris: pip install "glowmcu[fuzz]"')
        fuzz(list(TARGETS) if options.target == "all" else [options.target], options.minutes)
    body = stored()
    if options.minutes or options.replay:
        body["findings"] = with_findings(body["findings"], replay())
    save(body)
    still = [row for row in body["findings"] if row["open"]]
    for row in still:
        print(f"open: {row['target']} {row['input']}: {row['kind']}")
    sys.exit(1 if still else 0)


if __name__ == "__main__":
    main()
