"""Random networks in random modes: some seeds anew, and what is recorded of all others."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import glowmcu
from benchmarks import differential_others, differential_subjects
from benchmarks.differential_case import run_case
from benchmarks.differential_executors import CallingHost, Calls
from benchmarks.differential_modes import (
    BUDGETS_FROM,
    FLASH,
    Modes,
    with_flash_budget,
    with_other_weights,
)
from benchmarks.differential_options import ALSO_DRAWN, DRAWN, NOT_DRAWN
from benchmarks.differential_outcome import Outcome
from benchmarks.differential_page import PAGE, Ledger, page
from benchmarks.differential_subjects import facts_of
from benchmarks.differential_ways import QUICK_FROM, THOROUGH, is_thorough
from benchmarks.random_networks import random_network
from glowmcu.cli.compile_command import compile_command
from glowmcu.verify.host import Host
from glowmcu.verify.verification import seeded_inputs
from tests.support.quick_host import TCC

pytest.importorskip("tflite_micro", reason="pip install --pre tflite-micro")

#: Seeds of this file alone, which no ledger reaches; eight more on the core of their board.
SEEDS = range(10**9, 10**9 + 24)
#: One that runs on this computer alone; a network without modes; one that learns in fixed point.
QUICK_SEED, PLAIN_SEED, LEARNING_SEED = 10**9 + 1, 10**9 + 12, 10**9 + 6


@pytest.mark.arm
@pytest.mark.parametrize("seed", SEEDS)
def test_random_networks_compute_what_tensorflow_lite_micro_does(seed: int, tmp_path: Path) -> None:
    outcome = run_case(seed, tmp_path / "case", thorough=True)
    assert not outcome.failure
    assert outcome.refused or outcome.compiler.startswith("cc -O")


@pytest.mark.skipif(shutil.which(TCC) is None, reason="apt-get install tcc")
def test_most_seeds_are_compiled_by_a_quick_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without cross compiler, even where there is one; the case fails where C does not compile."""
    asked: list[str] = []
    real = subprocess.run

    def run(command: list[str], **given: Any) -> Any:
        asked.append(Path(command[0]).name)
        return real(command, **given)

    monkeypatch.setattr(subprocess, "run", run)
    outcome = run_case(QUICK_SEED, tmp_path / "case", thorough=False)
    assert not outcome.failure
    assert outcome.inputs
    assert outcome.compiler == TCC
    assert asked == [TCC]


def test_a_share_of_the_seeds_is_compiled_with_all_care() -> None:
    assert all(map(is_thorough, range(QUICK_FROM)))
    later = range(QUICK_FROM, QUICK_FROM + 8 * THOROUGH)
    thorough = [seed for seed in later if is_thorough(seed)]
    assert len(thorough) == 8
    # Streams and those that run on a core are among them like all others.
    assert sorted(seed % 8 for seed in thorough) == list(range(8))


def test_a_wrong_byte_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: an oracle that is off by one in one element."""

    def wrong_oracle(data: bytes) -> object:
        session = honest(data)

        def run(inputs: object) -> object:
            outputs = session(inputs)
            outputs[0].reshape(-1)[-1:] ^= 1
            return outputs

        return run

    honest = differential_subjects.open_tflm
    monkeypatch.setattr(differential_subjects, "open_tflm", wrong_oracle)
    assert "1 of" in run_case(PLAIN_SEED, tmp_path / "case", thorough=True).failure


def test_a_step_that_learns_something_else_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong_meaning(*given: Any) -> tuple[list[list[Any]], str]:
        runs, said = honest(*given)
        # The first runs only infer.
        spoilt = [[output + (run > 2) for output in outputs] for run, outputs in enumerate(runs)]
        return spoilt, said

    honest = differential_others.expected_outputs
    monkeypatch.setattr(differential_others, "expected_outputs", wrong_meaning)
    failure = run_case(LEARNING_SEED, tmp_path / "case", thorough=False).failure
    assert "input 3, " in failure or "input 3: " in failure


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        (Calls(steps=(1, 3)), "in steps"),
        (Calls(observed=True), "observed"),
    ],
)
def test_runs_by_other_functions_are_compared_too(calls: Calls, said: str, tmp_path: Path) -> None:
    """With a step too many in a call, and with an observer told once too often, they fail."""
    data = random_network(107_513)
    bundle = glowmcu.compile(
        data, output=tmp_path / "net", name="net", steps=bool(calls.steps),
        instrument=calls.observed,
    )  # fmt: skip
    inputs = [seeded_inputs(bundle.manifest, 1)]
    host = CallingHost(calls, (), (), is_quick=shutil.which(TCC) is not None)
    assert said in host.name
    (wanted,), (found,) = Host().run(bundle.path, inputs), host.run(bundle.path, inputs)
    assert [x.tobytes() for x in found.outputs] == [x.tobytes() for x in wanted.outputs]
    source = bundle.path / "net.c"
    text = source.read_text(encoding="utf-8")
    right, wrong = "? done + count :", "? done + count + 1 :"
    if calls.observed:
        right, wrong = "before_step(1);", "before_step(1); before_step(1);"
    assert right in text
    source.write_text(text.replace(right, wrong), encoding="utf-8")
    with pytest.raises(AssertionError):
        host.run(bundle.path, inputs)


def test_weights_in_other_places_are_still_those_of_the_network() -> None:
    data = random_network(107_513)
    other = with_other_weights(data, np.random.default_rng(0))
    assert other != data
    assert sorted(other) == sorted(data)
    assert facts_of(other) == facts_of(data)


def test_every_option_is_drawn_or_has_a_reason_why_not() -> None:
    """Whoever adds an option to `compile` says here what the differential test makes of it."""
    known = DRAWN.keys() | NOT_DRAWN.keys()
    options = [p.opts for p in compile_command.params if p.opts[0].startswith("-")]
    assert [names for names in options if not known & set(names)] == []
    assert known <= {name for names in options for name in names}
    assert not DRAWN.keys() & NOT_DRAWN.keys()
    assert all(len(reason) > 10 for reason in NOT_DRAWN.values())
    counts = Ledger.stored().counts
    for name in (*DRAWN.values(), *ALSO_DRAWN):
        assert name in counts or counts["mode"].get(name, 0) > 0, name


def test_new_seeds_have_budgets_for_flash_as_often_as_for_the_arena() -> None:
    new = [with_flash_budget(Modes(), BUDGETS_FROM + n) for n in range(1000)]
    assert 120 <= sum(FLASH in modes.names and FLASH in modes.second for modes in new) <= 180
    assert with_flash_budget(Modes((FLASH,)), BUDGETS_FROM).second == {}
    assert {with_flash_budget(Modes(), seed) == Modes() for seed in range(1000)} == {True}


@pytest.mark.parametrize("measured", [None, 2000])
def test_a_budget_for_flash_is_about_what_weights_and_code_take(measured: int | None) -> None:
    bundle: Any = SimpleNamespace(
        report=SimpleNamespace(code_bytes=measured),
        manifest=SimpleNamespace(
            weights_bytes=1000, costs=SimpleNamespace(code_bytes_estimate=2000)
        ),
    )
    modes = next(made for seed in range(BUDGETS_FROM, 10**6)
                 if FLASH in (made := with_flash_budget(Modes(), seed)).names)  # fmt: skip
    asked = modes.second[FLASH](bundle, np.random.default_rng(0))
    assert 0.93 * 3000 <= asked["flash_budget"] + 1 <= 1.05 * 3000 + 1


def test_networks_are_those_of_their_seed_and_have_many_operators() -> None:
    assert random_network(5) == random_network(5) != random_network(6)
    assert len(Ledger.stored().counts["operator"]) >= 45


def test_the_page_of_random_networks_is_what_was_recorded() -> None:
    ledger = Ledger.stored()
    assert ledger.bundles > 0
    assert ledger.failures == {}
    assert PAGE.read_text(encoding="utf-8") == page(ledger)


def test_a_ledger_counts_each_seed_once() -> None:
    ledger = Ledger()
    ledger.add(
        Outcome(0, board="nrf52", goal="ram", operators=("ADD", "MUL"), inputs=4, compiler=TCC)
    )
    ledger.add(Outcome(1, refused="no such operator"))
    ledger.add(Outcome(2, board="nrf52", goal="ram", modes=("placed",), failure="differs"))
    assert (ledger.next_seed, ledger.bundles, ledger.inputs) == (3, 2, 4)
    assert ledger.counts["mode"] == {"none": 1, "placed": 1}
    assert ledger.counts["compiler"] == {TCC: 1}
    assert ledger.failures == {"2": "differs"}
    with pytest.raises(AssertionError):
        ledger.add(Outcome(2))
    assert "**2 bundles compared, 1 different or refused.**" in page(ledger)
