"""The same bytes whatever the machine, the day, the folder, the locale or the hash seed."""

from __future__ import annotations

import getpass
import hashlib
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bundle.conftest import BundleOf
from tests.bundle.models import BUILT, model_bytes
from tests.conftest import REPO

CODE = "import sys, glowmcu; glowmcu.compile(sys.argv[1], board='nrf52', output=sys.argv[2])"
SURROUNDINGS = {
    "as it is": {},
    "hash seed 0": {"PYTHONHASHSEED": "0"},
    "hash seed 4242": {"PYTHONHASHSEED": "4242"},
    "another time zone": {"TZ": "Pacific/Kiritimati", "SOURCE_DATE_EPOCH": "1"},
    "another locale": {"LC_ALL": "tr_TR.UTF-8", "LANG": "de_DE.UTF-8"},
    "plain ASCII": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    "optimized Python": {"PYTHONOPTIMIZE": "1"},
}


def digest(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def compile_in(cwd: Path, model: str, output: str, surroundings: dict[str, str]) -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPO), **surroundings}
    subprocess.run(
        [sys.executable, "-c", CODE, model, output], cwd=cwd, env=environment, check=True
    )


def test_a_bundle_is_the_same_bytes_everywhere(tmp_path: Path) -> None:
    digests = {}
    for number, (title, surroundings) in enumerate(SURROUNDINGS.items()):
        cwd = tmp_path / f"a folder {number} with späces"
        cwd.mkdir()
        (cwd / "net.tflite").write_bytes(model_bytes("two_in_two_out"))
        compile_in(cwd, "net.tflite", "out", surroundings)
        digests[title] = digest(cwd / "out")
    reference = digests["as it is"]
    assert len(reference) >= 10
    assert all(found == reference for found in digests.values()), [
        (title, file)
        for title, found in digests.items()
        for file in reference
        if found.get(file) != reference[file]
    ]


@pytest.mark.parametrize("elements", ["int8", "float"])
def test_absolute_and_relative_paths_give_the_same_bytes(elements: str, tmp_path: Path) -> None:
    """Of a float model a note has a command with the model's name."""
    data = (REPO / f"examples/digits/digits_{elements}.tflite").read_bytes()
    (tmp_path / "net.tflite").write_bytes(data)
    (tmp_path / "elsewhere").mkdir()
    compile_in(tmp_path, "net.tflite", "one", {})
    place = tmp_path / "elsewhere"
    compile_in(place, str(tmp_path / "net.tflite"), str(tmp_path / "two"), {})
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


@pytest.mark.parametrize("name", BUILT)
def test_no_file_tells_of_the_machine_or_the_day(name: str, bundle_of: BundleOf) -> None:
    bundle = bundle_of(name)
    secrets = [str(REPO), str(bundle.parent), str(Path.home()), "/tmp/", socket.gethostname()]
    user = getpass.getuser()
    for file in bundle.rglob("*"):
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            found = [secret for secret in secrets if len(secret) > 2 and secret in text]
            assert not found, f"{file.name}: {found}"
            assert not re.search(rf"\b(user|by|author)\W+{re.escape(user)}\b", text), file.name
            assert not re.search(r"\b20[2-9]\d-[01]\d-[0-3]\d\b|\b\d\d:\d\d:\d\d\b", text), (
                file.name
            )
