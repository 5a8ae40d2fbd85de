"""C of bundles with an accelerator keeps MISRA C:2012 as the rest does, with it and without."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import glowmcu
from benchmarks.misra import unexplained
from tests.delegation.models import acme, several_outputs
from tests.support.misra import MACROS, findings


@pytest.mark.parametrize("use", [False, True])
def test_every_finding_in_code_of_hooks_has_a_deviation(
    use: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("cppcheck") is None:
        pytest.skip("needs cppcheck with its MISRA addon")
    given = {"board": "nrf52", "name": "m", "accelerator": acme(tmp_path)}
    bundle = glowmcu.compile(several_outputs(), output=tmp_path / "b", **given)
    if use:
        monkeypatch.setitem(MACROS, "cortex-m4", (*MACROS["cortex-m4"], "-DGLOWMCU_USE_ACME"))
    found = findings(bundle.path, "cortex-m4", ("m.c",))
    assert found, "the addon did not run"
    assert unexplained(found) == []
