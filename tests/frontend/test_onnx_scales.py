"""QuantizeLinear and DequantizeLinear in every form of operands, against ONNX's own meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.onnx.container import read_onnx_container
from glowmcu.frontend.onnx.importer import Import
from glowmcu.frontend.onnx.quantization import _around_zero, import_quantize
from glowmcu.frontend.read_model import read_model
from glowmcu.input_options import InputOptions
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import Quantization
from tests.support.onnx_models import onnx_model

reference = pytest.importorskip("onnx.reference", reason="pip install onnx")
SHAPE = (2, 4, 6)
#: Attributes, and the shape of scales and zero points that they go with.
FORMS: dict[str, tuple[dict[str, int], tuple[int, ...]]] = {
    "one scale": ({}, ()),
    "one scale in a vector": ({}, (1,)),
    "one scale in a matrix": ({}, (1, 1)),
    "a scale a row, by default": ({}, (4,)),
    "along the first axis": ({"axis": 0}, (2,)),
    "along the last axis": ({"axis": -1}, (6,)),
    "along the second axis": ({"axis": 1}, (4,)),
    "blocks by default": ({"block_size": 2}, (2, 2, 6)),
    "blocks of the first axis": ({"axis": 0, "block_size": 1}, (2, 4, 6)),
    "blocks of the last axis": ({"axis": -1, "block_size": 3}, (2, 4, 2)),
    "one block": ({"axis": 1, "block_size": 4}, (2, 1, 6)),
}


def operands(form: str, kind: str, dtype: str, point: str, at_run_time: bool) -> Any:
    """Operands of the model, and what is fed."""
    shape = FORMS[form][1]
    random = np.random.default_rng(7)
    limits = np.iinfo(dtype)
    if kind == "QuantizeLinear":
        x = random.normal(0, 40, SHAPE).astype(np.float32)
    else:
        x = random.integers(limits.min, limits.max, SHAPE).astype(dtype)
    scale = random.uniform(0.1, 0.9, shape).astype(np.float32)
    zero = random.integers(max(limits.min, -90), min(limits.max, 90), shape).astype(dtype)
    given: list[Any] = [("x", str(x.dtype), SHAPE)]
    feeds = [x]
    for name, array, is_fed in (("s", scale, at_run_time), ("z", zero, point == "at run time")):
        if name == "z" and point == "none":
            continue
        given.append((name, str(array.dtype), shape) if is_fed else array)
        feeds += [array] if is_fed else []
    return given, feeds


def cases() -> list[tuple[str, str, str]]:
    """Operators, types, zero points: without one the result is uint8, and int32 has 0."""
    found = [
        (kind, dtype, point)
        for kind in ("QuantizeLinear", "DequantizeLinear")
        for dtype in ("int8", "uint8")
        for point in ("none", "known", "at run time")
    ]
    found.remove(("QuantizeLinear", "int8", "none"))
    return [*found, ("DequantizeLinear", "int32", "none")]


@pytest.mark.parametrize("at_run_time", [False, True], ids=["known scales", "given scales"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("kind", "dtype", "point"), cases())
def test_every_form_means_what_onnx_says(
    kind: str, dtype: str, point: str, form: str, at_run_time: bool
) -> None:
    given, feeds = operands(form, kind, dtype, point, at_run_time)
    data = onnx_model(kind, given, FORMS[form][0], opset=21)
    session = reference.ReferenceEvaluator(data)
    (want,) = session.run(None, dict(zip(session.input_names, feeds, strict=True)))
    graph = read_model(data, "m.onnx")
    assert [value.name for value in graph.inputs] == session.input_names
    (got,) = run_graph(graph, feeds)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if kind == "QuantizeLinear":
        assert np.abs(got.astype(int) - want.astype(int)).max() == 0
    else:
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("data", "points", "axis", "moved"),
    [
        (np.int8([0, 7, 15]), (8,), None, [-8, -1, 7]), (np.int8([0, 15]), (15,), None, [-15, 0]),
        (np.int8([0, 16]), (1,), None, [-1, 15]), (np.int8([0, 17]), (1,), None, None),
        (np.int8([-1, 15]), (8,), None, None), (np.int8([0, 15]), (0,), None, None),
        (np.uint8([0, 15]), (8,), None, None), (np.int32([0, 15]), (8,), None, None),
        (np.int8([[0, 9], [4, 15]]), (8, 0), 0, [[-8, 1], [4, 15]]),
        (np.int8([[0, 9], [4, 15]]), (8, 0), 1, [[-8, 9], [-4, 15]]),
        (np.int8([]), (8,), None, []),
    ],
    ids=str,
)  # fmt: skip
def test_numbers_of_four_bits_lie_around_zero(
    data: Any, points: tuple[int, ...], axis: int | None, moved: Any
) -> None:
    """int8 from 0 on, with zero points, where at most 15 is left on either side."""
    before = Quantization((0.5,) * len(points), points, axis)
    got, after = _around_zero(data, before)
    if moved is None:
        assert got is data
        assert after == before
        return
    assert (got.dtype, got.tolist()) == (np.int8, moved)
    assert after == Quantization(before.scales, (0,) * len(points), axis)


@pytest.mark.parametrize("size", [-2, -1, 3, 5, 8])
def test_blocks_are_parts_of_their_axis(size: int) -> None:
    given = [("x", "int8", SHAPE), ("s", "float32", (2, 2, 6))]
    data = onnx_model("DequantizeLinear", given, {"axis": 1, "block_size": size}, opset=21)
    with pytest.raises(GlowmcuError) as caught:
        read_model(data, "m.onnx")
    (problem,) = caught.value.problems
    assert problem.code == "GM105"
    assert problem.message.endswith(f"blocks of {size} on an axis of 4")


REAL, BYTES = ("x", "float32", SHAPE), ("x", "int8", SHAPE)
ONE, NONE = np.float32(0.5), np.int8(0)
#: Operands that no quantization has, and what is said of them.
REFUSED: dict[str, tuple[str, list[Any], dict[str, int], str]] = {
    "a scale of zero": ("Quantize", [REAL, np.float32(0), NONE], {}, "GM105 a scale is not"),
    "a negative scale": ("Dequantize", [BYTES, np.float32(-1)], {}, "GM105 a scale is not"),
    "an infinite scale": ("Quantize", [REAL, np.float32(np.inf)], {}, "GM105 a scale is not"),
    "one scale that is none": (
        "Dequantize", [BYTES, np.float32([1, 1, np.nan, 1])], {}, "GM105 a scale is not",
    ),
    "more zero points than scales": (
        "Quantize", [REAL, ONE, np.int8([1, 2, 3, 4])], {}, "GM106 1 scales, 4 zero points",
    ),
    "fewer zero points than scales": (
        "Dequantize", [BYTES, np.ones(4, np.float32), np.int8([1, 2])], {},
        "GM106 4 scales, 2 zero points",
    ),
    "scales of another axis": (
        "Dequantize", [BYTES, np.ones(4, np.float32), np.zeros(4, np.int8)], {"axis": 2},
        "GM106 4 scales on axis 2 of ",
    ),
    "bytes to bytes": ("Quantize", [BYTES, ONE, NONE], {}, "GM105 "),
    "int32 of real numbers": ("Quantize", [REAL, ONE, np.int32(0)], {}, "GM105 "),
    "a constant that is no number": (
        "Quantize", [np.float32([1, np.nan]), ONE, NONE], {}, "GM105 a constant holds NaN",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_scales_and_types_that_cannot_be_are_refused(name: str) -> None:
    kind, given, attributes, said = REFUSED[name]
    data = onnx_model(f"{kind}Linear", given, attributes, opset=21)
    with pytest.raises(GlowmcuError) as caught:
        read_model(data, "m.onnx")
    problem = caught.value.problems[0]
    assert problem.code == said[:5]
    assert f"{kind}Linear: {said[6:]}" in problem.message


@pytest.mark.parametrize(
    ("scales", "points", "axis", "wanted"),
    [
        (ONE, NONE, 1, [[2, -3, 127], [0, 2, -128]]),
        (ONE, np.int8(5), 1, [[7, 2, 127], [5, 7, -128]]),
        (np.float32([1, 0.5]), np.int8([1, -1]), 0, [[2, -1, 127], [-1, 1, -128]]),
        (np.float32([1, 0.5, 8]), np.int8([0, 0, 9]), 1, [[1, -3, 59], [0, 2, -41]]),
    ],
)  # fmt: skip
def test_a_constant_is_quantized_at_once(scales: Any, points: Any, axis: int, wanted: Any) -> None:
    """Halves to even, then the zero point, then the type's limits."""
    numbers = np.float32([[1.0, -1.5, 400.0], [0.25, 1.0, -400.0]])
    given = [numbers, scales, points]
    data = onnx_model("QuantizeLinear", given, {"axis": axis}, opset=21)
    state = Import(read_onnx_container(data, "m.onnx"), InputOptions())
    (op,) = state.model.nodes
    import_quantize(state, op)
    found = state.builder.known[state.named_value(op.outputs[0])]
    assert (found.dtype, found.tolist()) == (np.int8, wanted)
