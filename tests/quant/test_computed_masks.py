"""Attention masks that are inputs, or computed from one, leave the scores their scale."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import glowmcu
from tests.support.onnx_models import finished, run_onnxruntime

onnx = pytest.importorskip("onnx", reason="pip install onnx")
ROWS, FEATURES = 16, 8
LENGTHS = (5, 9, 16, 12)
Array = npt.NDArray[np.generic]
#: How each mask is made of `m3`, which is 1 where a row counts and 0 behind the end.
MASKS: dict[str, list[tuple[str, str, str]]] = {
    "(1 - m) * -1e4": [("Sub", "one m3", "inverse"), ("Mul", "inverse low", "mask")],
    "(m - 1) * 1e4": [("Sub", "m3 one", "inverse"), ("Mul", "inverse high", "mask")],
    "1e4 * m - 1e4": [("Mul", "m3 high", "large"), ("Sub", "large high", "mask")],
    "where(m, 0, -inf)": [("Greater", "m3 half", "is"), ("Where", "is zero never", "mask")],
    "where(m == 0, -1e4, 0)": [("Equal", "m3 zero", "no"), ("Where", "no low zero", "mask")],
    "1e4 * (1 - m)": [("Sub", "one m3", "inverse"), ("Mul", "inverse high", "mask")],
    "m": [("Identity", "m3", "mask")],
}
#: What is done with scores and mask in front of the softmax.
USES: dict[str, list[tuple[str, str, str]]] = {
    "added": [("Add", "s mask", "masked")],
    "subtracted": [("Sub", "s mask", "masked")],
    "reshaped": [("Add", "s mask", "sum"), ("Reshape", "sum flat", "masked")],
    "after another": [("Where", "past s never", "causal"), ("Add", "causal mask", "masked")],
}
CASES = [
    *((mask, "added") for mask in MASKS if mask != "1e4 * (1 - m)"),
    ("1e4 * (1 - m)", "subtracted"),
    ("(1 - m) * -1e4", "reshaped"),
    ("(1 - m) * -1e4", "after another"),
    ("where(m, 0, -inf)", "after another"),
]


def attention(mask: str, use: str, kind: type[np.generic]) -> bytes:
    """Two layers of attention with one mask of all their columns."""
    node = onnx.helper.make_node
    random = np.random.default_rng(3)
    constants = {
        "w": random.normal(0, 0.5, (FEATURES, FEATURES)).astype(np.float32),
        "low": np.float32(-1e4), "high": np.float32(1e4), "never": np.float32(-np.inf),
        "zero": np.float32(0), "half": np.float32(0.5), "one": np.float32(1),
        "axis": np.array([1], np.int64), "flat": np.array([ROWS, ROWS], np.int64),
        "square": np.array([1, ROWS, ROWS], np.int64),
        "past": np.tril(np.ones((1, ROWS, ROWS), bool)),
    }  # fmt: skip
    nodes = [node("Cast", ["m"], ["real"], to=1), node("Unsqueeze", ["real", "axis"], ["m3"])]
    nodes += [node(name, operands.split(), [result]) for name, operands, result in MASKS[mask]]
    x = "x"
    for layer in range(2):
        mine = {name: f"{name}{layer}" for name in ("q", "k", "s", "sum", "causal", "masked", "p")}
        nodes += [
            node("MatMul", [x, "w"], [mine["q"]]),
            node("Transpose", [x], [mine["k"]], perm=[0, 2, 1]),
            node("MatMul", [mine["q"], mine["k"]], [mine["s"]]),
        ]
        nodes += [
            node(name, [mine.get(each, each) for each in operands.split()], [mine[result]])
            for name, operands, result in USES[use]
        ]
        nodes += [
            node("Softmax", [mine["masked"]], [mine["p"]], axis=-1),
            node("Reshape", [mine["p"], "square"], [f"p3{layer}"]),
            node("MatMul", [f"p3{layer}", x], [f"y{layer}"]),
        ]
        x = f"y{layer}"
    used = {name for item in nodes for name in item.input}
    arrays = [
        onnx.numpy_helper.from_array(np.asarray(data), name)
        for name, data in constants.items()
        if name in used
    ]
    value = onnx.helper.make_tensor_value_info
    shape = (1, ROWS, FEATURES)
    element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    inputs = [value("x", 1, shape), value("m", element, (1, ROWS))]
    return finished(onnx, nodes, inputs, [value(x, 1, shape)], arrays)


def mask_of(mask: str, length: int, kind: type[np.generic]) -> Array:
    counts = np.arange(ROWS) < length
    return (np.where(counts, 0, -1e4) if mask == "m" else counts).astype(kind)


def compiled(model: bytes, samples: dict[str, Array], folder: Path) -> glowmcu.Bundle:
    (folder / "m.onnx").write_bytes(model)
    return glowmcu.compile(folder / "m.onnx", board="nrf52", output=folder / "out", samples=samples)


def stored(real: Array, bundle: glowmcu.Bundle, position: int) -> Array:
    given = bundle.manifest.inputs[position]
    if given.scale is None:
        return real
    steps = np.round(real.astype(np.float64) / given.scale) + (given.zero_point or 0)
    return np.clip(steps, -128, 127).astype(np.int8)


def decibels(bundle: glowmcu.Bundle, model: bytes, mask: str, kind: type[np.generic]) -> float:
    """Signal to noise ratio over sequences of several lengths, against onnxruntime."""
    (made,) = bundle.manifest.outputs
    assert made.scale is not None
    signal = noise = 0.0
    for seed, length in enumerate(LENGTHS):
        x = np.random.default_rng(seed).normal(size=(1, ROWS, FEATURES)).astype(np.float32)
        m = mask_of(mask, length, kind)[np.newaxis]
        (got,) = bundle.run([stored(x, bundle, 0), stored(m, bundle, 1)])
        (want,) = run_onnxruntime(model, [x, m])
        real = (got.astype(np.float64) - (made.zero_point or 0)) * made.scale
        signal += float((want**2).sum())
        noise += float(((real - want) ** 2).sum())
    return float(10 * np.log10(signal / noise))


def samples_of(mask: str, lengths: list[int], kind: type[np.generic]) -> dict[str, Array]:
    shape = (len(lengths), ROWS, FEATURES)
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    return {"x": x, "m": np.stack([mask_of(mask, length, kind) for length in lengths])}


@pytest.mark.parametrize(("mask", "use"), CASES)
def test_a_mask_that_is_computed_takes_no_steps_of_the_scores(
    mask: str, use: str, tmp_path: Path
) -> None:
    kind = np.float32 if mask == "m" else np.int64
    model = attention(mask, use, kind)
    lengths = [4 + i % 13 for i in range(16)]
    bundle = compiled(model, samples_of(mask, lengths, kind), tmp_path)
    assert decibels(bundle, model, mask, kind) > 22


@pytest.mark.parametrize("kind", [np.int32, np.float32, np.bool_])
def test_what_no_sample_forbids_is_forbidden_all_the_same(
    kind: type[np.generic], tmp_path: Path
) -> None:
    mask = "(1 - m) * -1e4"
    model = attention(mask, "added", kind)
    bundle = compiled(model, samples_of(mask, [ROWS] * 16, kind), tmp_path)
    assert decibels(bundle, model, mask, kind) > 22


@pytest.mark.arm
def test_a_cortex_m4_gives_the_bytes_of_the_host(tmp_path: Path) -> None:
    mask = "(1 - m) * -1e4"
    model = attention(mask, "after another", np.int32)
    bundle = compiled(model, samples_of(mask, list(range(1, 17)), np.int32), tmp_path)
    x = np.random.default_rng(5).normal(size=(1, ROWS, FEATURES)).astype(np.float32)
    inputs = [stored(x, bundle, 0), mask_of(mask, 7, np.int32)[np.newaxis]]
    on_host, on_target = (bundle.measure(inputs, on=name) for name in ("host", "cortex-m"))
    np.testing.assert_array_equal(on_host.outputs[0], on_target.outputs[0])


def test_large_numbers_that_an_output_shows_keep_their_range(tmp_path: Path) -> None:
    model = onnx.load_from_string(attention("(1 - m) * -1e4", "added", np.int32))
    model.graph.output.append(onnx.helper.make_tensor_value_info("mask", 1, (1, 1, ROWS)))
    samples = samples_of("(1 - m) * -1e4", [4, 9, 16, 12], np.int32)
    bundle = compiled(model.SerializeToString(), samples, tmp_path)
    shown = bundle.manifest.outputs[1]
    assert shown.scale is not None
    assert shown.scale * 255 == pytest.approx(1e4)
