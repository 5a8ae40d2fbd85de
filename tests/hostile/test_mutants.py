"""Hundreds of broken model files: each is compiled or refused, in bounded time and memory.

No other exception may leave the compiler, no mutant may take longer than a few seconds or more than
2 GiB. The mutants are the same in every run; `python -m benchmarks.fuzz` goes on by the million.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.container import read_container
from glowmcu.pipeline import compile_model
from tests.conftest import REPO
from tests.hostile.operator_models import OPERATOR_MODELS
from tests.support.mutate import mutations

WORKER = Path(__file__).with_name("mutant_worker.py")
DIGITS = REPO / "examples" / "digits" / "digits_int8.tflite"
SHARD = 100
DIGITS_SHARDS = range(2)
KWS_SHARDS = range(1)
EACH_FAMILY = 50
#: For a whole shard; a single mutant has its own limit in the worker.
SHARD_SECONDS = 500


@dataclass(frozen=True)
class Verdicts:
    """How often what happened; `bad` says what must not."""

    counts: Counter[str]
    bad: list[str]


def run_worker(model: Path, count: int, seed: int) -> Verdicts:
    command = [sys.executable, str(WORKER), str(model), str(count), str(seed)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=SHARD_SECONDS
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    bad = [
        f"mutant {row['index']} of seed {seed} {row['verdict']}:\n{row['detail']}"
        for row in rows
        if row["verdict"] not in ("compiled", "refused")
    ]
    if len(rows) != count:
        bad.append(f"the worker died at mutant {len(rows)} of {count}:\n{done.stderr[-2000:]}")
    return Verdicts(Counter(row["detail"] or row["verdict"] for row in rows), bad)


@pytest.mark.parametrize("shard", DIGITS_SHARDS)
def test_mutants_of_a_small_network_are_compiled_or_refused(shard: int) -> None:
    verdicts = run_worker(DIGITS, SHARD, 1000 + shard)
    assert not verdicts.bad, "\n".join(verdicts.bad[:3])
    # Mutants that all fail at the first check would prove nothing.
    assert verdicts.counts["compiled"] >= SHARD // 20
    assert verdicts.counts["GM101"] >= SHARD // 20
    assert verdicts.counts["GM105"] + verdicts.counts["GM106"] >= SHARD // 20


@pytest.mark.parametrize("shard", KWS_SHARDS)
def test_mutants_of_a_keyword_spotter_are_compiled_or_refused(shard: int, shared_dir: Path) -> None:
    verdicts = run_worker(shared_dir / "models" / "kws_int8.tflite", SHARD, 2000 + shard)
    assert not verdicts.bad, "\n".join(verdicts.bad[:3])
    assert verdicts.counts["compiled"] >= SHARD // 20


@pytest.mark.parametrize("name", sorted(OPERATOR_MODELS))
def test_the_unbroken_model_of_a_family_compiles(name: str) -> None:
    compile_model(OPERATOR_MODELS[name](), f"{name}.tflite", Options(name))


@pytest.mark.parametrize("name", sorted(OPERATOR_MODELS))
def test_mutants_of_a_family_of_operators_are_compiled_or_refused(
    name: str, tmp_path: Path
) -> None:
    model = tmp_path / "model.tflite"
    model.write_bytes(OPERATOR_MODELS[name]())
    verdicts = run_worker(model, EACH_FAMILY, 3000)
    assert not verdicts.bad, "\n".join(verdicts.bad[:3])


def test_the_worker_finds_what_must_not_happen(tmp_path: Path) -> None:
    """A negative control: what the mutator itself cannot use ends the worker."""
    model = tmp_path / "short.tflite"
    model.write_bytes(b"no")
    verdicts = run_worker(model, 5, 0)
    assert "too short" in "\n".join(verdicts.bad)


def test_every_beginning_of_a_model_is_refused_as_damaged() -> None:
    data = DIGITS.read_bytes()
    lengths = [*range(512), *range(512, len(data), 97)]
    for length in lengths:
        with pytest.raises(GlowmcuError) as caught:
            read_container(data[:length], "cut.tflite")
        assert caught.value.code in ("GM101", "GM103"), length


def test_mutants_differ_from_their_model_and_from_each_other() -> None:
    data = DIGITS.read_bytes()
    found = set(mutations(data, SHARD, 1000))
    assert data not in found
    assert len(found) > 0.98 * SHARD
