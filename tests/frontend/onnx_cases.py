"""One operator each that is imported, by family: what `onnx_damage.py` damages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from glowmcu.frontend.onnx.container import InputRecord, NodeRecord
from glowmcu.ir.types import element_type_of
from tests.frontend.onnx_damage import Case, Several, c, w, x
from tests.support.onnx_parts import onnx, record

_IMAGE = (1, 4, 5, 6)
_ML, _MICROSOFT, _QONNX = "ai.onnx.ml", "com.microsoft", "qonnx.custom_op.general"
_F, _I32, _I64, _BOOL = "float32", "int32", "int64", "bool"


def _op(kind: str, *operands: Any, out: int = 1, opset: int = 17, **attributes: Any) -> Case:
    results = tuple(f"y{place}" for place in range(out))
    return Case(kind, operands, attributes, results, opset)


def _ml(kind: str, *operands: Any, out: int = 1, **attributes: Any) -> Case:
    results = tuple(f"y{place}" for place in range(out))
    return Case(kind, operands, attributes, results, domain=_ML)


def _ms(kind: str, *operands: Any, **attributes: Any) -> Case:
    return Case(kind, operands, attributes, domain=_MICROSOFT)


def _quant(kind: str, *operands: Any, **attributes: Any) -> Case:
    return Case(kind, operands, attributes, domain=_QONNX)


def _data(values: Any, dtype: str) -> Any:
    return onnx.numpy_helper.from_array(np.array(values, dtype), "data")


def _scale(number: float = 0.5) -> Any:
    return c(number, _F)


def _bytes(*shape: int) -> tuple[Any, Any, Any]:
    """A quantized tensor, its scale and its zero point."""
    return x(*shape, dtype="uint8"), _scale(), c(3, "uint8")


def _recurrent(kind: str, gates: int, directions: int, steps: int, **attributes: Any) -> Case:
    states = [x(directions, 2, 3)] * (2 if kind == "LSTM" else 1)
    weights = w(directions, gates * 3, 4), w(directions, gates * 3, 3), w(directions, gates * 6)
    peepholes = [w(directions, 9)] if kind == "LSTM" else []
    lengths = c([2] * 2, _I32) if steps > 1 else None
    return _op(kind, x(steps, 2, 4), *weights, lengths, *states, *peepholes,
               out=2 + (kind == "LSTM"), hidden_size=3, **attributes)  # fmt: skip


_CONV = {"strides": [1, 2], "dilations": [2, 1], "pads": [1, 0, 2, 1], "kernel_shape": [2, 3]}
_TREE = {
    "nodes_treeids": [0, 0, 0, 1, 1, 1], "nodes_nodeids": [0, 1, 2, 0, 1, 2],
    "nodes_featureids": [1, 0, 0, 2, 0, 0],
    "nodes_modes": [b"BRANCH_LEQ", b"LEAF", b"LEAF", b"BRANCH_GT", b"LEAF", b"LEAF"],
    "nodes_truenodeids": [1, 0, 0, 1, 0, 0], "nodes_falsenodeids": [2, 0, 0, 2, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0, -0.5, 0.0, 0.0],
    "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 0],
}  # fmt: skip


def _leaves(prefix: str, targets: list[int], weights: list[float]) -> dict[str, Any]:
    return {
        f"{prefix}_treeids": [0, 0, 1, 1], f"{prefix}_nodeids": [1, 2, 1, 2],
        f"{prefix}_ids": targets, f"{prefix}_weights": weights,
    }  # fmt: skip


_NEW_TREE = {
    "nodes_featureids": [1, 0], "nodes_truenodeids": [0, 1], "nodes_trueleafs": [1, 1],
    "nodes_falsenodeids": [1, 2], "nodes_falseleafs": [0, 1], "leaf_targetids": [0, 1, 1],
    "tree_roots": [0], "n_targets": 2, "post_transform": 2, "aggregate_function": 0,
    "nodes_missing_value_tracks_true": [0, 1],
    "nodes_splits": _data([0.5, 2.0], _F), "nodes_modes": _data([6, 0], "uint8"),
    "leaf_weights": _data([1.0, 0.5, 2.0], _F),
    "membership_values": _data([1.0, 3.0, np.nan], _F),
}  # fmt: skip


def _body(inputs: list[Any], outputs: list[str], *nodes: NodeRecord, **data: Any) -> Any:
    """A graph in an attribute; `inputs` are names and shapes."""
    records = [
        InputRecord(name, element_type_of(np.dtype(item.dtype)), item.dtype.upper(), item.shape)
        for name, item in inputs
    ]
    numbered = [replace(node, index=index) for index, node in enumerate(nodes)]
    return record(records, outputs, numbered, **data)


def _node(kind: str, inputs: list[str], outputs: list[str], **attributes: Any) -> NodeRecord:
    return NodeRecord(0, kind, "ai.onnx", "", tuple(inputs), tuple(outputs), attributes)


#: What is carried doubles, and so much is collected a trip; a1 is the graph's around.
_DOUBLED = _body(
    [("i", x(dtype=_I64)), ("go", x(dtype=_BOOL)), ("v", x(2))], ["more", "w", "w"],
    _node("Add", ["v", "v"], ["w"]), _node("Identity", ["go"], ["more"]),
)  # fmt: skip
#: It goes on while the sum is below 9.
_UNTIL = _body(
    [("i", x(dtype=_I64)), ("go", x(dtype=_BOOL)), ("v", x())], ["more", "w"],
    _node("Cast", ["i"], ["n"], to=1), _node("Add", ["v", "n"], ["w"]),
    _node("Less", ["w", "nine"], ["more"]), nine=np.float32(9),
)  # fmt: skip
_RUNNING = _body(
    [("sum", x(2)), ("row", x(2))], ["next", "next"], _node("Add", ["sum", "row"], ["next"])
)
_BRANCHES = {
    "then_branch": _body([], ["t"], _node("Add", ["a1", "a1"], ["t"])),
    "else_branch": _body([], ["e"], _node("Neg", ["a1"], ["e"])),
}
_SVM = {
    "support_vectors": [0.5, 1.0, -1.0, 2.0, 0.25, 3.0], "kernel_params": [0.5, 0.25, 3.0],
}  # fmt: skip

CASES: dict[str, tuple[Case, ...]] = {
    "activation": (
        _op("Exp", x(2, 3)), _op("Relu", x(2, 3)), _op("Relu", x(2, 3, dtype=_I32)),
        _op("Celu", x(2, 3), alpha=2.0), _op("Elu", x(2, 3), alpha=0.5),
        _op("Gelu", x(2, 3), approximate="tanh"), _op("HardSigmoid", x(2, 3), alpha=0.5, beta=0.25),
        _op("LeakyRelu", x(2, 3), alpha=0.25), _op("Selu", x(2, 3), alpha=2.0, gamma=3.0),
        _op("Shrink", x(2, 3), lambd=1.5, bias=0.5), _op("Swish", x(2, 3), alpha=2.0),
        _op("ThresholdedRelu", x(2, 3), alpha=2.0),
    ),
    "cast": (_op("Cast", x(2), to=6), _op("CastLike", x(2), x(3, dtype=_BOOL))),
    "comparison": (
        _op("Less", x(2, 3), x(3)), _op("And", x(2, dtype=_BOOL), x(2, dtype=_BOOL)),
        _op("Not", x(2, dtype=_BOOL)), _op("Where", x(3, dtype=_BOOL), x(2, 3), x(2, 1)),
        _op("IsNaN", x(2)), _op("IsInf", x(2), detect_positive=0, detect_negative=1),
        _op("IsInf", x(2), detect_positive=1, detect_negative=0),
    ),
    "control_flow": (
        _op("If", x(dtype=_BOOL), x(2), **_BRANCHES),
        _op("If", c([True], _BOOL), x(2), **_BRANCHES),
        _op("Loop", c(3), c(True, _BOOL), x(2), out=2, body=_DOUBLED),
        _op("Loop", x(dtype=_I64), c(True, _BOOL), x(2), body=_DOUBLED),
        _op("Loop", c(30), None, x(2), body=_DOUBLED),
        _op("Loop", c(4), x(dtype=_BOOL), x(), body=_UNTIL),
        _op("Loop", c(4), None, x(), body=_UNTIL),
        _op("Loop", None, c(True, _BOOL), x(), body=_UNTIL),
        _op("Loop", c(4), c(True, _BOOL), c(5, _F), body=_UNTIL),
        _op("Scan", x(2), x(3, 2), out=2, body=_RUNNING, num_scan_inputs=1),
        _op("Scan", x(2), x(2, 3), out=2, body=_RUNNING, num_scan_inputs=1, scan_input_axes=[1],
            scan_input_directions=[1], scan_output_axes=[-1], scan_output_directions=[1]),
        _op("Scan", x(2), x(66, 2), out=2, body=_RUNNING, num_scan_inputs=1,
            scan_input_directions=[0], scan_output_axes=[1], scan_output_directions=[1]),
    ),
    "convolution": (
        _op("Conv", x(*_IMAGE), w(3, 4, 2, 3), c([1, 2, 3], _F), **_CONV),
        _op("Conv", x(1, 4, 7), w(6, 2, 3), group=2, auto_pad="SAME_UPPER"),
        _op("Conv", x(1, 1, 7), w(2, 1, 3)), _op("Conv", x(1, 1, 2, 3, 4), w(2, 1, 2, 1, 1)),
        _op("Conv", x(1, 4, 7), w(8, 1, 3), x(8), group=4, auto_pad="SAME_LOWER", strides=[2]),
        _op("Conv", x(1, 2, 3, 4, 5), w(3, 2, 2, 2, 3), strides=[2, 1, 2],
            pads=[1, 0, 1, 0, 1, 0]),
        _op("Conv", x(1, 4, 3, 4, 5), x(4, 4, 2, 2, 3), x(4), group=1, dilations=[2, 1, 1]),
        _op("ConvTranspose", x(1, 4, 3, 5), w(4, 2, 2, 3), c([1, 2], _F), strides=[2, 1],
            pads=[1, 0, 0, 1], output_padding=[1, 0], dilations=[1, 2]),
        _op("ConvTranspose", x(1, 4, 5), w(4, 3, 3), group=2, strides=[2], output_shape=[9]),
        _op("ConvTranspose", x(1, 4, 5), x(4, 1, 3), group=4, strides=[2],
            auto_pad="SAME_UPPER"),
    ),
    "einsum": (
        _op("Einsum", x(2, 3, 4), x(2, 4, 5), equation="bij,bjk->bki"),
        _op("Einsum", x(2, 3), w(3, 4), equation="...i,ij"),
        _op("Einsum", x(2, 3), x(2, 1), x(3), equation="ab,ab,b->a"),
        _op("Einsum", x(2, 3), equation="ij->j"), _op("Einsum", x(3), x(2), equation="i,j->ji"),
    ),
    "elementwise": (
        _op("Add", x(2, 3), x(3)), _op("Add", x(2, 3, 4), x(3), axis=1, opset=6),
        _op("Div", x(2, 3), c([2, 4, 8], _F)), _op("Div", x(2, dtype=_I32), x(2, dtype=_I32)),
        _op("Mean", x(2, 3), x(3), x(2, 1)), _op("Max", x(2, 3), x(3)),
        _op("Mod", x(2, dtype=_I32), x(2, dtype=_I32), fmod=1), _op("Pow", x(2), c(2, _F)),
        _op("Pow", x(2), x(2)), _op("Pow", x(2, dtype=_I32), c(3, _F)),
        _op("Pow", x(2), x(2, dtype=_I32)), _op("Pow", x(1), c([[3]], _F)),
        _op("Clip", x(2), c(-1, _F), c(2, _F)), _op("Clip", x(2), None, c(2, _F)),
        _op("Clip", x(2), x(), None), _op("Clip", x(2, dtype=_I32), c(-1, _I32), c(2, _I32)),
        _op("Clip", x(2), opset=6, min=-1.5, max=2.5), _op("PRelu", x(2, 3, 4), x(3, 1)),
        _op("PRelu", x(2, 3, 4), x(3), opset=6), _op("PRelu", x(1, 2, 4), x(2), opset=6),
        _op("BitwiseNot", x(2, dtype=_I32)),
        _op("BitShift", x(2, dtype="uint8"), x(2, dtype="uint8"), direction="RIGHT"),
    ),
    "fake_quantization": (
        _quant("Quant", x(2, 3), _scale(), c(1, _F), c(4, _F), signed=1, narrow=0,
               rounding_mode="ROUND"),
        _quant("Quant", w(2, 3), c([[0.5], [0.25]], _F), c(0, _F), c(4, _F), signed=0, narrow=1,
               rounding_mode="FLOOR"),
        _quant("IntQuant", w(2, 3), c([0.5, 0.25, 1], _F), c(0, _F), c(8, _F)),
        _quant("BipolarQuant", w(2, 3), _scale()),
    ),
    "feature_encoders": (
        _ml("Binarizer", x(2, 3), threshold=0.5), _ml("Binarizer", x(2, dtype=_I64)),
        _ml("Imputer", x(2, 3), imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=-1.0),
        _ml("Imputer", x(2, 3), imputed_value_floats=[1.0], replaced_value_float=float("nan")),
        _ml("Imputer", x(2, 3, dtype=_I64), imputed_value_int64s=[7], replaced_value_int64=3),
        _ml("OneHotEncoder", x(2), cats_int64s=[3, 5], zeros=1),
        _ml("FeatureVectorizer", x(2), x(2, 3, dtype=_I64), inputdimensions=[1, 3]),
        _ml("CategoryMapper", x(2, dtype=_I64), cats_int64s=[4, 2], cats_strings=[b"a", b"b"]),
        _ml("LabelEncoder", x(2, dtype=_I64), keys_int64s=[3, 5, 3], values_floats=[0.5, 1.5, 2.5],
            default_float=7.5),
        _ml("LabelEncoder", x(2), keys_floats=[0.5, 2.0], values_int64s=[4, 9], default_int64=-7),
        _ml("LabelEncoder", x(2, dtype=_I32), keys_int64s=[3, 90000], values_int64s=[4, 9]),
        _ml("LabelEncoder", x(2, dtype=_I64), keys_int64s=[3, 5], values_strings=[b"a", b"b"]),
        _ml("LabelEncoder", x(2), keys_tensor=_data([1, 2], "float64"),
            values_tensor=_data([5, 6], _I32), default_tensor=_data([8], _I32)),
    ),
    "gather": (
        _op("Gather", x(2, 3), c([[1, -2]]), axis=1), _op("Gather", x(2, 3), c(-1), axis=1),
        _op("Gather", x(2, 3), x(2, dtype=_I64), axis=-1),
        _op("GatherElements", x(2, 3), c([[1, -2]]), axis=1),
        _op("GatherND", x(2, 3, 4), c([[1, -3]]), batch_dims=0),
        _op("GatherND", x(2, 3, 4), x(2, 5, 1, dtype=_I64), batch_dims=1),
        _op("ReverseSequence", x(3, 2, 4), c([3, 1]), batch_axis=1, time_axis=0),
        _op("ReverseSequence", x(3, 2, 4), c([2, 1, 4]), batch_axis=0, time_axis=2),
    ),
    "generation": (
        _op("ConstantOfShape", c([2, 3]), value=_data([7], _I32)), _op("ConstantOfShape", c([2])),
        _op("EyeLike", x(2, 3), k=1, dtype=6), _op("EyeLike", x(2, 3, dtype=_I32), k=-1),
        _op("Range", c(5), c(-2), c(-3)), _op("Range", c(1, _F), c(2, _F), c(0.25, _F)),
        _op("NonZero", c([[0, 1], [2, 0]])),
    ),
    "joining": (_op("Concat", x(2, 3), x(2, 1), axis=-1), _op("Concat", x(2, 3), x(2, 3), axis=0)),
    "linear_models": (
        _ml("LinearClassifier", x(1, 2), out=2, classlabels_ints=[3, 5],
            coefficients=[1.0, 2.0, 3.0, 4.0], intercepts=[0.5, 1.5], post_transform="SOFTMAX"),
        _ml("LinearClassifier", x(1, 2), out=2, classlabels_strings=[b"a", b"b"],
            coefficients=[1.0, 2.0, 3.0, 4.0]),
        _ml("LinearRegressor", x(1, 2), targets=2, coefficients=[1.0, 2.0, 3.0, 4.0],
            intercepts=[0.5, 1.5], post_transform="NONE"),
        _ml("Normalizer", x(2, 3), norm="MAX"), _ml("Normalizer", x(2, 3), norm="L1"),
    ),
    "masking": (
        _op("OneHot", x(2, dtype=_I64), c(3), c([5, 7], _F), axis=0),
        _op("Hardmax", x(2, 3, 4), axis=1), _op("Hardmax", x(2, 3, 4), axis=1, opset=11),
        _op("Trilu", x(2, 3), c(1), upper=0), _op("Trilu", x(2, 3)),
    ),
    "matmul": (
        _op("Gemm", x(4, 2), w(3, 4), c([1, 2, 3], _F), alpha=2.0, beta=3.0, transA=1, transB=1),
        _op("Gemm", x(2, 4), x(4, 3), x(3), alpha=2.0, beta=3.0, transA=0, transB=0),
        _op("Gemm", x(2, 4), w(4, 3), x(2, 1), beta=3.0), _op("Gemm", x(2, 4), w(4, 3), w(2, 3)),
        _op("Gemm", x(2, 4), w(4, 3)), _op("MatMul", x(2, 4), w(4, 3)),
        _op("MatMul", x(4), x(2, 4, 3)), _op("MatMul", x(2, 4), w(4)),
    ),
    "normalization": (
        _op("Softmax", x(2, 3, 4), axis=1), _op("Softmax", x(2, 3, 4), axis=1, opset=11),
        _op("LogSoftmax", x(2, 3), axis=-1), _op("LpNormalization", x(2, 3), axis=0, p=2),
        _op("LpNormalization", x(2, 3), axis=0, p=1),
        _op("LRN", x(1, 4, 3), size=3, alpha=0.5, beta=0.25, bias=2.0),
        _op("BatchNormalization", x(1, 2, 3), c([1, 2], _F), c([3, 4], _F), c([5, 6], _F),
            c([7, 8], _F), epsilon=0.5, training_mode=0),
        _op("BatchNormalization", x(3, 2), x(2), x(2), x(2), x(2), epsilon=0.5, is_test=1),
        _op("InstanceNormalization", x(1, 4, 3), x(4), x(4), epsilon=0.5),
        _op("GroupNormalization", x(1, 4, 3), x(2), x(2), num_groups=2, epsilon=0.5),
        _op("LayerNormalization", x(2, 3, 4), x(3, 4), x(4), out=3, axis=1, epsilon=0.5),
        _op("RMSNormalization", x(2, 3), x(3), axis=-1, epsilon=0.5),
    ),
    "padding": (
        _op("Pad", x(2, 3), c([1, -1, 0, 2]), c(7, _F), mode="constant"),
        _op("Pad", x(2, 3), c([1, 2]), None, c([-1]), mode="reflect"),
        _op("Pad", x(2, 3), c([1, 0, 0, 4]), mode="reflect"),
        _op("Pad", x(2, 3), mode="edge", pads=[0, 1, 0, 2], opset=10),
        _op("Pad", x(2, 3, dtype=_I32), pads=[0, 1, 0, 2], value=2.0, opset=6),
        _op("Pad", x(2, 3), c([0, 4, 0, 5]), mode="wrap"),
    ),
    "pooling": (
        _op("AveragePool", x(*_IMAGE), kernel_shape=[2, 3], strides=[2, 1], pads=[1, 0, 1, 0],
            count_include_pad=1, ceil_mode=1),
        _op("MaxPool", x(*_IMAGE), kernel_shape=[2, 3], strides=[1, 2], dilations=[2, 1],
            ceil_mode=0, auto_pad="SAME_LOWER"),
        _op("MaxPool", x(1, 2, 5), out=2, kernel_shape=[2], strides=[2], storage_order=0),
        _op("LpPool", x(1, 2, 3, 4, 5), kernel_shape=[2, 2, 3], strides=[1, 2, 1], p=3,
            pads=[1, 0, 0, 0, 1, 0]),
        _op("GlobalAveragePool", x(*_IMAGE)), _op("GlobalMaxPool", x(1, 2, 3, 4, 5)),
        _op("GlobalLpPool", x(1, 2, 3), p=1),
    ),
    "post_transforms": tuple(
        _ml("LinearRegressor", x(1, 2), targets=2, coefficients=[1.0, 2.0, 3.0, 4.0],
            post_transform=name)
        for name in ("SOFTMAX_ZERO", "PROBIT", "LOGISTIC")
    ),
    "quantized_operators": (
        _ms("QLinearAdd", *_bytes(2, 3), *_bytes(3), _scale(2), c(7, "uint8")),
        _op("QLinearConv", *_bytes(1, 4, 5), w(2, 4, 3).astype("uint8"), c([0.5, 0.25], _F),
            c([1, 2], "uint8"), _scale(2), c(7, "uint8"), c([5, 6], _I32), pads=[1, 0]),
        _op("QLinearMatMul", *_bytes(2, 4), w(4, 3).astype("uint8"), c([0.5, 0.25, 1], _F),
            c([1, 2, 3], "uint8"), _scale(2), c(7, "uint8")),
        _ms("QGemm", *_bytes(2, 4), w(3, 4).astype("int8"), c([0.5, 0.25, 1], _F),
            c([0, 0, 0], "int8"), c([5, 6, 7], _I32), _scale(2), c(7, "uint8"), transB=1),
        _ms("QLinearSigmoid", *_bytes(2, 3), _scale(1 / 256), c(0, "uint8"), channels_last=0),
        _ms("QLinearConcat", _scale(), c(3, "uint8"), *_bytes(2, 3), *_bytes(2, 1), axis=1),
        _op("ConvInteger", x(1, 4, 5, dtype="uint8"), w(2, 4, 3).astype("int8"), c(3, "uint8"),
            c([1, 2], "int8"), pads=[1, 0]),
        _op("MatMulInteger", x(2, 4, dtype="uint8"), x(4, 3, dtype="int8"), x(2, dtype="uint8"),
            x(3, dtype="int8")),
        _op("MatMulInteger", x(2, 4, dtype="uint8"), w(4).astype("int8")),
    ),
    "recurrent": (
        _recurrent("LSTM", 4, 2, 3, direction="bidirectional", layout=0, clip=2.0),
        _recurrent("LSTM", 4, 1, 1, direction="forward", input_forget=1),
        _recurrent("GRU", 3, 1, 3, direction="reverse", linear_before_reset=1),
        _recurrent("GRU", 3, 1, 1, linear_before_reset=0),
        _recurrent("RNN", 1, 2, 2, direction="bidirectional", activations=[b"Relu", b"Tanh"],
                   clip=0.5),
        _recurrent("RNN", 1, 1, 1, activations=[b"LeakyRelu"], activation_alpha=[0.25]),
        _recurrent("RNN", 1, 1, 2, activations=[b"Affine"], activation_alpha=[0.25],
                   activation_beta=[0.5]),
        _op("GRU", x(2, 1, 4), x(1, 9, 4), x(1, 9, 3), layout=1),
        _op("GRU", x(2, 1, 4), w(1, 9, 4), w(1, 9, 3), None, None, c(np.zeros((1, 1, 3)), _F)),
        _op("LSTM", x(1, 2, 4), x(1, 12, 4), x(1, 12, 3), x(1, 24), x(2, dtype=_I32), out=3),
    ),
    "reduction": (
        _op("ReduceMean", x(2, 3, 4), axes=[1, -1], keepdims=0),
        _op("ReduceSum", x(2, 3, 4), c([1, -1]), keepdims=0, noop_with_empty_axes=0),
        _op("ReduceSum", x(2, 3), None, noop_with_empty_axes=1, keepdims=1),
        _op("ReduceL2", x(2, 3), axes=[0], keepdims=1),
        _op("ReduceLogSumExp", x(2, 3), axes=[0], keepdims=0),
    ),
    "resize": (
        _op("Resize", x(1, 2, 3, 4), None, None, c([1, 2, 6, 5]), mode="nearest",
            coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        _op("Resize", x(1, 2, 3, 4), None, c([1, 1, 2, 1.5], _F), mode="linear",
            coordinate_transformation_mode="half_pixel", antialias=0, exclude_outside=0),
        _op("Resize", x(3, 4), None, None, c([6, 6]), mode="cubic", cubic_coeff_a=-0.5, axes=[1, 0],
            keep_aspect_ratio_policy="not_larger", opset=18),
        _op("Resize", x(3, 4), c([0.25, 0, 0.75, 1], _F), c([1, 2], _F), mode="linear",
            coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=3.5),
        _op("Upsample", x(1, 2, 3, 4), c([1, 1, 2, 2], _F), mode="nearest", opset=9),
        _op("Upsample", x(1, 2, 3, 4), scales=[1.0, 1.0, 2.0, 3.0], mode="linear", opset=7),
    ),
    "scan": (
        _op("ArgMax", x(2, 3, 4), axis=1, keepdims=0, select_last_index=0),
        _op("ArgMin", x(2, 3), axis=1, keepdims=1, select_last_index=1),
        _op("CumSum", x(2, 3), c(1), exclusive=1, reverse=0),
        _op("TopK", x(2, 3), c([2]), out=2, axis=0, largest=0), _op("TopK", x(2, 3), out=2, k=2,
            opset=9),
    ),
    "scatter": (
        _op("ScatterElements", x(2, 3), c([[1, -2]]), x(1, 2), axis=1, reduction="add"),
        _op("ScatterND", x(2, 3), c([[1, -3]]), x(1), reduction="none"),
    ),
    "scikit_learn": (
        _ml("Scaler", x(2, 3), offset=[1.0, 2.0, 3.0], scale=[0.5, 0.25, 2.0]),
        _ml("ArrayFeatureExtractor", x(2, 3), c([0, 2])), _ml("ZipMap", x(2, 3)),
        _ml("ArrayFeatureExtractor", x(3), x(1, 2, dtype=_I64)),
    ),
    "sequences": (
        _op("SequenceConstruct", x(2), x(3)), _op("SequenceLength", Several((x(2), x(3)))),
        _op("SequenceAt", Several((x(2), x(3))), c(-2)), _op("SequenceEmpty"),
        _op("SequenceInsert", Several((x(2), x(3))), x(4), c(1)),
        _op("SequenceErase", Several((x(2), x(3))), c(0)),
        _op("SplitToSequence", x(2, 5), c([2, 3]), axis=1, keepdims=1),
        _op("SplitToSequence", x(2, 5), c(2), axis=1), _op("SplitToSequence", x(2, 5), axis=0,
            keepdims=0),
        _op("ConcatFromSequence", Several((x(2, 3), x(2, 3))), axis=1, new_axis=1),
        _op("ConcatFromSequence", Several((x(2, 3), x(2, 1))), axis=1, new_axis=0),
    ),
    "shape": (
        _op("Identity", x(2)), _op("Dropout", x(2), c(0.5, _F), c(False, _BOOL), out=2),
        _op("Reshape", x(2, 6), c([0, -1]), allowzero=0), _op("Reshape", x(2, 6), shape=[3, 4],
            opset=6),
        _op("Flatten", x(2, 3, 4), axis=2), _op("Squeeze", x(1, 2, 1), c([-1])),
        _op("Squeeze", x(1, 2, 1)), _op("Unsqueeze", x(2, 3), c([-1, 1])),
        _op("Unsqueeze", x(2, 3), axes=[0], opset=11), _op("Transpose", x(2, 3, 4), perm=[2, 0, 1]),
        _op("Shape", x(2, 3, 4), start=1, end=-1), _op("Size", x(2, 3)),
        _op("Constant", value_floats=[1.0, 2.0]), _op("Constant", value=_data([1, 2], _I64)),
        _op("Constant", value_int=3),
    ),
    "signal": (
        _op("DFT", x(2, 8, 1), None, axis=1, inverse=0, onesided=1),
        _op("DFT", x(2, 6, 2), c(8), c(-2), inverse=0, onesided=0, opset=20),
        _op("DFT", x(7, 2, 2), axis=0, inverse=1), _op("DFT", x(2, 5, 2), axis=1, inverse=1,
            onesided=1),
        _op("STFT", x(2, 10, 1), c(3), c([1, 2, 3, 4], _F), c(4), onesided=1),
        _op("STFT", x(1, 9), c(2), None, c(3), onesided=0),
    ),
    "signal_constants": (
        _op("HannWindow", c(5), periodic=0, output_datatype=1), _op("BlackmanWindow", c(4)),
        _op("MelWeightMatrix", c(3), c(16), c(8000), c(100, _F), c(3000, _F), output_datatype=1),
    ),
    "slicing": (
        _op("Slice", x(4, 6), c([1, -1]), c([4, -7]), c([0, -1]), c([2, -1])),
        _op("Slice", x(4, 6), starts=[1], ends=[3], axes=[1], opset=9),
        _op("Split", x(2, 5), c([2, 3]), out=2, axis=1), _op("Split", x(2, 5), out=2, axis=1),
        _op("Split", x(2, 5), out=3, axis=1, num_outputs=3, opset=18),
        _op("Split", x(2, 5), out=2, axis=1, split=[1, 4], opset=11),
        _op("Compress", x(2, 3), c([True, False, True], _BOOL), axis=1),
        _op("Compress", x(2, 3), c([True, False, True], _BOOL)),
    ),
    "space": (
        _op("SpaceToDepth", x(1, 2, 4, 6), blocksize=2, mode="DCR"),
        _op("DepthToSpace", x(1, 8, 2, 3), blocksize=2, mode="CRD"),
    ),
    "support_vectors": (
        _ml("SVMRegressor", x(1, 2), coefficients=[1.0, 2.0, 3.0], rho=[0.5], n_supports=3,
            kernel_type="POLY", one_class=0, **_SVM),
        _ml("SVMRegressor", x(1, 2), coefficients=[1.0, 2.0], rho=[0.5], n_supports=0),
        _ml("SVMClassifier", x(1, 2), out=2, classlabels_ints=[3, 5], vectors_per_class=[2, 1],
            coefficients=[1.0, 2.0, 3.0], rho=[0.5], kernel_type="RBF", **_SVM),
        _ml("SVMClassifier", x(1, 2), out=2, classlabels_strings=[b"a", b"b"],
            vectors_per_class=[2, 1], coefficients=[1.0, 2.0, 3.0], rho=[0.5], **_SVM),
        _ml("SVMClassifier", x(1, 2), out=2, classlabels_ints=[0, 1, 2],
            vectors_per_class=[1, 1, 1], coefficients=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            rho=[0.5, 1.5, 2.5], prob_a=[-1.0, -2.0, -3.0], prob_b=[0.25, 0.5, 0.75],
            kernel_type="LINEAR", **_SVM),
        _ml("SVMClassifier", x(1, 2), out=2, classlabels_strings=[b"a", b"b", b"c", b"d"],
            vectors_per_class=[1, 2, 1, 0], coefficients=[float(n) for n in range(12)],
            rho=[float(n) for n in range(6)], kernel_type="SIGMOID",
            support_vectors=[float(n) for n in range(8)], kernel_params=[0.5, 0.25, 3.0]),
    ),
    "tiling": (_op("Tile", x(2, 3), c([2, 1])), _op("Expand", x(2, 1), c([3, 1, 4]))),
    "trees": (
        _ml("TreeEnsembleRegressor", x(1, 3), n_targets=2, aggregate_function="SUM",
            base_values=[0.5, 1.5], **_TREE,
            **_leaves("target", [0, 1, 1, 0], [1.0, 2.0, 3.0, 4.0])),
        _ml("TreeEnsembleRegressor", x(1, 3), n_targets=1, aggregate_function="MIN", **_TREE,
            **_leaves("target", [0, 0, 0, 0], [1.0, 2.0, 3.0, 4.0])),
        _ml("TreeEnsembleClassifier", x(1, 3), out=2, classlabels_int64s=[3, 5],
            post_transform="LOGISTIC", **_TREE,
            **_leaves("class", [1, 1, 1, 1], [0.5, 2.0, 3.0, 1.0])),
        _ml("TreeEnsembleClassifier", x(1, 3), out=2, classlabels_strings=[b"a", b"b", b"c"],
            post_transform="NONE", base_values=[0.5, 1.5, 2.5], **_TREE,
            **_leaves("class", [0, 1, 2, 1], [0.5, 0.5, 0.5, 0.5])),
        _ml("TreeEnsembleClassifier", x(1, 3), out=2, classlabels_int64s=[0, 1, 2], **_TREE,
            **_leaves("class", [0, 1, 2, 1], [0.5, 1.0, 0.5, 2.0])),
        _ml("TreeEnsembleClassifier", x(1, 3), out=2, classlabels_int64s=[0, 1],
            post_transform="NONE", base_values=[0.25], **_TREE,
            **_leaves("class", [0, 0, 0, 0], [0.5, -2.0, 3.0, 1.0])),
        _ml("TreeEnsembleRegressor", x(1, 3), n_targets=1, aggregate_function="AVERAGE", **_TREE,
            **_leaves("target", [0, 0, 0, 0], [2.0, 2.0, 2.0, 2.0])),
        _ml("TreeEnsemble", x(1, 3), **_NEW_TREE),
    ),
}  # fmt: skip
