"""Names of classes: in the manifest, and wherever a person is told of a class."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from tests.bundle.models import digits
from tests.cli.conftest import Run
from tests.frontend.test_labels import DIGITS, lines, with_files


@pytest.fixture
def named(tmp_path: Path) -> glowmcu.Bundle:
    model = tmp_path / "digits.tflite"
    model.write_bytes(with_files(digits(), {"labels.txt": lines(*DIGITS)}))
    return glowmcu.compile(model, output=tmp_path / "named")


@pytest.fixture
def plain(tmp_path: Path) -> glowmcu.Bundle:
    (tmp_path / "plain.tflite").write_bytes(digits())
    return glowmcu.compile(tmp_path / "plain.tflite", output=tmp_path / "plain", name="digits")


@pytest.fixture
def image(named: glowmcu.Bundle, tmp_path: Path) -> str:
    entry = named.manifest.inputs[0]
    np.save(tmp_path / "image.npy", np.full(entry.shape, entry.zero_point, entry.dtype))
    return str(tmp_path / "image.npy")


def test_a_run_names_the_class_with_the_highest_score(
    named: glowmcu.Bundle, plain: glowmcu.Bundle, image: str, glowmcu_cli: Run
) -> None:
    (scores,) = named.run([np.load(image)])
    best = int(scores.argmax())
    said = glowmcu_cli("run", str(named.path), "--input", image).out
    real = named.dequantize(named.manifest.outputs[0].name, scores).max()
    assert f"  highest: {DIGITS[best]} (class {best}), {real:.4g}" in said.splitlines()
    (output,) = json.loads(glowmcu_cli("run", str(named.path), "--input", image, "--json").out)[
        "outputs"
    ]
    assert (output["class"], output["label"]) == (best, DIGITS[best])
    assert "highest" not in glowmcu_cli("run", str(plain.path), "--input", image).out
    body = json.loads(glowmcu_cli("run", str(plain.path), "--input", image, "--json").out)
    assert "label" not in body["outputs"][0]


def _report(bundle: glowmcu.Bundle) -> str:
    glowmcu.report(bundle, bundle.path.parent / "report.html")
    return (bundle.path.parent / "report.html").read_text(encoding="utf-8")


def test_labels_are_in_the_manifest_the_report_and_python(
    named: glowmcu.Bundle, plain: glowmcu.Bundle, glowmcu_cli: Run
) -> None:
    assert json.loads((named.path / "manifest.json").read_text())["labels"] == list(DIGITS)
    assert glowmcu.load(named.path).labels == named.labels == DIGITS
    assert plain.labels == ()
    assert "zero, one, two" in named._repr_html_()
    page = _report(named)
    assert "10 classes have names" in page
    assert "<li>seven</li>" in page
    assert "classes have names" not in _report(plain)
    changes = {change.what: change for change in glowmcu.diff(plain, named).interface}
    assert changes["classes"].after == ", ".join(DIGITS)


def test_compile_lists_a_few_classes_and_says_how_many_there_are(
    tmp_path: Path, glowmcu_cli: Run
) -> None:
    (tmp_path / "m.tflite").write_bytes(digits())
    (tmp_path / "names.txt").write_bytes(lines("[red]zero", "o\u202ene", *DIGITS[2:]))
    call = ("compile", str(tmp_path / "m.tflite"), "-o", str(tmp_path / "out"))
    out = glowmcu_cli(*call, "--labels", str(tmp_path / "names.txt")).out
    assert "classes  [red]zero, 'o\\u202ene', two" in out
    assert "(10 in all)" in out


def test_a_bundle_of_before_has_no_labels(named: glowmcu.Bundle) -> None:
    file = named.path / "manifest.json"
    body = json.loads(file.read_text())
    del body["labels"]
    file.write_text(json.dumps(body))
    assert glowmcu.load(named.path).labels == ()


def test_a_stream_names_the_class_of_each_run(
    named: glowmcu.Bundle, plain: glowmcu.Bundle, glowmcu_cli: Run, tmp_path: Path
) -> None:
    entry = named.manifest.inputs[0]
    random = np.random.default_rng(3)
    pictures = random.integers(-128, 128, (30, *entry.shape)).astype(entry.dtype)
    pictures[4:9] = pictures[4]  # runs that agree share a line
    np.save(tmp_path / "stream.npy", pictures)
    scores = [named.run([picture])[0].reshape(-1) for picture in pictures]
    classes = [int(one.argmax()) for one in scores]
    call = ("run", str(named.path), "--stream", str(tmp_path / "stream.npy"))
    (output,) = json.loads(glowmcu_cli(*call, "--json").out)["outputs"]
    assert output["runs"] == list(range(30))
    assert output["classes"] == classes
    assert output["labels"] == [DIGITS[best] for best in classes]
    told = [line.strip() for line in glowmcu_cli(*call).out.splitlines() if "(class" in line]
    groups = [list(group) for _, group in groupby(range(30), key=lambda run: classes[run])]
    assert max(map(len, groups)) >= 5
    for line, runs in zip(told, groups, strict=False):
        where, _, what = line.partition(": ")
        several = f"runs {runs[0]} to {runs[-1]}"
        assert where == (several if len(runs) > 1 else f"run {runs[0]}")
        assert what.startswith(f"{DIGITS[classes[runs[0]]]} (class {classes[runs[0]]}), 0.")
    assert len(told) == min(len(groups), 24)
    unnamed = ("run", str(plain.path), "--stream", str(tmp_path / "stream.npy"))
    assert "(class" not in glowmcu_cli(*unnamed).out
    assert "classes" not in json.loads(glowmcu_cli(*unnamed, "--json").out)["outputs"][0]


def test_many_changes_of_the_class_fit_a_screen(
    named: glowmcu.Bundle, glowmcu_cli: Run, tmp_path: Path
) -> None:
    entry = named.manifest.inputs[0]
    random = np.random.default_rng(3)
    pictures = random.integers(-128, 128, (200, *entry.shape)).astype(entry.dtype)
    np.save(tmp_path / "stream.npy", pictures)
    out = glowmcu_cli("run", str(named.path), "--stream", str(tmp_path / "stream.npy")).out
    assert sum("(class" in line for line in out.splitlines()) == 24
    assert "more: --json has the class of each run" in out
