"""Commands on pipelines and their bundles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import glowmcu
from glowmcu.verify.executors import executor
from tests.cli.conftest import Run
from tests.support.pipelines import random_pipeline


@pytest.mark.parametrize("command", ["inspect", "export"])
def test_what_takes_a_model_says_what_a_pipeline_is(
    command: str, glowmcu_cli: Run, tmp_path: Path
) -> None:
    file = random_pipeline(4).write(tmp_path)
    more = ["-o", str(tmp_path / "x.tflite")] if command == "export" else []
    done = glowmcu_cli(command, str(file), *more)
    assert done.exit_code == 2
    assert "it is a pipeline" in done.err
    assert "`glowmcu compile` takes it" in done.err


@pytest.mark.arm
def test_bench_tells_of_a_run_with_every_stage_and_of_the_mean(
    tmp_path: Path, glowmcu_cli: Run
) -> None:
    pipeline = random_pipeline(4)
    bundle = glowmcu.compile(
        pipeline.write(tmp_path), board="nrf52", output=tmp_path / "out", name="pipe"
    )
    if (missing := executor("cortex-m", bundle.board).missing()) is not None:
        pytest.skip(missing)
    done = glowmcu_cli("bench", str(bundle.path), "--json")
    body = json.loads(done.out)
    assert bundle.manifest.pipeline is not None
    last = bundle.manifest.pipeline.stages[-1]
    assert body["runs"]["period_runs"] == last.period > 1
    assert 0 < body["runs"]["mean_cycles"] < body["cycles"]
    per_second = body["runs"]["mean_cycles"] * 1000 / pipeline.hops[0]
    assert body["runs"]["cycles_per_second"] == pytest.approx(per_second)
    assert all(layer["cycles"] > 0 for layer in body["layers"])
    shown = glowmcu_cli("bench", str(bundle.path))
    assert f"one of {last.period}; on average a run takes" in " ".join(shown.out.split())
