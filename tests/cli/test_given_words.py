"""Options and arguments with values that say nothing, or what nobody means."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu import limits
from glowmcu.errors import GlowmcuError
from glowmcu.verify.measurement import Measurement
from tests.cli.conftest import Run
from tests.conftest import REPO

DIGITS = REPO / "examples" / "digits"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("compile digits.tflite -o new --dump-ir", "'--dump-ir': it is empty"),
        ("compile digits.tflite -o new --emit", "'--emit': it is empty"),
        ("bench out --core", "error[GM618]: unknown core ''"),
        ("report out --board", "error[GM701]: unknown board ''"),
    ],
)
def test_an_empty_word_is_refused(command: str, said: str, glowmcu_cli: Run, bundle: str) -> None:
    assert bundle == "out"
    before = sorted(Path().rglob("*"))
    ended = glowmcu_cli(*command.split(), "")
    assert ended.exit_code == 2
    assert said in ended.err
    assert sorted(Path().rglob("*")) == before


def test_an_executor_that_is_named_twice_runs_once(glowmcu_cli: Run, bundle: str) -> None:
    ended = glowmcu_cli("verify", bundle, "--on", "host,host", "--json")
    assert ended.exit_code == 0, ended.err
    assert [one["executor"] for one in json.loads(ended.out)["checks"]] == ["host"]


@pytest.mark.parametrize("most", [float("nan"), "1K", -1])
def test_a_limit_that_is_no_number_of_cycles_is_refused(most: object, bundle: str) -> None:
    manifest = glowmcu.load(bundle).manifest
    measured = Measurement((), 100, 100, 10)
    found = glowmcu.Benchmark(Path(bundle), manifest, measured, "cortex-m", "cortex-m4", 0)
    found.check(max_cycles=100, max_stack=10)
    for limit in ("max_cycles", "max_stack"):
        with pytest.raises(GlowmcuError, match=limit) as caught:
            found.check(**{limit: most})  # type: ignore[arg-type]
        assert caught.value.code == "GM726"


def test_an_array_in_place_of_a_list_is_told_of_the_list(bundle: str) -> None:
    loaded = glowmcu.load(bundle)
    x = np.zeros((1, 8, 8, 1), np.int8)
    for run in (loaded.run, loaded.session().run):
        with pytest.raises(GlowmcuError, match="GM604") as caught:
            run(x)
        assert "[x]" in caught.value.problems[0].hint
        assert "reshape" not in str(caught.value)
    assert loaded.run(x[np.newaxis])[0].shape == (1, 10)


def test_a_file_that_is_not_there_is_not_told_how_to_be(glowmcu_cli: Run, bundle: str) -> None:
    shutil.copy(DIGITS / "digits.onnx", "digits.onnx")
    for command in (
        ("run", bundle, "--input", "nothing.npy"),
        ("profile", "digits.onnx", "--samples", "har.csv"),
    ):
        ended = glowmcu_cli(*command)
        assert ended.exit_code == 2
        assert "No such file or directory" in ended.err
        assert "hint: check the path\n" in ended.err


def test_a_profile_goes_to_a_file_only(glowmcu_cli: Run) -> None:
    Path("folder").mkdir()
    model, samples = str(DIGITS / "digits.onnx"), str(DIGITS / "calibration.npz")
    for output in ("/dev/null", "folder"):
        ended = glowmcu_cli("tune", model, "--samples", samples, "--trials", "1", "-o", output)
        assert ended.exit_code == 2
        assert "error[GM303]" in ended.err
    assert not list(Path().glob("folder*.*"))


def test_the_help_tells_the_limits_that_hold(glowmcu_cli: Run) -> None:
    said = " ".join(glowmcu_cli("compile", "--help").out.split())
    whole = limits.memory_bytes()
    shares = (limits.tensor_bytes(), limits.results_bytes(), limits.file_bytes())
    tensor, results, file = (f"1/{whole // share}" for share in shares)
    assert f"may have {tensor} of it, all results together {results}, the file {file}" in said
