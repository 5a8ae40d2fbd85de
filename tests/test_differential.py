"""Random networks in random modes: some seeds anew, and what is recorded of all others."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.differential_case import Outcome, run_case
from benchmarks.differential_page import PAGE, Ledger, page
from benchmarks.random_networks import random_network

pytest.importorskip("tflite_micro", reason="pip install --pre tflite-micro")

#: Seeds of this file alone, which no ledger reaches; eight more on the core of their board.
SEEDS = range(10**9, 10**9 + 24)


@pytest.mark.arm
@pytest.mark.parametrize("seed", SEEDS)
def test_random_networks_compute_what_tensorflow_lite_micro_does(seed: int, tmp_path: Path) -> None:
    outcome = run_case(seed, tmp_path / "case")
    assert not outcome.failure


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
    assert "1 of" in run_case(SEEDS[0], tmp_path / "case").failure


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
    ledger.add(Outcome(0, board="nrf52", goal="ram", operators=("ADD", "MUL"), inputs=4))
    ledger.add(Outcome(1, refused="no such operator"))
    ledger.add(Outcome(2, board="nrf52", goal="ram", modes=("placed",), failure="differs"))
    assert (ledger.next_seed, ledger.bundles, ledger.inputs) == (3, 2, 4)
    assert ledger.counts["mode"] == {"none": 1, "placed": 1}
    assert ledger.failures == {"2": "differs"}
    with pytest.raises(AssertionError):
        ledger.add(Outcome(2))
    assert "**2 bundles compared, 1 different or refused.**" in page(ledger)
