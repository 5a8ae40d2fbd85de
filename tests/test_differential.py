"""Random networks in random modes: some seeds anew, and what is recorded of all others."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks.differential_case import (
    QUICK_FROM,
    TCC,
    THOROUGH,
    Outcome,
    is_thorough,
    run_case,
)
from benchmarks.differential_page import PAGE, Ledger, page
from benchmarks.random_networks import random_network

pytest.importorskip("tflite_micro", reason="pip install --pre tflite-micro")

#: Seeds of this file alone, which no ledger reaches; eight more on the core of their board.
SEEDS = range(10**9, 10**9 + 24)
#: One that runs on this computer alone.
QUICK_SEED = 10**9 + 1


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
    from benchmarks import differential_case

    def wrong_oracle(data: bytes) -> object:
        session = honest(data)

        def run(inputs: object) -> object:
            outputs = session(inputs)
            outputs[0].reshape(-1)[-1:] ^= 1
            return outputs

        return run

    honest = differential_case.open_tflm
    monkeypatch.setattr(differential_case, "open_tflm", wrong_oracle)
    assert "1 of" in run_case(SEEDS[0], tmp_path / "case", thorough=True).failure


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
