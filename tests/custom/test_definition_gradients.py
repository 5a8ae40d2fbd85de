"""Gradients of operators by definition: their C, and bundles that learn through them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.custom_c import read_custom
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder, TensorRef
from glowmcu.index_notation.derivative import gradient_of
from glowmcu.index_notation.meaning import results
from glowmcu.input_options import InputOptions
from glowmcu.ir.interpreter import Session
from glowmcu.ir.text import parse_graph, print_graph
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import application_graph
from glowmcu.training import training_of
from tests.custom.test_definitions import computed_in_c, operands, planned
from tests.gradient.definitions import DEFINITIONS

#: It smooths along the channels, and is a function of several elements of its operand.
SMOOTH = """
def smooth(x: "float32[B, C]", by: "float32[K]") -> "y: float32[B, C]":
    for c in range(C):
        y[b, c] += by[k] * x[b, clip(c + k - 1, 0, C - 1)]
    y[b, c] = y[b, c] * sigmoid(y[b, c])
"""


@pytest.mark.parametrize("case", DEFINITIONS.values(), ids=DEFINITIONS)
def test_its_c_computes_what_the_gradient_means(
    case: tuple[str, tuple[tuple[int, ...], ...]], tmp_path: Path
) -> None:
    text, shapes = case
    dtypes = ["int32" if "at:" in text and index == 1 else "float32" for index in range(9)]
    plan = planned(text, tuple(zip(shapes, dtypes, strict=False)))
    for form in plan.definition.inputs:
        made = gradient_of(plan, form.name)
        assert (made is None) is (form.dtype == "int32")
        if made is None:
            continue
        given = [(plan.shapes[name], plan.dtypes[name]) for name in made.operands]
        of_it = planned(made.text, (*given, (plan.outputs[0], "float32")))
        assert of_it.outputs == (plan.shapes[form.name],)
        inputs = operands(of_it, 4)
        (wanted,), (got,) = results(of_it, inputs), computed_in_c(of_it, inputs, tmp_path)
        assert np.allclose(wanted, got, rtol=2e-5, atol=2e-6, equal_nan=True)


def _dense(b: ModelBuilder, x: TensorRef, count: int, depth: int, seed: int) -> TensorRef:
    random = np.random.default_rng(seed)
    w = b.constant(f"w{seed}", random.normal(0, 0.5, (count, depth)).astype(np.float32))
    bias = b.constant(f"b{seed}", random.normal(0, 0.1, count).astype(np.float32))
    y = b.tensor(f"y{seed}", (1, count), "float32")
    b.op("FULLY_CONNECTED", [x, w, bias], [y])
    return y


def network(folder: Path) -> Path:
    """Two layers, between which the definition stands."""
    b = ModelBuilder()
    x = b.input("x", (1, 6), "float32")
    hidden = _dense(b, x, 8, 6, 1)
    by = b.constant("by", np.array([0.25, 0.5, 0.25], np.float32))
    smooth = b.tensor("smooth", (1, 8), "float32")
    b.custom_op("Smooth", [hidden, by], [smooth])
    b.output(_dense(b, smooth, 3, 8, 2))
    path = folder / "m.tflite"
    path.write_bytes(b.finish())
    return path


def custom(folder: Path, text: str = SMOOTH) -> dict[str, Path]:
    (folder / "smooth.py").write_text(text)
    return {"Smooth": folder / "smooth.py"}


@pytest.mark.parametrize(
    "on",
    [
        ("host", None),
        pytest.param(("cortex-m", "cortex-m4"), marks=pytest.mark.arm),
        pytest.param(("cortex-m", "cortex-m0plus"), marks=pytest.mark.arm),
    ],
    ids=str,
)
def test_a_bundle_learns_through_it(on: tuple[str, str | None], tmp_path: Path) -> None:
    path, files = network(tmp_path), custom(tmp_path)
    options = {"train": "last=2", "learning_rate": 0.1}
    bundle = glowmcu.compile(
        path, "nrf52", tmp_path / "net", "net", custom=files, **options  # type: ignore[arg-type]
    )  # fmt: skip
    inputs = InputOptions(
        training=training_of(**options), custom=read_custom(files)  # type: ignore[arg-type]
    )  # fmt: skip
    graph = application_graph(path.read_bytes(), path.name, inputs=inputs)[0]
    meaning, session = Session(graph), bundle.session(*on)  # type: ignore[arg-type]
    random = np.random.default_rng(3)
    data = [(random.normal(size=(1, 6)).astype(np.float32), number % 3) for number in range(6)]
    losses = []
    for x, label in data * 15:
        loss = session.train([x], label)
        wanted = meaning.run([x, np.array([label], np.int32)])[1]
        np.testing.assert_allclose(loss, wanted[0], rtol=1e-3, atol=1e-5)
        losses.append(loss)
    assert np.mean(losses[-6:]) < 0.5 * np.mean(losses[:6])


def test_a_bundle_that_learns_through_it_is_verified(tmp_path: Path) -> None:
    path, files = network(tmp_path), custom(tmp_path)
    bundle = glowmcu.compile(path, output=tmp_path / "net", custom=files, train="last=2")
    files["Smooth"].unlink()
    assert glowmcu.verify(bundle, ["host"], model=path).passed


def test_gradients_have_a_text_form(tmp_path: Path) -> None:
    inputs = InputOptions(training=training_of("last=2"), custom=read_custom(custom(tmp_path)))
    graph = application_graph(network(tmp_path).read_bytes(), "m.tflite", inputs=inputs)[0]
    text = print_graph(graph)
    assert "gradient of Smooth" in text
    assert print_graph(parse_graph(text, load_operations())) == text


def test_a_definition_without_gradient_is_refused_where_it_is_trained(tmp_path: Path) -> None:
    text = SMOOTH.replace("x[b, clip(c + k - 1, 0, C - 1)]", "x[b, c // 2]")
    files = custom(tmp_path, text)
    said = r"smooth\.py, line 4: a subscript c // 2 has no gradient"
    with pytest.raises(GlowmcuError, match=said):
        glowmcu.compile(network(tmp_path), output=tmp_path / "net", custom=files, train="last=2")
    glowmcu.compile(network(tmp_path), output=tmp_path / "net", custom=files, train="last=1")
