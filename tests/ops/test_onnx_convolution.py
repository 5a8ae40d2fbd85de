"""Conv and ConvTranspose of ONNX equal onnxruntime, with weights that are known or computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.onnx_models import onnx_model, run_onnxruntime


@dataclass(frozen=True)
class Case:
    shape: tuple[int, ...]
    weights: tuple[int, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    bias: bool = True

    def outputs(self, kind: str) -> int:
        groups = self.attributes.get("group", 1)
        return self.weights[0] if kind == "Conv" else self.weights[1] * groups


CONV_CASES = {
    "one axis": Case((2, 3, 9), (4, 3, 3), {"strides": [2], "pads": [1, 0]}),
    "no bias": Case((1, 2, 5, 4), (3, 2, 3, 2), bias=False),
    "uneven padding": Case((2, 3, 5, 6), (4, 3, 3, 2), {"pads": [2, 0, 1, 1]}),
    "same, odd one after": Case(
        (1, 2, 6, 5), (3, 2, 2, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}
    ),
    "same, odd one before": Case(
        (1, 2, 6, 5), (3, 2, 2, 3), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}
    ),
    "dilated": Case((1, 2, 9, 8), (3, 2, 3, 2), {"dilations": [2, 3]}),
    "two groups": Case((2, 4, 5, 5), (6, 2, 3, 3), {"group": 2}),
    "depthwise": Case((2, 3, 5, 5), (3, 1, 3, 3), {"group": 3, "pads": [1, 1, 1, 1]}),
    "depthwise, two results a channel": Case((1, 3, 4, 5), (6, 1, 3, 2), {"group": 3}),
    "depthwise, one axis": Case((1, 3, 7), (3, 1, 3), {"group": 3}),
    "three axes": Case(
        (2, 3, 5, 4, 6), (4, 3, 2, 3, 2), {"strides": [2, 1, 2], "pads": [1, 0, 1, 0, 1, 0]}
    ),
    "three axes, dilated": Case((1, 2, 6, 5, 4), (2, 2, 3, 2, 2), {"dilations": [2, 1, 2]}),
    "three axes, two groups": Case(
        (2, 4, 4, 5, 4), (6, 2, 2, 3, 2), {"group": 2, "pads": [1, 0, 0, 0, 1, 1]}
    ),
    "three axes, depthwise": Case(
        (1, 3, 4, 5, 4), (6, 1, 3, 2, 2), {"group": 3, "strides": [1, 2, 1]}
    ),
}
TRANSPOSED_CASES = {
    "one axis": Case((2, 3, 4), (3, 2, 3), {"strides": [2]}),
    "stride 2, padded": Case((2, 2, 3, 4), (2, 3, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "uneven padding": Case((1, 2, 3, 4), (2, 3, 3, 4), {"strides": [2, 3], "pads": [0, 1, 2, 0]}),
    "wider result": Case(
        (1, 2, 3, 3), (2, 2, 2, 2), {"strides": [3, 2], "output_padding": [2, 1]}, bias=False
    ),
    "size of the result": Case(
        (1, 2, 3, 3), (2, 2, 3, 3), {"strides": [3, 2], "output_shape": [8, 6]}
    ),
    "same, odd one after": Case(
        (1, 1, 3, 3), (1, 2, 3, 4), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}
    ),
    "same, odd one before": Case(
        (1, 1, 3, 3), (1, 2, 3, 4), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}
    ),
    "dilated": Case((1, 2, 3, 4), (2, 3, 3, 2), {"dilations": [2, 3], "strides": [1, 2]}),
    "two groups": Case((2, 4, 3, 3), (4, 3, 2, 2), {"group": 2, "strides": [2, 2]}),
    "groups of one channel": Case((1, 3, 3, 3), (3, 1, 3, 3), {"group": 3, "dilations": [2, 2]}),
}
VOLUMES = {
    "stride 1": Case((2, 2, 3, 3, 4), (2, 3, 3, 2, 3)),
    "stride 2, padded": Case(
        (1, 3, 3, 4, 3), (3, 2, 3, 3, 3), {"strides": [2, 2, 1], "pads": [1, 1, 0, 1, 0, 1]}
    ),
    "fewer taps than the stride": Case(
        (1, 2, 3, 2, 3),
        (2, 2, 2, 2, 2),
        {"strides": [3, 2, 3], "output_padding": [2, 0, 1]},
        bias=False,
    ),
    "two groups, dilated": Case(
        (1, 4, 3, 3, 3), (4, 3, 2, 2, 2), {"group": 2, "strides": [2, 1, 1], "dilations": [1, 2, 1]}
    ),
    "most of it cut off": Case((1, 1, 5, 3, 3), (1, 2, 3, 1, 1), {"pads": [3, 0, 0, 2, 0, 0]}),
    "same": Case((1, 2, 3, 3, 3), (2, 1, 4, 3, 3), {"strides": [2] * 3, "auto_pad": "SAME_UPPER"}),
}
CASES = {
    **{f"Conv, {name}": ("Conv", case) for name, case in CONV_CASES.items()},
    **{
        f"ConvTranspose, {name}": ("ConvTranspose", case) for name, case in TRANSPOSED_CASES.items()
    },
}


def model_of(kind: str, case: Case, computed: bool = False) -> bytes:
    generator = np.random.default_rng(3)
    shapes = {"w": case.weights, "bias": (case.outputs(kind),)}
    names = ["w", "bias"] if case.bias else ["w"]
    operands = [
        (name, "float32", shapes[name])
        if computed
        else generator.normal(size=shapes[name]).astype(np.float32)
        for name in names
    ]
    return onnx_model(kind, [("x", "float32", case.shape), *operands], case.attributes)


@pytest.mark.parametrize(("kind", "case"), CASES.values(), ids=CASES)
def test_known_weights(kind: str, case: Case) -> None:
    check_model(model_of(kind, case), oracle=run_onnxruntime, count=1)


@pytest.mark.parametrize("case", VOLUMES.values(), ids=VOLUMES)
def test_transposed_convolutions_of_volumes(case: Case) -> None:
    check_model(model_of("ConvTranspose", case), oracle=run_onnxruntime, count=1)


@pytest.mark.parametrize(("kind", "case"), CASES.values(), ids=CASES)
def test_computed_weights(kind: str, case: Case) -> None:
    check_model(model_of(kind, case, computed=True), oracle=run_onnxruntime, count=1)


def test_known_weights_are_in_place_at_compile_time() -> None:
    for kind, case in (CASES["Conv, two groups"], CASES["ConvTranspose, two groups"]):
        compilation = compile_model(model_of(kind, case), "m.onnx", Options("m"))
        names = [run.node.op.name for run in compilation.plan.program.runs]
        expected = "conv_2d" if kind == "Conv" else "transpose_conv_2d"
        assert names == ["transpose", expected, "transpose"]


REFUSED = {
    "four axes": ("Conv", Case((1, 1, 2, 2, 2, 2), (1, 1, 1, 1, 1, 1)), "Conv on"),
    "channels that do not fit": ("Conv", Case((1, 3, 4, 4), (2, 2, 1, 1)), "1 groups of 2"),
    "transposed on four axes": (
        "ConvTranspose", Case((1, 1, *(2,) * 4), (1, 1, *(2,) * 4)), "expected 1 to 3 spatial axes",
    ),
    "transposed, planes apart": (
        "ConvTranspose", Case((1, 1, 4, 4, 4), (1, 1, 2, 2, 2), {"dilations": [2, 1, 1]}),
        "planes of volumes have no dilation",
    ),
    "transposed, planes far apart": (
        "ConvTranspose", Case((1, 1, 4, 4, 4), (1, 1, 2, 2, 2), {"strides": [17, 1, 1]}),
        "a stride of 17 planes",
    ),
    "padding larger than the result": (
        "ConvTranspose", Case((1, 1, 2, 2), (1, 1, 1, 1), {"pads": [1, 1, 1, 1]}), "a result of",
    ),
    "more padding than axes": (
        "Conv", Case((1, 1, 4, 4), (1, 1, 2, 2), {"pads": [0] * 6}), "do not fit 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "case", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_computed_is_refused(kind: str, case: Case, text: str) -> None:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper = onnx.helper
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("x", case.shape), ("w", case.weights))
    ]
    node = helper.make_node(kind, ["x", "w"], ["y"], **case.attributes)
    graph = helper.make_graph([node], "main", inputs, [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    with pytest.raises(GlowmcuError, match=text) as caught:
        compile_model(model.SerializeToString(), "m.onnx", Options("m"))
    assert caught.value.problems[0].code in ("GM105", "GM106")
