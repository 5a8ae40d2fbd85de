"""Flipped bits on modelled cores: a few of each kind anew, and what is recorded of all others."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from benchmarks import fault_page, vector_coverage
from benchmarks.fault_board import BoardBundle
from benchmarks.fault_cases import CORES, Case, cases, drawn_inputs
from benchmarks.fault_machine import EndlessError, Flip
from benchmarks.fault_outcomes import WILD, Outcome
from benchmarks.fault_page import (
    CHECKED,
    DOCUMENT,
    PAGE,
    Ledger,
    breaks,
    documented,
    page,
    runs_of,
    wild_of,
)
from benchmarks.fault_run import FaultyBundle, built, draw_flip
from benchmarks.kernel_sources import is_of_today
from glowmcu.verify.qemu import Qemu

pytestmark = pytest.mark.arm
#: Of this file alone: no campaign comes so far.
SEEDS = range(10**9, 10**9 + 60)


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> FaultyBundle:
    return on_unicorn(Case("digits", "cortex-m4"), tmp_path_factory.mktemp("digits"))


def ready(case: Case, folder: Path) -> FaultyBundle | BoardBundle:
    return built(case.core, case.compile(folder).path)


def on_unicorn(case: Case, folder: Path) -> FaultyBundle:
    return FaultyBundle(case.core, case.compile(folder).path)


@pytest.mark.parametrize("core", CORES)
def test_to_stop_and_to_go_on_changes_nothing(core: str, tmp_path: Path) -> None:
    """Also in the midst of what Thumb executes on a condition."""
    found = ready(Case("digits", core), tmp_path)
    places = np.random.default_rng(0).integers(found.instructions, size=40)
    flips = [Flip("nothing", when, 0) for when in (0, found.instructions - 1, *map(int, places))]
    assert {outcome.result for outcome in found.runs(flips)} == {"same"}


FEW = [
    Case("digits", "cortex-m4"),
    Case("ScatterND", "cortex-m33"),
    Case("digits", "cortex-m55", {"optimize": "ram", "steps": True}),
    Case("Gather", "cortex-m55"),
    Case("pipeline", "cortex-m4"),
    Case("digits", "cortex-m55", {"train": "neighbours=3x2"}),
    Case("four-bit stream", "cortex-m4"),
]


@pytest.mark.parametrize("case", FEW, ids=lambda case: case.name)
def test_flips_keep_what_is_guaranteed(case: Case, tmp_path: Path) -> None:
    found = ready(case, tmp_path)
    outcomes = found.runs([draw_flip(found, seed) for seed in SEEDS])
    assert {outcome.flip.kind for outcome in outcomes} == set(found.kinds)
    assert [text for text in map(breaks, outcomes) if text] == []


def test_places_that_hold_addresses_show_wild_writes_and_faults(digits: FaultyBundle) -> None:
    """Who finds none there would find none in the arena either."""
    random = np.random.default_rng(1)
    results: dict[str, set[str]] = {"registers": set(), "stack": set(), "code": set()}
    for kind, seen in results.items():
        for _ in range(120):
            when, draw = int(random.integers(digits.instructions)), int(random.integers(1 << 40))
            seen.add(digits.run(Flip(kind, when, draw)).result)
    assert all(seen & set(WILD) and "fault" in seen for seen in results.values()), results


def test_a_run_that_never_ends_is_stopped(digits: FaultyBundle) -> None:
    machine = digits.machine
    machine.begin(None, 10_000)
    arena = machine.arena_address
    machine.write_arena(0, bytes.fromhex("fee7fee7"))  # a branch to itself
    code = machine.read_code(digits.entry, 4)
    machine.write_external(digits.entry, machine.read_arena(0, 4))
    try:
        with pytest.raises(EndlessError):
            machine.call_counted("m_run", (arena,), 10_000)
    finally:
        machine.write_external(digits.entry, code)


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m55"])
def test_an_index_that_nobody_bounds_is_found(core: str, tmp_path: Path) -> None:
    """The same flips, in a bundle whose positions are no longer clamped and in the true one."""
    case = Case("ScatterND", core)
    found = ready(case, tmp_path)
    entry = next(item for item in found.manifest.inputs if item.name == "indices")
    flips = [Flip("arena", 0, 8 * (entry.start + 3) + bit) for bit in range(2, 7)]
    assert {outcome.result for outcome in found.runs(flips)} <= {"same", "other"}
    header = tmp_path / "m" / "glowmcu_scatter.h"
    text = header.read_text(encoding="utf-8")
    clamp = "return (index < 0) ? 0 : ((index < length) ? index : length - 1);"
    assert clamp in text
    header.write_text(text.replace(clamp, "(void)length;\n    return index;"), encoding="utf-8")
    outcomes = built(core, tmp_path / "m").runs(flips)
    assert any(outcome.result in WILD for outcome in outcomes)
    assert any(breaks(outcome) for outcome in outcomes)


def test_the_board_computes_and_counts_as_the_executor_of_that_name_does(tmp_path: Path) -> None:
    found = ready(Case("digits", "cortex-m55"), tmp_path)
    assert isinstance(found, BoardBundle)
    inputs = drawn_inputs(found.manifest, 0)
    (measured,) = Qemu(machine="mps3-an547").run(tmp_path / "m", [inputs])
    assert found.outputs == b"".join(array.tobytes() for array in measured.outputs)
    assert measured.instructions is not None
    assert 0 <= measured.instructions - found.instructions < 32


def test_places_of_the_board_show_wild_writes_and_faults_and_vectors_other_numbers(
    tmp_path: Path,
) -> None:
    found = ready(Case("digits", "cortex-m55"), tmp_path)
    random = np.random.default_rng(1)
    results: dict[str, set[str]] = {}
    for kind in ("registers", "stack", "code", "vectors"):
        draws = zip(random.integers(found.instructions, size=300),
                    random.integers(1 << 40, size=300), strict=True)  # fmt: skip
        flips = [Flip(kind, int(when), int(draw)) for when, draw in draws]
        results[kind] = {outcome.result for outcome in found.runs(flips)}
    seen = [results[kind] for kind in ("registers", "stack", "code")]
    assert all(kind & set(WILD) and "fault" in kind for kind in seen), results
    assert "other" in results["vectors"]


def test_the_stack_pointer_may_flip_at_every_instruction(tmp_path: Path) -> None:
    """The board waits where Thumb executes on a condition, and once it waited for ever."""
    found = ready(Case("ScatterND", "cortex-m55"), tmp_path)
    flips = [Flip("registers", when, 32 * 13 + 26) for when in range(found.instructions)]
    results = {outcome.result for outcome in found.runs(flips)}
    assert results & set(WILD)


def test_a_constant_that_is_not_checked_is_found(digits: FaultyBundle) -> None:
    unnoticed = Outcome(Flip("weights", 0, 0), "same", noticed=False)
    assert breaks(unnoticed)
    assert digits.run(Flip("weights", 0, 0)).noticed
    assert not digits.run(Flip("nothing", 0, 0)).noticed


def test_nothing_in_the_arena_becomes_an_address_of_a_run_in_steps(tmp_path: Path) -> None:
    """Rows that a cascade had made were counted in the arena: a flipped bit wrote behind it."""
    options = {"optimize": "ram", "steps": True}
    found = on_unicorn(Case("digits", "cortex-m4", options), tmp_path)
    machine, random = found.machine, np.random.default_rng(2)
    size = found.manifest.arena_bytes
    (progress,) = (item for item in found.manifest.buffers if "far a run" in item.name)
    for first in range(1, 30):
        machine.begin(None, 10**8, found.stack_bytes)
        machine.call_counted("m_begin", (machine.arena_address,), 100)
        machine.call_counted("m_run_steps", (machine.arena_address, first), 10**6)
        mark = machine.read_arena(progress.offset, 4)
        machine.write_arena(0, random.bytes(size))
        machine.write_arena(progress.offset, mark)
        machine.call_counted("m_run_steps", (machine.arena_address, 1 << 20), 10**6)
        machine.look_around()


def test_the_page_is_what_the_record_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(Ledger.stored()), (
        "python -m benchmarks.fault_page"
    )
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == documented(text, Ledger.stored())


@pytest.mark.parametrize(
    ("old", "said"),
    [
        (("a on m0", "b on m0"), " These figures are of kernels of an earlier state."),
        (("b on m0",), " Those of 1 bundles are of kernels of an earlier state."),
        ((), ""),
    ],
)
def test_the_page_says_which_figures_are_older_than_the_kernels(
    old: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fault_page, "is_of_today", lambda digest: digest == "now")
    facts = {"digest": "d", "instructions": 1, "constants_bytes": 1, "counts": {}}
    names = ("a on m0", "b on m0")
    ledger = Ledger({name: {**facts, "kernels": "old" if name in old else "now"} for name in names})
    text = page(ledger)
    assert f"led to such a write in .{said}\n" in text
    assert text.count("| of an earlier state |") == len(old)
    assert text.count("| of today |") == len(names) - len(old)


def test_no_recorded_run_breaks_a_guarantee() -> None:
    ledger = Ledger.stored()
    assert ledger.broken == []
    for name, entry in ledger.cases.items():
        counts = entry["counts"]
        assert wild_of(counts["arena"]) == 0, name
        for kind in set(CHECKED) & counts.keys():
            assert counts[kind]["noticed"] == runs_of(counts[kind]), name


def test_every_bundle_of_the_campaign_was_run(shared_dir: Path) -> None:
    ledger = Ledger.stored()
    assert list(ledger.cases) == sorted(case.name for case in cases())
    assert all(ledger.runs(name) >= 60 for name in ledger.cases)


def test_who_runs_the_tests_is_told_of_older_kernels() -> None:
    """No failure, as in test_recorded_runs.py."""
    if not all(is_of_today(entry["kernels"]) for entry in Ledger.stored().cases.values()):
        warnings.warn("run python -m benchmarks.fault_campaign: the kernels changed", stacklevel=1)


def test_the_page_of_vectors_is_what_the_record_says() -> None:
    rows = list(vector_coverage.stored().values())
    assert vector_coverage.PAGE.read_text(encoding="utf-8") == vector_coverage.page(rows)
    assert {row.model for row in rows} <= set(vector_coverage.MODELS)
    assert len(rows) >= 5
    assert all(row.seen > row.seen_before for row in rows), "chosen vectors see more"
