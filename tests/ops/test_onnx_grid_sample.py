"""GridSample: places inside, outside, between and exactly on pixels, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.read_model import read_model
from glowmcu.ir.operation import OperationError
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.grid_sampling import GridSample
from tests.support.check_model import check_model
from tests.support.onnx_models import onnx_model, run_onnxruntime

Array = npt.NDArray[Any]
RANDOM = np.random.default_rng(4)
WORDS = {16: {"linear": "bilinear", "nearest": "nearest"}}


def model(
    shape: tuple[int, ...], places: tuple[int, int], opset: int = 20, **attributes: Any
) -> bytes:
    attributes["mode"] = WORDS.get(opset, {}).get(attributes["mode"], attributes["mode"])
    grid = (shape[0], *places, 2)
    operands = [("x", "float32", shape), ("grid", "float32", grid)]
    return onnx_model("GridSample", operands, attributes, opset=opset)


def on_pixels(batches: int, rows: int, columns: int, align: bool) -> Array:
    """Places on a lattice of quarters of pixels, from outside one end to outside the other."""
    ends = [np.arange(-6, 4 * size + 3) / np.float32(4) for size in (rows, columns)]
    scaled = [
        2 * end / max(size - 1, 1) - 1 if align else (2 * end + 1) / size - 1
        for end, size in zip(ends, (rows, columns), strict=True)
    ]
    y, x = np.meshgrid(*scaled, indexing="ij")
    return np.repeat(np.stack([x, y], -1)[np.newaxis], batches, 0).astype(np.float32)


@pytest.mark.parametrize("align", [0, 1], ids=["edges", "corners"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
@pytest.mark.parametrize("shape", [(1, 3, 4, 8), (2, 1, 1, 5), (1, 2, 8, 2)])
def test_places_in_between_and_outside(
    shape: tuple[int, ...], mode: str, padding: str, align: int
) -> None:
    """Sizes of powers of two have halves that are exact: nearest goes to the even pixel. What is
    reflected is rounded behind that, as torch does; onnxruntime rounds in front.
    """
    grid = on_pixels(shape[0], *shape[2:], bool(align))
    exact = align == 0 and all(size & (size - 1) == 0 for size in shape[2:])
    if mode == "nearest" and (not exact or padding == "reflection"):
        grid = grid + np.float32(1e-3)  # no place is half-way, whatever is rounded
    attributes = {"mode": mode, "padding_mode": padding, "align_corners": align}
    data = model(shape, grid.shape[1:3], **attributes)
    x = RANDOM.normal(size=shape).astype(np.float32)
    check_model(data, [[x, grid.astype(np.float32)]], oracle=run_onnxruntime, atol=2e-6)


@pytest.mark.parametrize("align", [0, 1], ids=["edges", "corners"])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_places_far_outside_are_reflected_more_than_once(mode: str, align: int) -> None:
    x = RANDOM.normal(size=(1, 2, 5, 3)).astype(np.float32)
    grid = RANDOM.uniform(-9, 9, (1, 20, 5, 2)).astype(np.float32)
    data = model(x.shape, (20, 5), mode=mode, padding_mode="reflection", align_corners=align)
    check_model(data, [[x, grid]], oracle=run_onnxruntime, atol=2e-5)


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_opset_16_and_the_defaults(mode: str) -> None:
    x = RANDOM.normal(size=(1, 2, 6, 5)).astype(np.float32)
    grid = RANDOM.uniform(-1.3, 1.3, (1, 4, 3, 2)).astype(np.float32)
    check_model(model(x.shape, (4, 3), 16, mode=mode), [[x, grid]], oracle=run_onnxruntime)
    defaults = onnx_model(
        "GridSample", [("x", "float32", x.shape), ("grid", "float32", grid.shape)], opset=20
    )
    check_model(defaults, [[x, grid]], oracle=run_onnxruntime)


@pytest.mark.parametrize("padding", ["zeros", "border"])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_nothing_is_read_outside_whatever_the_places_are(mode: str, padding: str) -> None:
    """Not-a-number is outside, at the first pixel of a border."""
    far = np.float32([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e10, -2.0, 2.0, 0.0])
    grid = np.stack(np.meshgrid(far, far), -1)[np.newaxis]
    x = RANDOM.normal(size=(1, 2, 3, 4)).astype(np.float32)
    data = model(x.shape, grid.shape[1:3], mode=mode, padding_mode=padding)
    with np.errstate(over="ignore"):
        compilation = check_model(data, [[x, grid]])
    (op,) = [n.op for n in compilation.imported.nodes if n.op.name == "grid_sample"]
    assert op == GridSample(mode == "linear", padding == "border", False)


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"mode": "cubic"}, "mode 'cubic' with padding 'zeros'"),
        ({"mode": "linear", "padding_mode": "wrap"}, "with padding 'wrap'"),
    ],
)
def test_what_is_not_supported_says_so(attributes: dict[str, Any], text: str) -> None:
    with pytest.raises(GlowmcuError, match=text) as caught:
        read_model(model((1, 2, 3, 4), (2, 2), **attributes), "m.onnx")
    assert caught.value.problems[0].code == "GM105"


@pytest.mark.parametrize(
    ("x", "grid", "words"),
    [
        ((1, 0, 4, 2), (1, 2, 2, 2), "expected an image of 1 to 32767"),
        ((1, 3, 2**15, 2), (1, 2, 2, 2), "expected an image of 1 to 32767"),
        ((1, 3, 4), (1, 2, 2, 2), "expected an image"),
        ((1, 3, 4, 2), (2, 2, 2, 2), "expected places of shape 1xPxQx2"),
        ((1, 3, 4, 2), (1, 2, 2, 3), "expected places"),
        ((1, 3, 4, 2), (1, 2, 2), "expected places"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(x: tuple[int, ...], grid: tuple[int, ...], words: str) -> None:
    types = [TensorType(shape, ElementType.F32) for shape in (x, grid)]
    with pytest.raises(OperationError, match=words):
        GridSample().infer(types)
