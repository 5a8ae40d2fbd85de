"""A command prints what the function of its name gives, and both leave the same facts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import glowmcu
from glowmcu.cli import main
from glowmcu.facts import document
from glowmcu.facts.document import read_facts
from glowmcu.verify.executors import executor

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
MODEL, FLOAT, SAMPLES = (
    str(DIGITS / name) for name in ("digits_int8.tflite", "digits.onnx", "calibration.npz")
)


@pytest.fixture
def bundle(tmp_path: Path) -> glowmcu.Bundle:
    return glowmcu.compile(MODEL, board="nrf52", output=tmp_path / "digits")


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    capsys.readouterr()
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def plain(body: object) -> Any:
    return json.loads(json.dumps(body))


def test_inspect(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "inspect", FLOAT) == plain(glowmcu.inspect(FLOAT).json())


def test_verify(bundle: glowmcu.Bundle, capsys: pytest.CaptureFixture[str]) -> None:
    found = glowmcu.verify(bundle, samples=2, seed=5, model=MODEL)
    assert read_facts(bundle.path)["verify"] == plain(found.json())
    options = ("--samples", 2, "--seed", 5, "--model", MODEL)
    assert printed(capsys, "verify", bundle.path, *options) == plain(found.json())


def test_verify_of_a_model_in_memory(bundle: glowmcu.Bundle) -> None:
    data = Path(MODEL).read_bytes()
    assert glowmcu.verify(bundle.path, ["host"], model=data).reference.startswith("Python")
    with pytest.raises(glowmcu.GlowmcuError, match="GM608"):
        glowmcu.verify(bundle, model=Path(FLOAT).read_bytes())
    with pytest.raises(glowmcu.GlowmcuError, match="GM606"):
        glowmcu.verify(bundle, "gpu")  # type: ignore[arg-type]


def test_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = glowmcu.profile(FLOAT, SAMPLES, output=tmp_path / "p.json")
    quantized = glowmcu.compile(FLOAT, profile=tmp_path / "p.json", output=tmp_path / "int8")
    found = glowmcu.compare(quantized, SAMPLES, model=Path(FLOAT).read_bytes(), profile=made)
    assert read_facts(quantized.path)["comparison"] == plain(found.json())
    options = ("--against", "float", "--samples", SAMPLES, "--model", FLOAT)
    body = printed(
        capsys, "verify", quantized.path, *options, "--profile", tmp_path / "p.json"
    )  # fmt: skip
    assert body == plain(found.json())


def test_bench(bundle: glowmcu.Bundle, capsys: pytest.CaptureFixture[str]) -> None:
    if (lacking := executor("cortex-m", bundle.board).missing()) is not None:
        pytest.skip(lacking)
    found = glowmcu.bench(bundle)
    assert read_facts(bundle.path)["bench"] == plain(found.json())
    assert printed(capsys, "bench", bundle.path) == plain(found.json())
    slower = glowmcu.bench(bundle.path, wait_states="board", core="cortex-m33", hot=2)
    assert slower.wait_states == bundle.board.flash_wait_states
    assert (slower.core, slower.clock_hz, len(slower.hot)) == ("cortex-m33", None, 2)
    kept = read_facts(bundle.path)["bench"]
    assert kept == plain(found.json()), "of the board's core alone"
    with pytest.raises(glowmcu.GlowmcuError, match="GM170") as caught:
        found.check(max_cycles=1, max_stack=1)
    assert str(bundle.path) in str(caught.value)
    limited = glowmcu.bench(bundle, max_cycles=1, max_stack=1 << 20)
    assert read_facts(bundle.path)["bench"]["limits"] == {"cycles": 1, "stack_bytes": 1 << 20}
    with pytest.raises(glowmcu.GlowmcuError, match="GM170"):
        limited.check()
    limited.check(max_cycles=1 << 30)


def test_bench_keeps_its_facts_once(
    bundle: glowmcu.Bundle, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if (lacking := executor("cortex-m", bundle.board).missing()) is not None:
        pytest.skip(lacking)
    kept: list[object] = []
    monkeypatch.setattr(document, "write_text_file", lambda *given: kept.append(given))
    printed(capsys, "bench", bundle.path, "--max-cycles", "1G")
    assert len(kept) == 1


@pytest.mark.parametrize("waits", [-1, 101])
def test_wait_states_have_the_bounds_of_the_command(bundle: glowmcu.Bundle, waits: int) -> None:
    with pytest.raises(glowmcu.GlowmcuError, match="GM710"):
        glowmcu.bench(bundle, wait_states=waits)


def test_diff_and_report(bundle: glowmcu.Bundle, tmp_path: Path, capsys: Any) -> None:
    small = glowmcu.compile(MODEL, board="nrf52", optimize="size", output=tmp_path / "small")
    body = plain(glowmcu.diff(bundle, small.path).json())
    assert printed(capsys, "diff", bundle.path, small.path) == body
    page = glowmcu.report(bundle, tmp_path / "mine.html")
    assert main(["report", str(bundle.path), "-o", str(tmp_path / "theirs.html")]) == 0
    assert (tmp_path / "theirs.html").read_text(encoding="utf-8") == page.html
    with pytest.raises(glowmcu.GlowmcuError, match="GM718"):
        page.save(tmp_path)


def test_example(tmp_path: Path) -> None:
    files = glowmcu.example("digits", tmp_path / "new")
    assert all(file.is_file() for file in files)
    (tmp_path / "new" / "seven.npy").write_bytes(b"mine")
    with pytest.raises(glowmcu.GlowmcuError, match="GM161"):
        glowmcu.example("digits", tmp_path / "new")
    glowmcu.example("digits", tmp_path / "new", force=True)
