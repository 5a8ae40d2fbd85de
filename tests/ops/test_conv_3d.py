"""CONV_3D equals LiteRT, whose kernel is the only one that has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference

ONES = {f"stride_{axis}": 1 for axis in "dhw"} | {f"dilation_{axis}_factor": 1 for axis in "dhw"}


def model(
    x: tuple[int, ...], kernel: tuple[int, int, int], depth_out: int, has_bias: bool = True,
    **options: Any,
) -> bytes:  # fmt: skip
    generator = np.random.default_rng(3)
    stated = {**ONES, "padding": "VALID", "fused_activation_function": "NONE", **options}
    b = ModelBuilder()
    image = b.input("x", x, "float32")
    weights = generator.normal(0, 0.3, (*kernel, x[4], depth_out)).astype(np.float32)
    operands = [image, b.constant("w", weights)]
    if has_bias:
        bias = generator.normal(0, 1, depth_out).astype(np.float32)
        operands.append(b.constant("b", bias))
    sizes = []
    for axis, size, taps in zip("dhw", x[1:4], kernel, strict=True):
        stride, dilation = stated[f"stride_{axis}"], stated[f"dilation_{axis}_factor"]
        span = (taps - 1) * dilation + 1
        room = size if stated["padding"] == "SAME" else size - span + 1
        sizes.append(-(-room // stride))
    y = b.tensor("y", (x[0], *sizes, depth_out), "float32")
    b.op("CONV_3D", operands, [y], stated)
    b.output(y)
    return b.finish()


CASES: dict[str, dict[str, Any]] = {
    "valid": {},
    "same, relu": {"padding": "SAME", "fused_activation_function": "RELU"},
    "strides": {"stride_d": 2, "stride_h": 2, "stride_w": 3},
    "same, strides": {"padding": "SAME", "stride_d": 2, "stride_w": 2},
    "dilations": {"dilation_d_factor": 2, "dilation_h_factor": 2},
    "no bias": {"has_bias": False},
}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_a_convolution_on_three_axes_equals_litert(options: dict[str, Any]) -> None:
    data = model((2, 5, 6, 7, 3), (3, 2, 3), 4, **options)
    check_model(data, oracle=run_litert_reference, count=2)


def test_a_kernel_of_one_plane_stacks_nothing() -> None:
    done = check_model(model((1, 4, 5, 5, 2), (1, 3, 3), 3), oracle=run_litert_reference)
    assert "concatenation" not in [node.op.name for node in done.graph.nodes]


def test_it_is_quantized_as_a_convolution_of_images(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(model((1, 4, 5, 5, 2), (3, 3, 3), 3))
    samples = np.random.default_rng(1).normal(0, 1, (32, 4, 5, 5, 2)).astype(np.float32)
    bundle = glowmcu.compile(path, samples=samples, output=tmp_path / "out")
    assert not [note for note in bundle.notes if "stay float" in note]
    (given,) = bundle.manifest.inputs
    assert given.dtype == "int8"


@pytest.mark.parametrize(
    ("x", "kernel", "text"),
    [((1, 2, 5, 5, 2), (3, 3, 3), "a kernel of 3 planes exceeds 2"),
     ((1, 3, 2, 5, 2), (3, 3, 3), "CONV_3D")],
)  # fmt: skip
def test_a_kernel_that_exceeds_its_image_is_refused(
    x: tuple[int, ...], kernel: tuple[int, int, int], text: str
) -> None:
    b = ModelBuilder()
    image = b.input("x", x, "float32")
    weights = b.constant("w", np.zeros((*kernel, x[4], 3), np.float32))
    y = b.tensor("y", (1, 1, 1, 1, 3), "float32")
    b.op("CONV_3D", [image, weights], [y], {**ONES, "padding": "VALID"})
    b.output(y)
    with pytest.raises(GlowmcuError, match=f"(?i){text}") as caught:
        compile_model(b.finish(), "m.tflite", Options("m"))
    assert caught.value.code == "GM106"
