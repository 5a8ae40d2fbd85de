"""MediaPipe's Convolution2DTransposeBias equals LiteRT's TRANSPOSE_CONV of the same sizes."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference

Pair = tuple[int, int]
SAME, VALID = 1, 2
#: Height and width of the input, of the kernel, strides, padding, and of the result.
CASES: dict[str, tuple[Pair, Pair, Pair, int, Pair]] = {
    "kernel as large as the stride": ((4, 5), (2, 2), (2, 2), SAME, (8, 9)),
    "overlapping": ((4, 3), (3, 3), (2, 2), SAME, (8, 5)),
    "overlapping, nothing cut off": ((4, 3), (3, 3), (2, 2), VALID, (9, 7)),
    "strides that differ": ((3, 5), (4, 3), (3, 1), SAME, (9, 5)),
    "kernel smaller than the stride": ((3, 2), (1, 2), (3, 3), SAME, (7, 5)),
}


def model(
    sizes: Pair, kernel: Pair, strides: Pair, padding: int, out: Pair, options: bytes | None = None
) -> tuple[bytes, bytes]:
    """The custom operator, and the builtin one that is told the result's size."""
    files = []
    for is_custom in (True, False):
        draw = np.random.default_rng(5)
        builder = ModelBuilder()
        x = builder.input("x", (1, *sizes, 3), "float32")
        weights = draw.normal(size=(2, *kernel, 3)).astype(np.float32)
        w, b = builder.constant("w", weights), builder.constant("b", np.float32([0.5, -2.0]))
        y = builder.tensor("y", (1, *out, 2), "float32")
        if is_custom:
            packed = struct.pack("<iii", padding, strides[1], strides[0])
            packed = packed if options is None else options
            builder.custom_op("Convolution2DTransposeBias", [x, w, b], [y], packed)
        else:
            shape = builder.constant("shape", np.array([1, *out, 2], np.int32))
            attributes = {
                "padding": "SAME" if padding == SAME else "VALID",
                "stride_h": strides[0], "stride_w": strides[1],
            }  # fmt: skip
            builder.op("TRANSPOSE_CONV", [shape, w, x, b], [y], attributes)
        builder.output(y)
        files.append(builder.finish())
    return files[0], files[1]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_equals_transpose_conv(case: tuple[Pair, Pair, Pair, int, Pair]) -> None:
    custom, builtin = model(*case)
    check_model(
        custom, oracle=lambda _, inputs: run_litert_reference(builtin, inputs), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (bytes(8), "GM128"),
        (struct.pack("<iii", 3, 2, 2), "padding 3 is neither SAME nor VALID"),
        (struct.pack("<iii", 1, 0, 2), "strides must be at least 1"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: bytes, text: str) -> None:
    data, _ = model((4, 4), (2, 2), (2, 2), SAME, (8, 8), options)
    with pytest.raises(GlowmcuError, match=text):
        reference_graph(data, "m.tflite")
