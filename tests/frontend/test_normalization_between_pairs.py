"""Normalizations of rows between pairs are computed on integers, a step from onnxruntime's."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import ElementType
from tests.frontend.test_pairs_of_16_bits import F32, node, onnx, pair, value
from tests.support.check_model import check_model
from tests.support.onnx_models import finished, run_onnxruntime

Array = npt.NDArray[Any]
RANDOM = np.random.default_rng(3)
INT8 = (np.int8(3), 0.03, np.int8(-5), 0.04)
UINT8 = (np.uint8(130), 0.03, np.uint8(120), 0.04)


def gains(*shape: int) -> list[Array]:
    """What the operator multiplies by, and what it adds."""
    pair_of = RANDOM.normal(1, 0.3, shape), RANDOM.normal(0, 0.5, shape)
    return [array.astype(np.float32) for array in pair_of]


def stored(name: str, real: Array, scale: float, dtype: str) -> tuple[Any, dict[str, Array]]:
    """A constant behind DequantizeLinear."""
    numbers = np.rint(real / np.float32(scale)).astype(dtype)
    operands = {f"{name}/q": numbers, f"{name}/s": np.array(scale, np.float32)}
    return node("DequantizeLinear", " ".join(operands), name), operands


def between_pairs(
    kind: str, shape: tuple[int, ...], numbers: tuple[Any, ...], operands: list[Array],
    paired: bool = False, behind: str = "", opset: int = 21, **attributes: Any,
) -> bytes:  # fmt: skip
    """The operator between two pairs; `paired`: its constants are stored as well."""
    constants = dict(zip(("zx", "s", "zy", "t"), map(np.array, numbers), strict=True))
    constants |= {name: constants[name].astype(np.float32) for name in "st"}
    nodes = pair("x", "s", "zx", "a")
    names = ["a"]
    for place, real in enumerate(operands):
        names.append(f"p{place}")
        if paired:
            scale = float(np.abs(operands[0]).max()) / 127 * (numbers[1] if place else 1.0)
            made, own = stored(names[-1], real, scale, "int32" if place else "int8")
            nodes, constants = [*nodes, made], constants | own
        else:
            constants[names[-1]] = real
    nodes.append(node(kind, " ".join(names), "n" if behind else "y", **attributes))
    nodes += [node(behind, "n", "y")] if behind else []
    nodes += pair("y", "t", "zy", "z")
    data = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
    return finished(onnx, nodes, [value("x", F32, *shape)], [value("z", F32, *shape)], data, opset)


ROWS, IMAGE = (2, 5, 32), (1, 6, 8, 8)
CASES: dict[str, tuple[Any, ...]] = {
    "layer norm": ("LayerNormalization", ROWS, INT8, gains(32)),
    "layer norm of two axes": ("LayerNormalization", ROWS, INT8, gains(5, 32), {"axis": 1}),
    "no bias": ("LayerNormalization", ROWS, UINT8, gains(32)[:1]),
    "constants of pairs": ("LayerNormalization", ROWS, UINT8, gains(32), {"paired": True}),
    "a rectifier behind": ("LayerNormalization", ROWS, INT8, gains(32), {"behind": "Relu"}),
    "instance norm": ("InstanceNormalization", IMAGE, INT8, gains(6)),
    "instance norm of pairs": ("InstanceNormalization", IMAGE, UINT8, gains(6), {"paired": True}),
    "group norm": ("GroupNormalization", IMAGE, INT8, gains(6), {"num_groups": 2}),
    "into 16 bits": (
        "InstanceNormalization", IMAGE, (*INT8[:2], np.int16(0), 6e-4), gains(6), {}, 3.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_normalization_between_pairs_is_computed_on_integers(name: str) -> None:
    kind, shape, numbers, operands, *more = CASES[name]
    attributes, steps = (*more, *({}, 1.0)[len(more) :])
    data = between_pairs(kind, shape, numbers, operands, **attributes)
    inputs = [[RANDOM.normal(0, 1.2, shape).astype(np.float32)] for _ in range(3)]
    inputs.append([np.full(shape, 0.7, np.float32)])
    compilation = check_model(data, inputs)
    types = {
        made.op.name: made.output.type.element for made in compilation.imported.nodes if made.inputs
    }
    assert types.pop("dequantize") is ElementType.F32
    assert ElementType.F32 not in types.values()
    assert types["mean_variance_normalization"] is ElementType.I16
    for arrays in inputs:
        (got,), (want,) = run_graph(compilation.imported, arrays), run_onnxruntime(data, arrays)
        assert np.abs(got - want).max() / numbers[3] <= steps + 0.01


FLOAT: dict[str, tuple[Any, ...]] = {
    "no pair behind": ("LayerNormalization", ROWS, INT8, gains(32), {"behind": "Sin"}),
    "steps that int16 has not": (
        "LayerNormalization", ROWS, (*INT8[:2], np.int16(0), 1e-5), gains(32),
    ),
    "a gain that is nothing": (
        "LayerNormalization", ROWS, INT8, [np.zeros(32, np.float32), gains(32)[1]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOAT)
def test_a_normalization_stays_float_where_int16_would_lose_something(name: str) -> None:
    kind, shape, numbers, operands, *more = FLOAT[name]
    data = between_pairs(kind, shape, numbers, operands, **(more[0] if more else {}))
    inputs = [[RANDOM.normal(0, 1.2, shape).astype(np.float32)]]
    compilation = check_model(data, inputs)
    (found,) = (
        made for made in compilation.imported.nodes
        if made.op.name == "mean_variance_normalization"
    )  # fmt: skip
    assert found.output.type.element is ElementType.F32
    (got,), (want,) = run_graph(compilation.imported, inputs[0]), run_onnxruntime(data, inputs[0])
    assert np.abs(got - want).max() / numbers[3] <= 1.01


@pytest.mark.parametrize("other", ["Sin", "Add"])
def test_a_normalization_that_is_read_as_float_too_stays_float(other: str) -> None:
    """By a function beside its pair, or by a sum with what is computed."""
    nodes = [
        *pair("x", "s", "z", "a"), node("LayerNormalization", "a g b", "n"),
        node("Mul", "n g", "m"), *pair("m", "t", "z", "q"),
        node(other, "n a" if other == "Add" else "n", "y"), *pair("y", "t", "z", "r"),
    ]  # fmt: skip
    gain, bias = gains(32)
    data = {"s": np.float32(0.03), "t": np.float32(0.05), "z": np.array(0, np.int8)}
    made = [
        onnx.numpy_helper.from_array(np.asarray(array), name)
        for name, array in {**data, "g": gain, "b": bias}.items()
    ]
    outputs = [value(name, F32, *ROWS) for name in "qr"]
    model = finished(onnx, nodes, [value("x", F32, *ROWS)], outputs, made, 21)
    inputs = [RANDOM.normal(0, 1.2, ROWS).astype(np.float32)]
    compilation = check_model(model, [inputs])
    (found,) = (
        item for item in compilation.imported.nodes
        if item.op.name == "mean_variance_normalization"
    )  # fmt: skip
    assert found.output.type.element is ElementType.F32
    pairs = zip(
        run_graph(compilation.imported, inputs), run_onnxruntime(model, inputs), strict=True
    )
    assert all(np.abs(got - want).max() <= 0.0501 for got, want in pairs)


PROBABILITIES = {
    "onnxruntime's": (np.uint8(0), 1 / 255),
    "symmetric": (np.int8(0), 1 / 127),
    "finer than the kernels' own": (np.int8(-128), 0.3 / 255),
}


@pytest.mark.parametrize("name", PROBABILITIES)
def test_probabilities_of_any_scale_are_rounded_once(name: str) -> None:
    """Rounded to 1/256 first, a tenth to a third of them would be a step too large."""
    point, scale = PROBABILITIES[name]
    data = between_pairs("Softmax", (200, 10), (np.int8(3), 0.03, point, scale), [], axis=-1)
    inputs = [RANDOM.normal(0, 1, (200, 10)).astype(np.float32)]
    compilation = check_model(data, [inputs])
    made = {each.op.name: each.output.type.element for each in compilation.imported.nodes}
    assert made["softmax"] is ElementType.I16
    (got,), (want,) = run_graph(compilation.imported, inputs), run_onnxruntime(data, inputs)
    steps = np.rint((got - want) / scale)
    assert np.abs(steps).max() <= 1
    assert np.count_nonzero(steps) <= 0.01 * steps.size
