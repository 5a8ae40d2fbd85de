"""Resize and Upsample of ONNX equal onnxruntime: every mode, every way to say sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.notes import notes_on_file
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import ElementType
from glowmcu.pipeline import compile_model
from tests.support.check_model import Array, check_model
from tests.support.onnx_models import onnx_model, run_onnxruntime

COORDINATES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
)  # fmt: skip
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
SHAPES = {
    "larger": ((1, 2, 3, 4), (1, 2, 7, 6)),
    "smaller": ((1, 2, 7, 8), (1, 2, 3, 5)),
    "larger one way, smaller the other": ((2, 1, 5, 6), (2, 1, 11, 4)),
    "to one pixel": ((1, 2, 4, 5), (1, 2, 1, 1)),
}


def resize_model(
    shape: tuple[int, ...], mode: dict[str, Any], dtype: str = "float32", **operands: Array
) -> bytes:
    """`operands` are roi, scales, sizes."""
    given = [operands.get(name) for name in ("roi", "scales", "sizes")]
    return onnx_model("Resize", [("x", dtype, shape), *given], mode, opset=19)


def sizes_of(size: tuple[int, ...]) -> Array:
    return np.array(size, np.int64)


def check(data: bytes) -> Compilation:
    return check_model(data, oracle=run_onnxruntime, count=1)


def operators(compilation: Compilation) -> list[str]:
    return [run.node.op.name for run in compilation.plan.program.runs]


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize(("shape", "size"), SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_interpolation(
    mode: str, coordinates: str, shape: tuple[int, ...], size: tuple[int, ...]
) -> None:
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    check(resize_model(shape, attributes, sizes=sizes_of(size)))


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_nearest(coordinates: str, rounding: str) -> None:
    shape, size = SHAPES["larger one way, smaller the other"]
    mode = {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    check(resize_model(shape, mode, sizes=sizes_of(size)))


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("exclude_outside", [0, 1])
def test_antialiasing(mode: str, exclude_outside: int) -> None:
    shape, size = SHAPES["larger one way, smaller the other"]
    attributes = {"mode": mode, "antialias": 1, "exclude_outside": exclude_outside}
    check(resize_model(shape, attributes, sizes=sizes_of(size)))


def test_cubic_interpolation_of_another_sharpness() -> None:
    shape, size = SHAPES["larger"]
    mode = {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1}
    check(resize_model(shape, mode, sizes=sizes_of(size)))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_scales_that_do_not_divide(mode: str) -> None:
    scales = np.array([1, 1, 1.3, 0.7], np.float32)
    check(resize_model((1, 2, 5, 6), {"mode": mode}, scales=scales))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("shape", [(1, 2, 5), (1, 1, 3, 4, 5)], ids=["one axis", "three axes"])
def test_other_ranks(mode: str, shape: tuple[int, ...]) -> None:
    scales = np.array([1, 1, *[2.0] * (len(shape) - 2)], np.float32)
    check(resize_model(shape, {"mode": mode}, scales=scales))


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_the_aspect_ratio_is_kept(policy: str) -> None:
    mode = {"mode": "linear", "axes": [2, 3], "keep_aspect_ratio_policy": policy}
    check(resize_model((1, 2, 4, 6), mode, sizes=sizes_of((7, 8))))


def test_a_cropped_region_beyond_the_image() -> None:
    mode = {
        "mode": "linear",
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 3.5,
    }
    roi = np.array([0, 0, 0.25, -0.5, 1, 1, 0.75, 1.25], np.float32)
    check(resize_model((1, 2, 5, 6), mode, roi=roi, sizes=sizes_of((1, 2, 7, 9))))


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int32"])
def test_nearest_elements_of_a_cropped_region_beyond_the_image(dtype: str, rounding: str) -> None:
    mode = {
        "nearest_mode": rounding,
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 3.0,
    }
    roi = np.array([0, 0, 0.25, -0.5, 1, 1, 0.75, 1.25], np.float32)
    data = resize_model((1, 2, 5, 6), mode, dtype, roi=roi, sizes=sizes_of((1, 2, 7, 9)))
    check(data)
    (got,) = run_graph(compile_model(data, "m.onnx", Options("m")).imported,
                       [np.full((1, 2, 5, 6), 9, dtype)])  # fmt: skip
    assert sorted(set(got.ravel().tolist())) == [3, 9]


def test_cropped_regions_are_rounded_as_in_onnxruntime() -> None:
    """A position that is 3 but for rounding: of `floor` it is the element before."""
    mode = {"nearest_mode": "floor", "coordinate_transformation_mode": "tf_crop_and_resize"}
    roi = np.array([0, 0, 0.1, 0.2, 1, 1, 0.8, 1.1], np.float32)
    check(resize_model((1, 3, 6, 5), mode, roi=roi, sizes=sizes_of((1, 3, 10, 1))))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_nearest_of_integers(dtype: str) -> None:
    shape, size = SHAPES["larger"]
    check(resize_model(shape, {}, dtype, sizes=sizes_of(size)))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsample_of_old_opsets(mode: str) -> None:
    scales = np.array([1, 1, 2, 3], np.float32)
    operands = [("x", "float32", (1, 2, 3, 4)), scales]
    check(onnx_model("Upsample", operands, {"mode": mode}, opset=9))
    attributes = {"mode": mode, "scales": scales.tolist()}
    check(onnx_model("Upsample", operands[:1], attributes, opset=7))


def test_resize_of_opset_10_takes_the_element_before() -> None:
    scales = np.array([1, 1, 2, 1.5], np.float32)
    check(onnx_model("Resize", [("x", "float32", (1, 2, 3, 4)), scales], {}, opset=10))


@pytest.mark.parametrize(
    "scales", [(0.6, 0.6), (0.75, 0.3), (2, 0.6), (0.7, 1.3), (0.5, 0.25), (1 / 3, 1 / 7)]
)
def test_resize_of_opset_10_takes_the_element_behind_where_it_shrinks(
    scales: tuple[float, float],
) -> None:
    operand = np.array([1, 1, *scales], np.float32)
    check(onnx_model("Resize", [("x", "float32", (1, 2, 7, 8)), operand], {}, opset=10))


def test_a_note_says_which_elements_resize_of_opset_10_takes() -> None:
    x = ("x", "float32", (1, 1, 2, 4))

    def note(scale: float, mode: str = "nearest", opset: int = 10) -> str:
        scales = np.array([1, 1, scale, scale], np.float32)
        operands = [x, scales] if opset == 10 else [x, None, scales]
        data = onnx_model("Resize", operands, {"mode": mode}, opset=opset)
        return " ".join(notes_on_file(data, "m"))

    # The case of ONNX's own tests at that time.
    data = onnx_model("Resize", [x, np.array([1, 1, 0.6, 0.6], np.float32)], {}, opset=10)
    (got,) = run_graph(compile_model(data, "m.onnx", Options("m")).imported,
                       [np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)])  # fmt: skip
    assert got.ravel().tolist() == [1, 3]
    assert note(0.6).startswith("1 Resize of opset 10 shrinks to nearest elements by no whole")
    assert not any((note(0.5), note(1.5), note(0.6, "linear"), note(0.6, opset=11)))


def test_what_has_int8_kernels_is_recognized() -> None:
    scales = np.array([1, 1, 2, 2], np.float32)
    for mode, expected in (("linear", "resize_bilinear"), ("nearest", "resize_nearest_neighbor")):
        for coordinates in ("half_pixel", "asymmetric"):
            attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
            data = resize_model((1, 2, 3, 4), attributes, scales=scales)
            assert expected in operators(compile_model(data, "m.onnx", Options("m")))


REFUSED = {
    "unknown mode": ({"mode": "lanczos"}, (2.0, 2.0), "mode lanczos is unknown"),
    "unknown coordinates": (
        {"coordinate_transformation_mode": "polar"}, (2.0, 2.0), "polar is unknown",
    ),
    "unknown rounding": ({"nearest_mode": "odd"}, (2.0, 2.0), "nearest_mode odd is unknown"),
    "nothing left": ({}, (0.1, 1.0), "sizes must be 1 to 32767"),
    "scale of zero": ({}, (0.0, 1.0), "for 4 axes"),
}  # fmt: skip


@pytest.mark.parametrize(("mode", "scales", "text"), REFUSED.values(), ids=REFUSED)
def test_what_makes_no_sense_is_refused(
    mode: dict[str, Any], scales: tuple[float, float], text: str
) -> None:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper, operand = onnx.helper, np.array([1, 1, *scales], np.float32)
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], **mode)
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (1, 1, 3, 4))
    constants = [onnx.numpy_helper.from_array(operand, "scales")]
    graph = helper.make_graph([node], "main", [x], [onnx.ValueInfoProto(name="y")], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    with pytest.raises(GlowmcuError, match=text):
        compile_model(model.SerializeToString(), "m.onnx", Options("m"))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_stored_numbers_between_pairs_are_resized_as_the_real_ones_they_stand_for(
    dtype: str,
) -> None:
    """onnxruntime's quantizer leaves Resize on bytes in its QOperator format; it cuts off what is
    behind the point, so that it may be a step lower.
    """
    helper = pytest.importorskip("onnx", reason="pip install onnx").helper
    scale, point = np.array(0.02, np.float32), np.array(120 if dtype == "uint8" else -8, dtype)
    constants = {"s": scale, "z": point, "sizes": sizes_of((1, 2, 7, 6))}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("Resize", ["q", "", "", "sizes"], ["r"], mode="linear"),
        helper.make_node("DequantizeLinear", ["r", "s", "z"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "main", [helper.make_tensor_value_info("x", 1, (1, 2, 3, 4))],
        [helper.make_tensor_value_info("y", 1, (1, 2, 7, 6))],
        [onnx_tensor(name, data) for name, data in constants.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 19)]
    data = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    compilation = check_model(data)
    for x in np.random.default_rng(4).uniform(-2, 2, (3, 1, 2, 3, 4)).astype(np.float32):
        (got,) = run_graph(compilation.imported, [x])
        (want,) = run_onnxruntime(data, [x])
        assert np.abs(got - want).max() <= 0.0201
    kinds = {node.op.name: node.output.type.element for node in compilation.imported.nodes}
    assert kinds["resize_bilinear"] is ElementType.I8


def onnx_tensor(name: str, data: Array) -> Any:
    return pytest.importorskip("onnx").numpy_helper.from_array(data, name)
