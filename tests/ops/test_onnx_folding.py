"""Col2Im of ONNX equals onnxruntime: patches that touch, overlap, have holes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.read_model import read_model
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.onnx_models import onnx_model, run_onnxruntime

#: The operand's shape, the image, the patch, attributes.
CASES: dict[str, tuple[tuple[int, int, int], list[int], list[int], dict[str, Any]]] = {
    "patches side by side": ((1, 12, 4), [4, 6], [2, 3], {"strides": [2, 3]}),
    "a batch of them": ((2, 12, 6), [4, 6], [2, 2], {"strides": [2, 2]}),
    "a line": ((1, 6, 3), [9], [3], {"strides": [3]}),
    "a volume": ((1, 8, 4), [2, 4, 4], [2, 2, 2], {"strides": [2, 2, 2]}),
    "patches that overlap": ((1, 8, 12), [4, 5], [2, 2], {}),
    "padding": ((2, 18, 9), [5, 5], [3, 3], {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "padding at one end": ((1, 4, 9), [3, 4], [2, 2], {"pads": [1, 0, 0, 0]}),
    "padding of whole patches": (
        (1, 4, 8),
        [4, 6],
        [2, 2],
        {"strides": [2, 2], "pads": [0, 1, 0, 1]},
    ),
    "holes": ((1, 8, 6), [4, 5], [2, 2], {"dilations": [2, 2]}),
    "holes that patches fill": ((1, 8, 4), [4, 4], [2, 2], {"dilations": [2, 2]}),
    "gaps": ((1, 4, 4), [5, 5], [2, 2], {"strides": [3, 3]}),
    "an overlapping line": ((1, 6, 6), [8], [3], {}),
}


def _model(shape: tuple[int, ...], image: Any, patch: Any, attributes: dict[str, Any]) -> bytes:
    operands = [("x", "float32", shape), np.array(image, np.int64), np.array(patch, np.int64)]
    return onnx_model("Col2Im", operands, attributes)


@pytest.mark.parametrize("case", CASES)
def test_columns_are_put_back(case: str) -> None:
    check_model(_model(*CASES[case]), oracle=run_onnxruntime, rtol=1e-6)


def test_patches_side_by_side_are_moved_alone() -> None:
    data = _model(*CASES["patches side by side"])
    compilation = compile_model(data, "m.onnx", Options("m"))
    assert {run.node.op.name for run in compilation.plan.program.runs} == {"transpose"}


@pytest.mark.parametrize(
    ("shape", "image", "patch", "said"),
    [
        ((1, 8, 5), [4, 5], [2, 2], "expected \\(N, C x 4, 12\\)"),
        ((1, 7, 12), [4, 5], [2, 2], "expected \\(N, C x 4, 12\\)"),
        ((8, 12), [4, 5], [2, 2], "expected \\(N, C x 4, 12\\)"),
        ((1, 4, 0), [1, 1], [2, 2], "none of them 0"),
        ((1, 8, 12), [4, 5], [2], "patches of \\(2,\\)"),
        ((1, 8, 12), [0, 5], [2, 2], "the image's sizes are \\(0, 5\\)"),
        ((1, 8, 12), [2**30, 2**30], [2, 2], "are allowed"),
    ],
)
def test_columns_that_do_not_fit_are_refused(
    shape: tuple[int, ...], image: list[int], patch: list[int], said: str
) -> None:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper = onnx.helper
    names = ["x", "image", "patch"]
    constants = [
        onnx.numpy_helper.from_array(np.array(sizes, np.int64), name)
        for name, sizes in zip(names[1:], (image, patch), strict=True)
    ]
    x = helper.make_tensor_value_info("x", 1, shape)
    y = helper.make_tensor_value_info("y", 1, None)
    graph = helper.make_graph([helper.make_node("Col2Im", names, ["y"])], "g", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    with pytest.raises(GlowmcuError, match=said):
        read_model(model.SerializeToString(), "m.onnx")
