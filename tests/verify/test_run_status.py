"""A run that says that it did not do its work is an error, and no wrong numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.verify.cortex_m import CortexM
from glowmcu.verify.host import Host
from glowmcu.verify.measurement import Executor
from glowmcu.verify.riscv.executor import RiscV
from tests.verify.tiny_bundle import random_inputs, write_tiny_bundle


@pytest.mark.arm
@pytest.mark.parametrize("executor", [Host(), CortexM("cortex-m4"), RiscV("rv32imc")])
@pytest.mark.parametrize(
    ("status", "name"), [(-1, ", GLOWMCU_BAD_ARENA"), (-8, ", GLOWMCU_BAD_ACCELERATOR"), (3, "")]
)
def test_a_run_that_returns_a_status_is_refused(
    executor: Executor, status: int, name: str, tmp_path: Path
) -> None:
    absent = executor.missing()
    if absent is not None:
        pytest.skip(absent)
    bundle = write_tiny_bundle(tmp_path, fault=f"return {status};")
    with pytest.raises(GlowmcuError) as caught:
        executor.run(bundle, random_inputs(1))
    assert caught.value.code == "GM619"
    assert caught.value.exit_code == ExitCode.MISMATCH
    assert f"tiny_run returned {status}{name}\n" in str(caught.value)
