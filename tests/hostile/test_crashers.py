"""Inputs that fuzzing found (`benchmarks/fuzz.md`): each ended in a traceback once.

The bytes lie in crashers/, named after the target that reads them and what escaped from it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPO

FOLDER = Path(__file__).with_name("crashers")
#: One sentence why, for each file.
CRASHERS = {
    "board-recursion_error": "Arrays in arrays are read by recursion in tomllib.",
    "manifest-recursion_error": "Arrays in arrays are read by recursion in json.",
    "profile-recursion_error": "The same in a profile.",
    "samples-bad_zip_file": "numpy takes what begins with PK for an archive, whatever its name.",
    "samples-decompression_bomb_error": "Pillow refuses large images by an exception of its own.",
    "samples-error": "zlib.error is no ValueError.",
    "samples-lzmaerror": "LZMAError is no ValueError.",
    "samples-memory_error": "numpy allocates what a header claims, before it looks for data.",
    "samples-memory_error_2": "The same inside an archive.",
    "samples-not_implemented_error": "An archive of a compression that zipfile does not know.",
    "samples-not_implemented_error_2": "An archive that needs a version of the format to come.",
    "samples-not_implemented_error_3": "The same, called .npy.",
    "samples-overflow_error": "A shape whose product fits no 64 bits.",
    "samples-overflow_error_2": "The same inside an archive.",
    "samples-runtime_error": "A member that claims to be encrypted.",
    "samples-syntax_error": "A dtype that numpy's own parser calls a syntax error.",
    "samples-syntax_error_2": "The same inside an archive.",
    "samples-token_error": "A header that ends within brackets: the tokenizer raises.",
    "samples-token_error_2": "The same in another version of the format.",
    "samples-token_error_3": "The same inside an archive.",
    "samples-type_error": "A header that is a set of dictionaries.",
    "samples-type_error_2": "A shape with a size that is no number.",
    "settings-recursion_error": "Arrays in arrays in settings of images.",
    "settings-type_error": "An integer beyond 64 bits is a number to TOML and none to numpy.",
    "tflite-assertion_error": "A result with a scale a channel reached code that expects one.",
    "tosa-index_error": "An attribute of a dialect without a word inside.",
}


#: Targets that have seeds, of which so many are tried.
SEEDED = ("tflite", "onnx", "samples", "profile", "board", "manifest", "ir")
MOST_SEEDS = 12


def verdicts(target: str, *files: Path) -> dict[str, dict[str, str]]:
    """What becomes of files within 2 GB and 20 s, in a process of their own."""
    command = [sys.executable, "-m", "benchmarks.fuzz_judge", target, *map(str, files)]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == len(files), done.stderr[-2000:]
    return {Path(row["file"]).stem: row for row in rows}


@pytest.mark.parametrize("target", sorted({*SEEDED, *(n.partition("-")[0] for n in CRASHERS)}))
def test_seeds_are_accepted_and_what_once_escaped_is_refused(target: str, tmp_path: Path) -> None:
    """Fuzzing that begins from nothing but refusals would not come far."""
    from benchmarks.fuzz_targets import TARGETS

    files = sorted(FOLDER.glob(f"{target}-*.bin"))
    assert {file.stem for file in files} == {n for n in CRASHERS if n.startswith(f"{target}-")}
    seeds = TARGETS[target].seeds() if target in SEEDED else ()
    for number, seed in zip(range(MOST_SEEDS), seeds, strict=False):
        files.append(tmp_path / f"seed{number}")
        files[-1].write_bytes(seed)
    found = verdicts(target, *files)
    for name, row in found.items():
        if name in CRASHERS:
            assert row["what"].startswith("GM"), f"{name} ({CRASHERS[name]}): {row['trace']}"
        else:
            assert row["what"] != "escaped", f"{name}: {row['trace']}"
    assert ("accepted" in {row["what"] for row in found.values()}) == (target in SEEDED)


def test_the_judge_sees_what_escapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A negative control: an exception, and more memory than is allowed."""
    from benchmarks.fuzz_judge import judge
    from benchmarks.fuzz_targets import Target

    def run(data: bytes) -> None:
        raise KeyError("lost")

    found = judge(Target("broken", run, lambda: iter(()), "text"), b"")
    assert (found.what, found.kind.partition(" ")[0]) == ("escaped", "KeyError")
