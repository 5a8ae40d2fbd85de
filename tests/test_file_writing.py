"""Files that commands write: whole or not at all, and never the model that they read."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.file_writing import write_file
from tests.bundle.folders import FAULTS, Killed, contents

DIGITS = Path(__file__).parents[1] / "examples" / "digits" / "digits_int8.tflite"


def test_a_file_and_its_folder_are_made_with_the_users_rights(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.json"
    write_file(path, b"old")
    reference = tmp_path / "reference"
    reference.write_bytes(b"")
    assert path.stat().st_mode == reference.stat().st_mode
    path.chmod(0o640)
    write_file(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)
    assert [entry.name for entry in path.parent.iterdir()] == ["b.json"]


@pytest.mark.parametrize("fault", [OSError, KeyboardInterrupt, Killed])
@pytest.mark.parametrize("turn", range(4))
def test_what_was_there_stays_until_all_is_written(
    turn: int, fault: type[BaseException], tmp_path: Path
) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"old")
    act = FAULTS.killed_at(turn) if fault is Killed else FAULTS.raised_at(turn, fault)
    with FAULTS(act):
        try:
            write_file(path, b"new")
        except fault:
            assert path.read_bytes() in (b"old", b"new")
            done = False
        else:
            done = True
    assert path.read_bytes() == b"new" or not done


def test_links_and_pipes_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
    os.mkfifo(tmp_path / "pipe")
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write_file(tmp_path / "pipe", b"through")
    reader.join()
    assert heard == [b"through"]
    write_file(Path(os.devnull), b"nothing")
    assert Path(os.devnull).is_char_device()


_LIMITED = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from glowmcu.file_writing import write_file
try:
    write_file(Path(sys.argv[1]), b"x" * 5000)
except OSError:
    print("full")
"""


def test_a_write_that_stops_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"old")
    run = [sys.executable, "-c", _LIMITED, str(tmp_path / "x")]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.stdout == "full\n", done.stderr
    assert contents(tmp_path) == {"x": "old"}


def _profile(model: Path) -> None:
    glowmcu.profile(model, [np.zeros((1, 8, 8, 1), np.float32)], output=model)


@pytest.mark.parametrize(
    "command",
    [
        _profile,
        lambda model: glowmcu.export(model, model.parent / ".." / model.parent.name / model.name),
        lambda model: glowmcu.tune(model, [], output=model),
        lambda model: glowmcu.tune_kernels(model, output=model),
    ],
    ids=["profile", "export", "tune", "tune kernels"],
)
def test_the_model_is_never_the_output(command: Callable[[Path], None], tmp_path: Path) -> None:
    model = tmp_path / "m.tflite"
    model.write_bytes(DIGITS.read_bytes())
    with pytest.raises(GlowmcuError) as caught:
        command(model)
    assert caught.value.code == "GM525"
    assert model.read_bytes() == DIGITS.read_bytes()
