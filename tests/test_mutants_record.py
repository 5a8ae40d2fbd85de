"""Mutants of the compiler: how they are made, and what is recorded of those that survived."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import mutants
from benchmarks.mutant_areas import AREAS, REPO
from benchmarks.mutant_child import first_ended, in_child
from benchmarks.mutant_runner import Fate, Runner
from benchmarks.mutant_sites import mutants_of, mutated
from benchmarks.mutants_page import equivalent, page

SOURCE = '''
LIMIT = 3

class Box:
    @property
    def is_full(self) -> bool:
        """Text."""
        assert self.size > 0
        return self.size >= LIMIT and self.open

def find(items: list[int], start: int = 1) -> int | None:
    for item in items:
        if item < start:
            continue
        total[item] += 2
        return -item
    raise ValueError(f"none of {len(items) + 1}")
'''


def changes() -> list[tuple[str, str]]:
    return [(mutant.before, mutant.after) for mutant in mutants_of(SOURCE, "box.py")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return self.size >= LIMIT and self.open", "return self.size > LIMIT and self.open"),
        ("return self.size >= LIMIT and self.open", "return self.size >= LIMIT or self.open"),
        ("return self.size >= LIMIT and self.open", "return self.open"),
        ("return self.size >= LIMIT and self.open", "return True"),
        ("item < start", "item <= start"),
        ("item < start", "False"),
        ("continue", "pass"),
        ("total[item] += 2", "total[item] += 3"),
        ("total[item] += 2", "pass"),
        ("return -item", "return item"),
        ("return -item", "return None"),
    ],
)
def test_a_mutant_has_one_change_of_a_function(before: str, after: str) -> None:
    assert (before, after) in changes()


def test_checks_messages_defaults_and_tables_stay() -> None:
    texts = " ".join(before for before, _ in changes())
    assert not {"assert", "raise", "LIMIT = 3", "start: int"} & set(texts.split())
    assert len(changes()) == len(set(changes())) == 17


def test_a_number_that_one_more_does_not_change_stays() -> None:
    assert not mutants_of("def f():\n    return 1e37\n", "f.py")


def test_what_a_mutant_says_is_what_it_is_and_lines_stay() -> None:
    lines = [(type(node), node.lineno) for node in ast.walk(ast.parse(SOURCE))
             if isinstance(node, ast.FunctionDef | ast.Return)]  # fmt: skip
    for mutant in mutants_of(SOURCE, "box.py"):
        tree = mutated(SOURCE, mutant)
        assert mutant.after in ast.unparse(tree) or mutant.after == "pass"
        assert ast.unparse(tree) != ast.unparse(ast.parse(SOURCE))
        compile(tree, "box.py", "exec")
        found = [(type(node), node.lineno) for node in ast.walk(tree)
                 if isinstance(node, ast.FunctionDef | ast.Return)]  # fmt: skip
        assert set(found) <= set(lines)


def test_a_sample_is_that_of_its_seed() -> None:
    first, again = mutants.sample("overlap", 20, 1), mutants.sample("overlap", 20, 1)
    assert first == again != mutants.sample("overlap", 20, 2)
    assert len({mutant.key for mutant in first}) == 20


def test_every_area_has_files_and_tests() -> None:
    for area in AREAS.values():
        assert area.sources
        assert all((REPO / path).exists() for path in area.tests if path.startswith("tests/"))


def test_what_survives_is_recorded_and_what_dies_later_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "LEDGER", tmp_path / "mutants.json")
    chosen = mutants.sample("overlap", 3, 1)
    mutants.record("overlap", 1, [Fate(m, "a test" * (i > 0), 1) for i, m in enumerate(chosen)])
    run = mutants.stored()["overlap"]["runs"]["1"]
    assert run == {"tried": 3, "alive": [chosen[0].key], "at_first": [2, 3]}
    assert "| 1 | 2 of 3 | 3 | 2 | 0 | 66.7 % |" in page(mutants.stored())

    def kills(self: Runner) -> int:
        for mutant in self.mutants:
            self.tell(Fate(mutant, "a new test", 1))
        return 0

    monkeypatch.setattr(Runner, "run", kills)
    mutants.again("overlap", 1)
    assert "| 1 | 2 of 3 | 3 | 3 | 0 | 100.0 % |" in page(mutants.stored())


def test_some_tests_of_an_area_keep_its_options() -> None:
    area = AREAS["overlap"]
    some = mutants.narrowed(area, ["tests/memplan/test_overlaps.py"])
    assert some.tests == ("tests/memplan/test_overlaps.py", *area.tests[-2:])
    assert area.tests[-2] == "-k"
    assert (some.sources, mutants.narrowed(area, [])) == (area.sources, area)
    whole = AREAS["planning"]
    assert mutants.narrowed(whole, ["tests/memplan/test_overlaps.py"]).tests == (
        "tests/memplan/test_overlaps.py",
    )
    for other in ("tests/memplan/test_planner.py", "tests/memplan_other/test_overlaps.py"):
        with pytest.raises(ValueError, match="is not among the area's tests"):
            mutants.narrowed(area, [other])


def test_no_test_runs_where_there_is_no_mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runner, "run", lambda self: pytest.fail("tests ran"))
    assert mutants.try_out("overlap", [], 1) == []


def test_the_page_of_mutants_is_what_was_recorded() -> None:
    body = mutants.stored()
    assert body.keys() <= AREAS.keys()
    assert mutants.LEDGER.with_suffix(".md").read_text(encoding="utf-8") == page(body)


def test_every_reason_is_of_a_mutant_that_survived() -> None:
    alive = {key for area in mutants.stored().values() for run in area["runs"].values()
             for key in run["alive"]}  # fmt: skip
    assert equivalent().keys() <= alive
    assert all(len(reason) > 20 for reason in equivalent().values())


RUN = """
from benchmarks.mutant_areas import Area
from benchmarks.mutant_runner import Runner
from benchmarks.mutants import all_mutants

area = Area(("kernels/common/overlap.py",),
            ("tests/kernels/test_overlap_distances.py", "-k", "a_line_is"))
names = "overlap.py:lines_of_pixels", "overlap.py:_pixel_bytes"
chosen = [m for m in all_mutants("overlap") if m.key.split(": ")[0].endswith(names)]
fates = []
assert Runner(area, chosen, 2, fates.append).run() == 0
for fate in fates:
    print("FATE", fate.mutant.function, fate.tests, fate.killer.rpartition("::")[2] or "survives")
"""

WAITING = """
import subprocess
from benchmarks import mutant_runner

def waits(*_):
    subprocess.Popen(["sleep", "600"]).wait()

mutant_runner.LEAST_CLOCK_S, mutant_runner.CLOCK_FACTOR = 1, 0
mutant_runner.Runner._try = waits
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="python 3.11: functions say where they are")
def test_mutants_die_of_the_tests_that_reach_them_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN], cwd=REPO, capture_output=True, text=True, check=True
    )
    fates = {line for line in done.stdout.splitlines() if line.startswith("FATE")}
    assert fates == {
        "FATE lines_of_pixels 1 test_a_line_is_a_row_or_a_column",
        "FATE _pixel_bytes 0 survives",
    }


@pytest.mark.skipif(sys.version_info < (3, 11), reason="python 3.11: functions say where they are")
def test_the_clock_ends_a_mutant_that_waits() -> None:
    """It takes no time of the processor, by which its tests are limited, too."""
    done = subprocess.run(
        [sys.executable, "-c", WAITING + RUN],
        cwd=REPO, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    fates = {line for line in done.stdout.splitlines() if line.startswith("FATE")}
    assert "FATE lines_of_pixels 1 the clock: it had no answer in 1 seconds" in fates


def test_a_child_ends_with_what_it_started(tmp_path: Path) -> None:
    started = tmp_path / "started"

    def waits() -> str:
        started.write_text(str(subprocess.Popen(["sleep", "600"]).pid), encoding="utf-8")
        threading.Event().wait()
        return "never"

    child = in_child(waits, 60)
    while not (started.is_file() and started.read_text(encoding="utf-8")):
        time.sleep(0.01)
    child.close()
    state = Path(f"/proc/{started.read_text(encoding='utf-8')}/stat")
    while state.is_file() and state.read_text(encoding="utf-8").split()[2] != "Z":
        time.sleep(0.01)  # this test ends when the program has
    assert not Path(child.folder).exists()


@pytest.mark.parametrize(
    ("work", "answer"),
    [
        (lambda: "a test", "a test"),
        (lambda: "", ""),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "the end of its process"),
        (lambda: 1 / 0, "an error outside of tests"),
    ],
    ids=["it fails a test", "it passes", "it is killed", "it fails itself"],
)
def test_a_child_says_how_it_ended(work: Callable[[], str], answer: str) -> None:
    assert in_child(work, 60).answer() == answer


def test_of_children_the_first_that_ends_is_told_first() -> None:
    slow, quick = in_child(lambda: str(time.sleep(600)), 60), in_child(lambda: "quick", 60)
    assert first_ended([slow, quick]) is quick
    assert quick.answer() == "quick"
    slow.close()
