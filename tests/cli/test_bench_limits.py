"""`bench --max-cycles` and `--max-stack`: the exact cost passes, one less does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import glowmcu
from glowmcu.api.benchmark import BenchLimits
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.report.tables import count
from glowmcu.verify.executors import executor
from glowmcu.verify.measurement import Measurement
from tests.cli.conftest import Run
from tests.support.pipelines import random_pipeline


@pytest.mark.arm
def test_the_measured_cost_passes_and_one_less_ends_with_4(glowmcu_cli: Run, bundle: str) -> None:
    body = json.loads(glowmcu_cli("bench", bundle, "--json").out)
    cycles, stack = body["cycles"], body["stack_bytes"]
    within = ("--max-cycles", str(cycles), "--max-stack", str(stack))
    assert glowmcu_cli("bench", bundle, *within).exit_code == 0
    less = glowmcu_cli("bench", bundle, "--max-cycles", str(cycles - 1), "--max-stack", str(stack))
    assert less.exit_code == 4
    assert f"{count(cycles)} cycles, 1 more than --max-cycles {cycles - 1}" in less.err
    assert "--max-stack" not in less.err
    assert "cycles/MAC" in less.out, "the table comes before the refusal"
    both = glowmcu_cli("bench", bundle, "--max-cycles", "1", "--max-stack", "1", "--json")
    assert both.exit_code == 4
    assert json.loads(both.out)["cycles"] == cycles
    assert both.err.count("error[GM170]") == 1
    assert f"than --max-cycles 1 and {count(stack)} B of stack" in both.err


@pytest.mark.arm
def test_a_limit_holds_for_the_run_in_which_every_stage_computes(
    tmp_path: Path, glowmcu_cli: Run
) -> None:
    file = random_pipeline(4).write(tmp_path)
    made = glowmcu.compile(file, board="nrf52", output=tmp_path / "out", name="pipe")
    if (missing := executor("cortex-m", made.board).missing()) is not None:
        pytest.skip(missing)
    body = json.loads(glowmcu_cli("bench", str(made.path), "--json").out)
    mean = round(body["runs"]["mean_cycles"])
    assert mean < body["cycles"]
    assert glowmcu_cli("bench", str(made.path), "--max-cycles", str(mean)).exit_code == 4


@pytest.mark.arm
def test_cycles_take_the_units_that_bytes_take(glowmcu_cli: Run, bundle: str) -> None:
    cycles = json.loads(glowmcu_cli("bench", bundle, "--json").out)["cycles"]
    below, above = f"{cycles / 1000 - 1:.1f}K", f"{cycles / 1000 + 1:.1f}K"
    within = glowmcu_cli("bench", bundle, "--json", "--max-cycles", above, "--max-stack", "64K")
    assert within.exit_code == 0
    limits = json.loads(within.out)["limits"]
    assert limits == {"cycles": round(float(above[:-1]) * 1000), "stack_bytes": 65536}
    assert glowmcu_cli("bench", bundle, "--max-cycles", below).exit_code == 4


def test_each_limit_holds_alone_and_none_is_no_limit() -> None:
    measured = Measurement((), cycles=1000, stack_bytes=200)
    BenchLimits().check(measured, "b")
    BenchLimits(1000, 200).check(measured, "b")
    with pytest.raises(GlowmcuError, match="than max_stack=199") as caught:
        BenchLimits(1000, 199).check(measured, "b")
    assert caught.value.exit_code == ExitCode.DOES_NOT_FIT
    assert "cycles" not in caught.value.problems[0].message


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--max-cycles", "0"), "--max-cycles"),
        (("--max-cycles", "many"), "expected cycles such as"),
        (("--max-cycles", "1.0001K"), "no whole number"),
        (("--max-stack", "-1"), "expected bytes such as"),
        (("--max-cycles", "9", "--hot=2"), "do not go with --hot"),
    ],
)
def test_a_limit_that_is_none_is_a_wrong_option(
    given: tuple[str, ...], said: str, glowmcu_cli: Run
) -> None:
    ended = glowmcu_cli("bench", "nowhere", *given)
    assert ended.exit_code == 2
    assert said in ended.err
