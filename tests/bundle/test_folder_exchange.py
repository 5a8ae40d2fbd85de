"""A bundle takes the place of an earlier one: whole or not at all, and never of anything else,
wherever the run is cut short.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glowmcu.emit_c.folder_exchange import recover
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.errors import GlowmcuError
from glowmcu.manifest import STAGING
from tests.bundle.folders import FAULTS, Killed, bundle, contents, put

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_int8.tflite"
OLD = bundle({"net.c": "old", "gone.h": "old", "README.md": "old", "selftest/t.c": "old",
              "zephyr/Kconfig": "old"})  # fmt: skip
NEW = bundle({"net.c": "new", "come.h": "new", "README.md": "new", "selftest/t.c": "new",
              "src/lib.rs": "new"})  # fmt: skip
FOREIGN = {".git/HEAD": "mine", "main.c": "mine", "build/net.o": "mine", "selftest/mine.c": "mine"}


def standing(folder: Path) -> dict[str, str]:
    """A folder as users have them: an old bundle, one file of it changed, others beside it."""
    put(folder, {**OLD, **FOREIGN, "selftest/t.c": "changed by me"})
    return contents(folder)


def replaced(before: Mapping[str, str]) -> dict[str, str]:
    kept = {name: text for name, text in before.items() if name not in OLD}
    return {**kept, **NEW, "selftest/t.c.orig": "changed by me"}


def turns() -> int:
    """How many operations on files a run takes."""
    with tempfile.TemporaryDirectory() as work:
        standing(Path(work))
        with FAULTS(lambda now, details: None):
            write_bundle(NEW, Path(work), "net")
        return FAULTS.seen


def test_there_are_operations_to_cut_short() -> None:
    assert 40 < turns() <= 60


@pytest.mark.parametrize("turn", range(60))
def test_a_killed_run_is_undone_by_the_next_or_was_done(turn: int, tmp_path: Path) -> None:
    before = standing(tmp_path)
    with FAULTS(FAULTS.killed_at(turn)), suppress(Killed):
        write_bundle(NEW, tmp_path, "net")
    left = contents(tmp_path)
    assert {name: left.get(name) for name in FOREIGN} == FOREIGN
    recover(tmp_path)
    assert contents(tmp_path) in (before, replaced(before))
    assert not (tmp_path / STAGING).exists()


@pytest.mark.parametrize("turn", range(60))
def test_the_run_after_a_killed_one_writes_its_bundle(turn: int, tmp_path: Path) -> None:
    before = standing(tmp_path)
    with FAULTS(FAULTS.killed_at(turn)), suppress(Killed):
        write_bundle(bundle({"net.c": "between", "some.h": "between"}), tmp_path, "net")
    told = write_bundle(NEW, tmp_path, "net")
    assert contents(tmp_path) == replaced(before)
    assert len(told) <= 1


@pytest.mark.parametrize("second", [0, 1, 4, 9])
@pytest.mark.parametrize("turn", range(14, 34))
def test_a_recovery_that_is_killed_is_done_by_the_next(
    turn: int, second: int, tmp_path: Path
) -> None:
    before = standing(tmp_path)
    for act in (FAULTS.killed_at(turn), FAULTS.killed_at(second)):
        with FAULTS(act), suppress(Killed):
            write_bundle(NEW, tmp_path, "net")
    recover(tmp_path)
    assert contents(tmp_path) in (before, replaced(before))


@pytest.mark.parametrize("turn", range(60))
def test_an_interrupt_leaves_the_old_or_the_new_bundle(turn: int, tmp_path: Path) -> None:
    before = standing(tmp_path)
    with FAULTS(FAULTS.raised_at(turn, KeyboardInterrupt)), suppress(KeyboardInterrupt):
        write_bundle(NEW, tmp_path, "net")
    left = contents(tmp_path)
    assert {name: text for name, text in left.items() if not name.startswith(STAGING)} in (
        before,
        replaced(before),
    )
    assert f"{STAGING}/journal.json" not in left


@pytest.mark.parametrize("turn", range(60))
def test_a_full_disk_leaves_the_old_bundle_or_does_not_matter(turn: int, tmp_path: Path) -> None:
    before, said = standing(tmp_path), None
    with FAULTS(FAULTS.raised_at(turn, OSError)):
        try:
            write_bundle(NEW, tmp_path, "net")
        except GlowmcuError as caught:
            said = caught
    recover(tmp_path)
    assert contents(tmp_path) == (before if said else replaced(before))
    if said:
        assert said.code == "GM504"
        assert "No space left on device" in str(said)


def test_what_can_neither_be_done_nor_undone_is_said_and_kept(tmp_path: Path) -> None:
    before = standing(tmp_path)
    for turn in range(15, 30):
        broken = FAULTS.raised_at(turn, OSError, times=100)
        with FAULTS(broken), pytest.raises(GlowmcuError) as caught:
            write_bundle(NEW, tmp_path, "net")
        assert caught.value.code in ("GM504", "GM524"), turn
        recover(tmp_path)
        assert contents(tmp_path) == before


_NAMES = ["net.c", "net.h", "a/b.c", "a/c/d.h", "zephyr/Kconfig", "README.md", "e.c"]
_OTHERS = [".git/config", "main.c", "a/mine.c", "build/x.o", "net.c~"]


@settings(max_examples=60)
@given(
    st.sets(st.sampled_from(_NAMES), min_size=1),
    st.sets(st.sampled_from(_NAMES), min_size=1),
    st.sets(st.sampled_from([*_OTHERS, *_NAMES])),
    st.sets(st.sampled_from(_NAMES)),
    st.sets(st.sampled_from(_NAMES)),
    st.integers(0, 45),
)
def test_any_tree_holds_the_old_or_the_new_bundle_and_all_that_is_the_users(
    old: set[str], new: set[str], others: set[str], changed: set[str], lost: set[str], turn: int
) -> None:
    foreign = dict.fromkeys(sorted(others - old), "mine")
    changed, lost = changed & old - lost, lost & old
    fresh = bundle(dict.fromkeys(sorted(new), "new"))
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        put(folder, {**bundle(dict.fromkeys(sorted(old), "old")), **foreign})
        put(folder, dict.fromkeys(changed, "changed"))
        for name in lost:
            (folder / name).unlink()
        before = contents(folder)
        with FAULTS(FAULTS.killed_at(turn)), suppress(Killed, GlowmcuError):
            write_bundle(fresh, folder, "net")
        after = {**foreign, **{f"{name}.orig": "changed" for name in changed}, **fresh}
        recover(folder)
        taken = foreign.keys() & fresh.keys()
        assert contents(folder) in ((before,) if taken else (before, after))
        if taken:
            with pytest.raises(GlowmcuError, match="GM522") as refused:
                write_bundle(fresh, folder, "net")
            assert any(name in str(refused.value) for name in taken)
            assert contents(folder) == before
        else:
            write_bundle(fresh, folder, "net")
            write_bundle(fresh, folder, "net")
            assert contents(folder) == after


def test_nothing_is_written_outside_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    standing(folder)

    def within(now: int, details: tuple[object, ...]) -> None:
        if Path(str(details[0])).is_absolute():  # others are entries of a folder that is open
            assert Path(str(details[0])).is_relative_to(folder), details

    with FAULTS(within):
        write_bundle(NEW, folder, "net")
    assert FAULTS.seen > 30


_CUT_SHORT = """
import os, signal, sys
from pathlib import Path
# A shell that runs the tests in the background has SIGINT ignored, by us and all below.
signal.signal(signal.SIGINT, signal.default_int_handler)
def hear(event, details):
    global left
    if event == "os.rename" and sys.argv[1] in str(details[1]):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), int(sys.argv[2]))
left = 6
sys.addaudithook(hear)
from glowmcu.cli.main import main
sys.exit(main(sys.argv[3:]))
"""


@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
def test_a_signal_between_renames_loses_nothing(
    sent: signal.Signals, status: int, tmp_path: Path
) -> None:
    folder, model = tmp_path / "out", str(DIGITS)
    compile_ = ["compile", model, "--name", "net", "-o", str(folder)]
    run = [sys.executable, "-c", _CUT_SHORT, str(folder), str(int(sent)), *compile_]
    standing(folder)
    before = contents(folder)
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    if sent is signal.SIGKILL:
        assert (folder / STAGING).is_dir()
        recover(folder)
    assert contents(folder) == before


_LIMITED = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.errors import GlowmcuError
from glowmcu.manifest import STAGING
try:
    write_bundle({"a.c": "a", "b.c": "b" * 5000}, Path(sys.argv[1]), "net")
except GlowmcuError as cause:
    print(cause.code)
"""


def test_a_write_that_stops_half_way_leaves_the_old_bundle(tmp_path: Path) -> None:
    before = standing(tmp_path)
    run = [sys.executable, "-c", _LIMITED, str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.stdout == "GM504\n", done.stderr
    assert contents(tmp_path) == before


def test_runs_at_once_take_turns(tmp_path: Path) -> None:
    made = [bundle({f"{who}.c": who, "net.c": who, "selftest/t.c": who}) for who in "abcd"]
    failed: list[BaseException] = []

    def write(files: dict[str, str]) -> None:
        try:
            for _ in range(15):
                assert not write_bundle(files, tmp_path, "net")
        except BaseException as cause:  # noqa: BLE001 - a thread's failure would go unheard
            failed.append(cause)

    threads = [threading.Thread(target=write, args=[files]) for files in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert contents(tmp_path) in made


@pytest.mark.parametrize(
    "journal",
    ["", "[]", "{}", '{"removed": ["../x"], "kept": {}, "placed": {}}', "[" * 100000,
     '{"removed": ["/etc/x"], "kept": {}, "placed": {}}',
     '{"removed": ["link/x"], "kept": {}, "placed": {}}'],
    ids=["empty", "a list", "no keys", "above the folder", "absolute", "deep", "behind a link"],
)  # fmt: skip
def test_a_journal_that_is_none_touches_nothing(journal: str, tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    put(elsewhere, {"x": "precious"})
    put(folder, {f"{STAGING}/journal.json": journal, f"{STAGING}/old/x": "x", **OLD})
    (folder / "link").symlink_to(elsewhere)
    before = contents(tmp_path)
    with pytest.raises(GlowmcuError) as caught:
        write_bundle(NEW, folder, "net")
    assert caught.value.code == "GM524"
    assert contents(tmp_path) == before


def test_what_was_written_after_the_kill_is_kept_too(tmp_path: Path) -> None:
    standing(tmp_path)
    cut = FAULTS.killed_at(35)
    with FAULTS(cut), pytest.raises(Killed):
        write_bundle(NEW, tmp_path, "net")
    journal = json.loads((tmp_path / STAGING / "journal.json").read_text())
    placed = [name for name in journal["placed"] if (tmp_path / name).exists()]
    assert placed
    (tmp_path / placed[0]).write_text("written meanwhile")
    recover(tmp_path)
    assert "written meanwhile" in contents(tmp_path).values()
    assert OLD.items() - contents(tmp_path).items() == {("selftest/t.c", "old")}
