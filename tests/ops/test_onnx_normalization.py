"""Normalizations of ONNX equal onnxruntime: softmax on any axis, layers, groups, channels, LRN."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model, reference_graph
from tests.support.check_model import check_model
from tests.support.onnx_models import onnx_model, run_onnxruntime

F32 = "float32"


def numbers(*shape: int, seed: int = 1, spread: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, spread, shape).astype(np.float32)


def operators(compilation) -> list[str]:
    return [node.op.name for node in compilation.graph.nodes if node.inputs]


@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_softmax_on_every_axis_in_old_opsets_and_new(kind, opset, axis) -> None:
    data = onnx_model(kind, [("x", F32, (2, 3, 5))], {"axis": axis}, opset=opset)
    check_model(data, [[numbers(2, 3, 5, spread=4)]], oracle=run_onnxruntime)


def test_softmax_of_large_numbers_and_of_a_single_one() -> None:
    x = np.array([[1e4, 1e4 - 1, -1e4], [-3e38, 3e38, 0], [-np.inf, 0, 1]], np.float32)
    check_model(onnx_model("Softmax", [("x", F32, (3, 3))]), [[x]], oracle=run_onnxruntime)
    check_model(onnx_model("LogSoftmax", [("x", F32, (3, 1))]), oracle=run_onnxruntime)


@pytest.mark.parametrize("axis", [-1, 1, 0])
@pytest.mark.parametrize("kind", ["LayerNormalization", "RMSNormalization"])
def test_layers_are_normalized_from_the_axis_on(kind, axis) -> None:
    shape = (2, 3, 4)
    inner = shape[axis:]
    operands = [("x", F32, shape), numbers(*inner, seed=2)]
    if kind == "LayerNormalization":
        operands.append(numbers(*inner, seed=3))
    attributes = {"axis": axis, "epsilon": 1e-3}
    data = onnx_model(kind, operands, attributes, opset=24 if kind.startswith("RMS") else 17)
    x = numbers(*shape, spread=3) + 1
    axes = tuple(range(axis % 3, 3))

    def meaning(model, inputs) -> list[np.ndarray]:
        wide = inputs[0].astype(np.float64)
        offsets = wide - wide.mean(axes, keepdims=True) if len(operands) == 3 else wide
        normal = offsets / np.sqrt((offsets**2).mean(axes, keepdims=True) + 1e-3)
        bias = operands[2] if len(operands) == 3 else 0
        return [(normal * operands[1] + bias).astype(np.float32)]

    check_model(data, [[x]], oracle=meaning)


def test_layer_normalization_gives_its_moments_when_asked() -> None:
    operands = [("x", F32, (2, 3, 4)), numbers(4, seed=2), numbers(4, seed=3)]
    data = onnx_model("LayerNormalization", operands, outputs=3, opset=17)
    check_model(data, [[numbers(2, 3, 4, spread=3)]], oracle=run_onnxruntime)


def test_a_large_mean_costs_no_precision() -> None:
    data = onnx_model("LayerNormalization", [("x", F32, (1, 1000)), np.ones(1000, np.float32)])
    x = numbers(1, 1000) + np.float32(1000)
    wide = x.astype(np.float64)
    want = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-5)
    check_model(data, [[x]], oracle=lambda model, inputs: [want.astype(np.float32)])


@pytest.mark.parametrize("shape", [(2, 6, 5), (2, 6, 3, 4)])
@pytest.mark.parametrize(("kind", "groups"), [("InstanceNormalization", 6),
                                              ("GroupNormalization", 3)])  # fmt: skip
def test_channels_and_groups_are_normalized_for_themselves(kind, groups, shape) -> None:
    attributes = {"num_groups": groups} if kind.startswith("Group") else {}
    operands = [("x", F32, shape), numbers(6, seed=2), numbers(6, seed=3)]
    data = onnx_model(kind, operands, attributes, opset=21)
    check_model(data, [[numbers(*shape, spread=2) + 1]], oracle=run_onnxruntime)


def test_before_opset_21_a_group_has_one_scale() -> None:
    operands = [("x", F32, (2, 6, 4)), numbers(3, seed=2), numbers(3, seed=3)]
    data = onnx_model("GroupNormalization", operands, {"num_groups": 3}, opset=18)
    x = numbers(2, 6, 4, spread=2)
    rows = x.reshape(2, 3, 8).astype(np.float64)
    normal = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)
    want = normal * operands[1].reshape(3, 1) + operands[2].reshape(3, 1)
    want = want.reshape(x.shape).astype(np.float32)
    check_model(data, [[x]], oracle=lambda model, inputs: [want])


@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 5), (2, 4, 3, 5)])
def test_batch_normalization_is_a_factor_and_an_addend(shape) -> None:
    moments = [numbers(4, seed=seed) for seed in (2, 3, 4)]
    variance = np.abs(numbers(4, seed=5)) + 0.1
    operands = [("x", F32, shape), *moments, variance]
    data = onnx_model("BatchNormalization", operands, {"epsilon": 1e-3})
    compilation = check_model(data, oracle=run_onnxruntime)
    assert set(operators(compilation)) <= {"transpose", "reshape", "stack"}


@pytest.mark.parametrize(
    ("shape", "channels"), [((4, 1), 4), ((2, 1, 4), 4), ((4,), 4), ((2, 4), 1), ((2, 3, 4), 4)]
)
def test_moments_of_another_number_of_channels_are_refused(shape, channels) -> None:
    """Converters that transpose around the node leave such files; onnxruntime refuses to run them,
    and here results grew to another shape.
    """
    moments = [np.abs(numbers(channels, seed=seed)) for seed in range(4)]
    data = onnx_model("BatchNormalization", [("x", F32, shape), *moments])
    with pytest.raises(GlowmcuError, match="needs a vector of") as caught:
        reference_graph(data, "m.onnx")
    assert caught.value.code == "GM106"


@pytest.mark.parametrize("opset", [7, 9, 13])
@pytest.mark.parametrize("results", [2, 5])
def test_results_besides_the_first_are_training_mode_before_opset_14(opset, results) -> None:
    """onnxruntime then takes the batch's own moments; they were compiled as inference."""
    moments = [np.abs(numbers(3, seed=seed)) + 0.1 for seed in range(4)]
    operands = [("x", F32, (1, 3, 4)), *moments]
    with pytest.raises(GlowmcuError, match="in training mode") as caught:
        reference_graph(onnx_model("BatchNormalization", operands, {}, results, opset), "m.onnx")
    assert "model.eval()" in str(caught.value)
    reference_graph(onnx_model("BatchNormalization", operands, {}, 1, opset), "m.onnx")


@pytest.mark.parametrize("opset", [7, 8])
def test_batch_normalization_by_element(opset) -> None:
    moments = [np.abs(numbers(3, 2, 5, seed=seed)) + 0.1 for seed in range(4)]
    operands = [("x", F32, (2, 3, 2, 5)), *moments]
    data = onnx_model("BatchNormalization", operands, {"spatial": 0}, opset=opset)
    check_model(data, oracle=run_onnxruntime)
    few = [("x", F32, (2, 3, 2, 5)), *(each[:, 0, 0] for each in moments)]
    data = onnx_model("BatchNormalization", few, {"spatial": 0}, opset=opset)
    with pytest.raises(GlowmcuError, match="as spatial is 0"):
        reference_graph(data, "m.onnx")


def test_batch_normalization_by_moments_of_run_time() -> None:
    names = ("scale", "bias", "mean", "variance")
    operands = [("x", F32, (2, 4, 3)), *((name, F32, (4,)) for name in names)]
    inputs = [numbers(2, 4, 3), *(numbers(4, seed=seed) for seed in range(3))]
    inputs.append(np.abs(numbers(4, seed=5)) + 0.1)
    check_model(onnx_model("BatchNormalization", operands), [inputs], oracle=run_onnxruntime)


@pytest.mark.parametrize("size", [1, 3, 5, 15])
def test_neighbours_dampen_each_other(size) -> None:
    attributes = {"size": size, "alpha": 0.2, "beta": 0.6, "bias": 1.5}
    data = onnx_model("LRN", [("x", F32, (2, 7, 3, 2))], attributes)
    oracle = run_onnxruntime if size % 2 else None
    check_model(data, [[numbers(2, 7, 3, 2, spread=3)]], oracle=oracle)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, -1])
def test_rows_get_length_1_and_zeros_stay(p, axis) -> None:
    x = numbers(3, 4, 5)
    x[1] = 0
    data = onnx_model("LpNormalization", [("x", F32, (3, 4, 5))], {"p": p, "axis": axis})
    check_model(data, [[x]], oracle=run_onnxruntime)


REFUSED = {
    "training": (
        ("BatchNormalization", [("x", F32, (1, 2)), *[np.ones(2, np.float32)] * 4],
         {"training_mode": 1}),
        "BatchNormalization in training mode",
    ),
    "groups that do not divide": (
        ("GroupNormalization", [("x", F32, (1, 5, 2)), *[np.ones(5, np.float32)] * 2],
         {"num_groups": 2}),
        "GroupNormalization: 5 channels in 2 groups",
    ),
    "an axis that is not there": (
        ("Softmax", [("x", F32, (1, 5))], {"axis": 4}),
        "Softmax: axis 4 is outside rank 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("case", "text"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_says_why(case, text) -> None:
    data = onnx_model(*case, opset=21)
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.onnx", Options("m"))
    assert text in str(caught.value)
