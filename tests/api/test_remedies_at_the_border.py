"""Where storing inputs or outputs does the harm, real numbers at the border are tried and named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.cli import main
from tests.support.onnx_models import finished

onnx = pytest.importorskip("onnx", reason="pip install onnx")
MEAN = np.float32([101325, 22, 0.5, 0])
SPREAD = np.float32([800, 6, 0.3, 0.01])


def normalizing(folder: Path) -> tuple[Path, np.ndarray]:
    """A network that takes sensors in their units and normalizes them itself."""
    random = np.random.default_rng(0)
    arrays = {
        "mean": MEAN,
        "spread": SPREAD,
        "w": random.normal(0, 0.5, (4, 12)).astype(np.float32),
        "v": random.normal(0, 0.5, (12, 2)).astype(np.float32),
    }
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    nodes = [
        node("Sub", ["sensors", "mean"], ["centred"], "sub"),
        node("Div", ["centred", "spread"], ["scaled"], "div"),
        node("MatMul", ["scaled", "w"], ["hidden"], "first"),
        node("Relu", ["hidden"], ["kept"], "relu"),
        node("MatMul", ["kept", "v"], ["y"], "second"),
    ]
    initializers = [onnx.numpy_helper.from_array(data, name) for name, data in arrays.items()]
    inputs, outputs = [value("sensors", 1, (1, 4))], [value("y", 1, (1, 2))]
    (folder / "m.onnx").write_bytes(finished(onnx, nodes, inputs, outputs, initializers))
    return folder / "m.onnx", (MEAN + SPREAD * random.normal(size=(120, 4))).astype(np.float32)


def compiled(folder: Path, **options: Any) -> glowmcu.Bundle:
    model, samples = normalizing(folder)
    return glowmcu.compile(model, samples=samples, output=folder / "out", **options)


def test_sensors_that_the_model_normalizes_are_to_be_handed_over_as_real_numbers(
    tmp_path: Path,
) -> None:
    (entry,) = compiled(tmp_path).manifest.quality
    assert (entry.figures.sqnr_db or 0) < 15
    (remedy,) = entry.remedies
    assert remedy.is_enough
    words = remedy.arguments.split()
    assert words[:3] == ["--io", "float", "--keep-float"]
    chosen = glowmcu.Quantization(io="float", keep_float=words[3].split(","))
    (mended,) = compiled(tmp_path, quantization=chosen).manifest.quality
    assert mended.shortfalls == ()


def test_bytes_that_were_asked_for_at_the_border_stay_bytes(tmp_path: Path) -> None:
    (entry,) = compiled(tmp_path, io="uint8").manifest.quality
    assert entry.shortfalls
    assert not any("--io" in remedy.arguments for remedy in entry.remedies)


def test_a_comparison_with_float_names_real_numbers_at_the_border_as_compile_does(
    tmp_path: Path,
) -> None:
    model, samples = normalizing(tmp_path)
    (entry,) = compiled(tmp_path).manifest.quality
    found = glowmcu.compare(model, samples)
    best = found.remedies[0]
    assert best.arguments == entry.remedies[0].arguments
    assert best.trial.sqnr_db > 25 > found.plain.sqnr_db


@pytest.mark.parametrize("io", ["uint8", "float"])
def test_a_bundle_whose_border_was_asked_for_is_compared_within_it(tmp_path: Path, io: str) -> None:
    model, samples = normalizing(tmp_path)
    glowmcu.profile(model, samples, tmp_path / "p.json")
    given = {"profile": tmp_path / "p.json", "model": model}
    bundle = glowmcu.compile(model, profile=tmp_path / "p.json", io=io, output=tmp_path / "out")
    found = glowmcu.compare(bundle, samples, **given)
    assert not any("--io" in remedy.arguments for remedy in found.remedies)
    assert bool(found.remedies) == (io == "float")


def test_tuning_says_where_real_numbers_at_the_border_would_help(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model, samples = normalizing(tmp_path)
    np.save("s.npy", samples)
    arguments = ["tune", str(model), "--samples", "s.npy", "--trials", "3", "-o", "t.json"]
    assert main(arguments) == 0
    (line,) = (row for row in capsys.readouterr().out.splitlines() if "--io" in row)
    assert line.startswith("  advice   --io float --keep-float ")
    chosen = glowmcu.Quantization(io="float", keep_float=line.split()[4].strip(":").split(","))
    bundle = glowmcu.compile(
        model, profile="t.json", samples=samples, quantization=chosen, output="out"
    )
    assert (bundle.manifest.quality[0].figures.sqnr_db or 0) > 25


@pytest.mark.parametrize("io", ["int8", "float"])
def test_tuning_leaves_a_border_that_was_asked_for(tmp_path: Path, io: Any) -> None:
    model, samples = normalizing(tmp_path)
    assert glowmcu.tune(model, samples, io=io, trials=2).advice is None


def test_neighbours_behind_a_scaler_are_to_get_real_numbers(tmp_path: Path) -> None:
    """Where the scaler takes the mean away the error shows, and hardly any where x was stored."""
    skl2onnx = pytest.importorskip("skl2onnx", reason="pip install skl2onnx")
    from sklearn.datasets import load_wine
    from sklearn.model_selection import train_test_split
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, classes = load_wine(return_X_y=True)
    x, _, classes, _ = train_test_split(x.astype(np.float32), classes, random_state=0)
    fitted = make_pipeline(StandardScaler(), KNeighborsClassifier()).fit(x, classes)
    opsets = {"": 17, "ai.onnx.ml": 3}
    made = skl2onnx.to_onnx(fitted, x[:1], options={"zipmap": False}, target_opset=opsets)
    data: bytes = made.SerializeToString()
    (entry,) = glowmcu.compile(data, samples=x, name="m", output=tmp_path).manifest.quality
    (remedy,) = entry.remedies
    assert entry.shortfalls
    assert remedy.arguments == "--io float"
    assert remedy.is_enough
