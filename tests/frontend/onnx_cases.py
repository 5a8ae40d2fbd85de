"""One operator each that is imported, by family: what `onnx_damage.py` damages."""

from __future__ import annotations

from typing import Any

from tests.frontend.onnx_damage import Case, Several, c, w, x
from tests.frontend.onnx_runtime_cases import RUNTIME, ms
from tests.frontend.onnx_structured_cases import STRUCTURED, data, op

_IMAGE = (1, 4, 5, 6)
_QONNX = "qonnx.custom_op.general"
_F, _I32, _I64, _BOOL = "float32", "int32", "int64", "bool"


def _quant(kind: str, *operands: Any, **attributes: Any) -> Case:
    return Case(kind, operands, attributes, domain=_QONNX)


def _scale(number: float = 0.5) -> Any:
    return c(number, _F)


def _bytes(*shape: int) -> tuple[Any, Any, Any]:
    """A quantized tensor, its scale and its zero point."""
    return x(*shape, dtype="uint8"), _scale(), c(3, "uint8")


_CONV = {"strides": [1, 2], "dilations": [2, 1], "pads": [1, 0, 2, 1], "kernel_shape": [2, 3]}

CASES: dict[str, tuple[Case, ...]] = {
    **STRUCTURED,
    **RUNTIME,
    "activation": (
        op("Exp", x(2, 3)), op("Relu", x(2, 3)), op("Relu", x(2, 3, dtype=_I32)),
        op("Celu", x(2, 3), alpha=2.0), op("Elu", x(2, 3), alpha=0.5),
        op("Gelu", x(2, 3), approximate="tanh"), op("HardSigmoid", x(2, 3), alpha=0.5, beta=0.25),
        op("LeakyRelu", x(2, 3), alpha=0.25), op("Selu", x(2, 3), alpha=2.0, gamma=3.0),
        op("Shrink", x(2, 3), lambd=1.5, bias=0.5), op("Swish", x(2, 3), alpha=2.0),
        op("ThresholdedRelu", x(2, 3), alpha=2.0),
    ),
    "cast": (
        op("Cast", x(2), to=6), op("CastLike", x(2), x(3, dtype=_BOOL)), op("BitCast", x(2), to=6),
    ),
    "comparison": (
        op("Less", x(2, 3), x(3)), op("And", x(2, dtype=_BOOL), x(2, dtype=_BOOL)),
        op("Not", x(2, dtype=_BOOL)), op("Where", x(3, dtype=_BOOL), x(2, 3), x(2, 1)),
        op("IsNaN", x(2)), op("IsInf", x(2), detect_positive=0, detect_negative=1),
        op("IsInf", x(2), detect_positive=1, detect_negative=0),
    ),
    "convolution": (
        op("Conv", x(*_IMAGE), w(3, 4, 2, 3), c([1, 2, 3], _F), **_CONV),
        op("Conv", x(1, 4, 7), w(6, 2, 3), group=2, auto_pad="SAME_UPPER"),
        op("Conv", x(1, 1, 7), w(2, 1, 3)), op("Conv", x(1, 1, 2, 3, 4), w(2, 1, 2, 1, 1)),
        op("Conv", x(1, 4, 7), w(8, 1, 3), x(8), group=4, auto_pad="SAME_LOWER", strides=[2]),
        op("Conv", x(1, 2, 3, 4, 5), w(3, 2, 2, 2, 3), strides=[2, 1, 2],
            pads=[1, 0, 1, 0, 1, 0]),
        op("Conv", x(1, 4, 3, 4, 5), x(4, 4, 2, 2, 3), x(4), group=1, dilations=[2, 1, 1]),
        op("ConvTranspose", x(1, 4, 3, 5), w(4, 2, 2, 3), c([1, 2], _F), strides=[2, 1],
            pads=[1, 0, 0, 1], output_padding=[1, 0], dilations=[1, 2]),
        op("ConvTranspose", x(1, 4, 5), w(4, 3, 3), group=2, strides=[2], output_shape=[9]),
        op("ConvTranspose", x(1, 2, 3, 3, 3), w(2, 2, 3, 2, 2), strides=[2, 1, 1]),
        op("ConvTranspose", x(1, 4, 5), x(4, 1, 3), group=4, strides=[2],
            auto_pad="SAME_UPPER"),
    ),
    "einsum": (
        op("Einsum", x(2, 3, 4), x(2, 4, 5), equation="bij,bjk->bki"),
        op("Einsum", x(2, 3), w(3, 4), equation="...i,ij"),
        op("Einsum", x(2, 3), x(2, 1), x(3), equation="ab,ab,b->a"),
        op("Einsum", x(2, 5, 3), x(5, 3), equation="...i,...i->..."),
        op("Einsum", x(2, 3), equation="ij->j"), op("Einsum", x(3), x(2), equation="i,j->ji"),
    ),
    "elementwise": (
        op("Add", x(2, 3), x(3)), op("Add", x(2, 3, 4), x(3), axis=1, opset=6),
        op("Div", x(2, 3), c([2, 4, 8], _F)), op("Div", x(2, dtype=_I32), x(2, dtype=_I32)),
        op("Mean", x(2, 3), x(3), x(2, 1)), op("Max", x(2, 3), x(3)),
        op("Mod", x(2, dtype=_I32), x(2, dtype=_I32), fmod=1), op("Pow", x(2), c(2, _F)),
        op("Pow", x(2), x(2)), op("Pow", x(2, dtype=_I32), c(3, _F)),
        op("Pow", x(2), x(2, dtype=_I32)), op("Pow", x(1), c([[3]], _F)),
        op("Clip", x(2), c(-1, _F), c(2, _F)), op("Clip", x(2), None, c(2, _F)),
        op("Clip", x(2), x(), None), op("Clip", x(2, dtype=_I32), c(-1, _I32), c(2, _I32)),
        op("Clip", x(2), opset=6, min=-1.5, max=2.5), op("PRelu", x(2, 3, 4), x(3, 1)),
        op("PRelu", x(2, 3, 4), x(3), opset=6), op("PRelu", x(1, 2, 4), x(2), opset=6),
        op("BitwiseNot", x(2, dtype=_I32)),
        op("BitShift", x(2, dtype="uint8"), x(2, dtype="uint8"), direction="RIGHT"),
    ),
    "fake_quantization": (
        _quant("Quant", x(2, 3), _scale(), c(1, _F), c(4, _F), signed=1, narrow=0,
               rounding_mode="ROUND"),
        _quant("Quant", w(2, 3), c([[0.5], [0.25]], _F), c(0, _F), c(4, _F), signed=0, narrow=1,
               rounding_mode="FLOOR"),
        _quant("IntQuant", w(2, 3), c([0.5, 0.25, 1], _F), c(0, _F), c(8, _F)),
        _quant("IntQuant", c([0, 127], _F), _scale(1.0), c(0, _F), c(8, _F)),
        _quant("IntQuant", w(2, 3), _scale(2**-5), c(0, _F), c(16, _F)),
        _quant("BipolarQuant", w(2, 3), _scale()), _quant("BipolarQuant", x(2, 3), _scale()),
    ),
    "gather": (
        op("Gather", x(2, 3), c([[1, -2]]), axis=1), op("Gather", x(2, 3), c(-1), axis=1),
        op("Gather", x(2, 3), x(2, dtype=_I64), axis=-1),
        op("GatherElements", x(2, 3), c([[1, -2]]), axis=1),
        op("GatherND", x(2, 3, 4), c([[1, -3]]), batch_dims=0),
        op("GatherND", x(2, 3, 4), x(2, 5, 1, dtype=_I64), batch_dims=1),
        op("ReverseSequence", x(3, 2, 4), c([3, 1]), batch_axis=1, time_axis=0),
        op("ReverseSequence", x(3, 2, 4), c([2, 1, 4]), batch_axis=0, time_axis=2),
    ),
    "generation": (
        op("ConstantOfShape", c([2, 3]), value=data([7], _I32)), op("ConstantOfShape", c([2])),
        op("EyeLike", x(2, 3), k=1, dtype=6), op("EyeLike", x(2, 3, dtype=_I32), k=-1),
        op("Range", c(5), c(-2), c(-3)), op("Range", c(1, _F), c(2, _F), c(0.25, _F)),
        op("NonZero", c([[0, 1], [2, 0]])),
    ),
    "grid_sampling": (
        op("GridSample", x(1, 2, 3, 4), x(1, 5, 6, 2), mode="linear", padding_mode="border",
            align_corners=1, opset=20),
        op("GridSample", x(2, 2, 3, 4), x(2, 5, 6, 2), mode="nearest", padding_mode="zeros"),
        op("GridSample", x(1, 2, 3, 4), x(1, 5, 6, 2), padding_mode="reflection"),
    ),
    "joining": (op("Concat", x(2, 3), x(2, 1), axis=-1), op("Concat", x(2, 3), x(2, 3), axis=0)),
    "linear_algebra": (
        ms("CDist", x(1, 4), w(3, 4)), ms("CDist", x(2, 4), x(3, 4), metric="euclidean"),
        ms("Solve", w(3, 3), x(3, 2)), ms("Solve", w(3, 3), x(3, 1), lower=1, transposed=1),
    ),
    "masking": (
        op("OneHot", x(2, dtype=_I64), c(3), c([5, 7], _F), axis=0),
        op("Hardmax", x(2, 3, 4), axis=1), op("Hardmax", x(2, 3, 4), axis=1, opset=11),
        op("Trilu", x(2, 3), c(1), upper=0), op("Trilu", x(2, 3)),
    ),
    "matmul": (
        op("Gemm", x(4, 2), w(3, 4), c([1, 2, 3], _F), alpha=2.0, beta=3.0, transA=1, transB=1),
        op("Gemm", x(2, 4), x(4, 3), x(3), alpha=2.0, beta=3.0, transA=0, transB=0),
        op("Gemm", x(2, 4), w(4, 3), x(2, 1), beta=3.0), op("Gemm", x(2, 4), w(4, 3), w(2, 3)),
        op("Gemm", x(2, 4), w(4, 3)), op("MatMul", x(2, 4), w(4, 3)),
        op("MatMul", x(4), x(2, 4, 3)), op("MatMul", x(2, 4), w(4)),
    ),
    "normalization": (
        op("Softmax", x(2, 3, 4), axis=1), op("Softmax", x(2, 3, 4), axis=1, opset=11),
        op("LogSoftmax", x(2, 3), axis=-1), op("LpNormalization", x(2, 3), axis=0, p=2),
        op("LpNormalization", x(2, 3), axis=0, p=1),
        op("LRN", x(1, 4, 3), size=3, alpha=0.5, beta=0.25, bias=2.0),
        op("BatchNormalization", x(1, 2, 3), c([1, 2], _F), c([3, 4], _F), c([5, 6], _F),
            c([7, 8], _F), epsilon=0.5, training_mode=0),
        op("BatchNormalization", x(3, 2), x(2), x(2), x(2), x(2), epsilon=0.5, is_test=1),
        op("InstanceNormalization", x(1, 4, 3), x(4), x(4), epsilon=0.5),
        op("GroupNormalization", x(1, 4, 3), x(2), x(2), num_groups=2, epsilon=0.5),
        op("LayerNormalization", x(2, 3, 4), x(3, 4), x(4), out=3, axis=1, epsilon=0.5),
        op("RMSNormalization", x(2, 3), x(3), axis=-1, epsilon=0.5),
    ),
    "padding": (
        op("Pad", x(2, 3), c([1, -1, 0, 2]), c(7, _F), mode="constant"),
        op("Pad", x(2, 3), c([1, 2]), None, c([-1]), mode="reflect"),
        op("Pad", x(2, 3), c([1, 0, 0, 4]), mode="reflect"),
        op("Pad", x(2, 3), mode="edge", pads=[0, 1, 0, 2], opset=10),
        op("Pad", x(2, 3, dtype=_I32), pads=[0, 1, 0, 2], value=2.0, opset=6),
        op("Pad", x(2, 3), c([0, 4, 0, 5]), mode="wrap"),
    ),
    "pooling": (
        op("AveragePool", x(*_IMAGE), kernel_shape=[2, 3], strides=[2, 1], pads=[1, 0, 1, 0],
            count_include_pad=1, ceil_mode=1),
        op("MaxPool", x(*_IMAGE), kernel_shape=[2, 3], strides=[1, 2], dilations=[2, 1],
            ceil_mode=0, auto_pad="SAME_LOWER"),
        op("MaxPool", x(1, 2, 5), out=2, kernel_shape=[2], strides=[2], storage_order=0),
        op("LpPool", x(1, 2, 3, 4, 5), kernel_shape=[2, 2, 3], strides=[1, 2, 1], p=3,
            pads=[1, 0, 0, 0, 1, 0]),
        op("GlobalAveragePool", x(*_IMAGE)), op("GlobalMaxPool", x(1, 2, 3, 4, 5)),
        op("GlobalLpPool", x(1, 2, 3), p=1),
    ),
    "quantization": (
        op("QuantizeLinear", x(2, 3), _scale(), c(3, "uint8"), axis=1),
        op("QuantizeLinear", x(2, 3), c([0.5, 0.25, 1], _F), c([1, 2, 3], "int8"), axis=1),
        op("QuantizeLinear", w(2, 3), c([0.5, 0.25], _F), axis=0),
        op("QuantizeLinear", x(2, 3), _scale(), output_dtype=5, opset=21),
        op("QuantizeLinear", x(2, 3), _scale(), c(3, "int8"), output_dtype=3, opset=21),
        op("QuantizeLinear", x(2, 4), x(2, 2), x(2, 2, dtype="uint8"), axis=1, block_size=2),
        op("DequantizeLinear", x(2, 3, dtype="int8"), _scale(), c(3, "int8"), axis=1),
        op("DequantizeLinear", w(2, 3).astype("int8"), c([0.5, 0.25], _F), axis=0),
        op("DequantizeLinear", x(2, 4, dtype="uint8"), x(2, 2), None, axis=1, block_size=2),
        op("DequantizeLinear", w(2, 5).astype("int8"), c([[1, 2, 3], [4, 5, 6]], _F), axis=1,
            block_size=2),
        op("DequantizeLinear", x(2, 3, dtype="uint8"), x(3), x(3, dtype="uint8"), axis=-1),
        op("DynamicQuantizeLinear", x(2, 3), out=3),
    ),
    "quantized_operators": (
        ms("QLinearAdd", *_bytes(2, 3), *_bytes(3), _scale(2), c(7, "uint8")),
        op("QLinearConv", *_bytes(1, 4, 5), w(2, 4, 3).astype("uint8"), c([0.5, 0.25], _F),
            c([1, 2], "uint8"), _scale(2), c(7, "uint8"), c([5, 6], _I32), pads=[1, 0]),
        op("QLinearMatMul", *_bytes(2, 4), w(4, 3).astype("uint8"), c([0.5, 0.25, 1], _F),
            c([1, 2, 3], "uint8"), _scale(2), c(7, "uint8")),
        ms("QGemm", *_bytes(2, 4), w(3, 4).astype("int8"), c([0.5, 0.25, 1], _F),
            c([0, 0, 0], "int8"), c([5, 6, 7], _I32), _scale(2), c(7, "uint8"), transB=1),
        ms("QLinearSigmoid", *_bytes(2, 3), _scale(1 / 256), c(0, "uint8"), channels_last=0),
        ms("QLinearConcat", _scale(), c(3, "uint8"), *_bytes(2, 3), *_bytes(2, 1), axis=1),
        ms("QLinearWhere", c([[True], [False]], "bool"), *_bytes(2, 3), *_bytes(3), _scale(2),
            c(7, "uint8")),
        op("ConvInteger", x(1, 4, 5, dtype="uint8"), w(2, 4, 3).astype("int8"), c(3, "uint8"),
            c([1, 2], "int8"), pads=[1, 0]),
        op("MatMulInteger", x(2, 4, dtype="uint8"), x(4, 3, dtype="int8"), x(2, dtype="uint8"),
            x(3, dtype="int8")),
        op("MatMulInteger", x(2, 4, dtype="uint8"), w(4).astype("int8")),
        op("ConvInteger", x(1, 4, 5, dtype="uint8"), x(2, 2, 3, dtype="int8"), group=2),
        op("MatMulInteger", x(2, 300, dtype="uint8"), x(300, 2, dtype="int8")),
        op("ConvInteger", x(1, 90, 5, dtype="uint8"), x(2, 90, 3, dtype="int8"), group=1),
    ),
    "reduction": (
        op("ReduceMean", x(2, 3, 4), axes=[1, -1], keepdims=0),
        op("ReduceSum", x(2, 3, 4), c([1, -1]), keepdims=0, noop_with_empty_axes=0),
        op("ReduceSum", x(2, 3), None, noop_with_empty_axes=1, keepdims=1),
        op("ReduceMax", x(2, 3), axes=[1]), op("ReduceMax", x(2, 3, dtype=_BOOL), axes=[1]),
        op("ReduceL2", x(2, 3), axes=[0], keepdims=1),
        op("ReduceLogSum", x(2, 3), axes=[0], keepdims=0),
        op("ReduceLogSumExp", x(2, 3), axes=[0], keepdims=0),
    ),
    "resize": (
        op("Resize", x(1, 2, 3, 4), None, None, c([1, 2, 6, 5]), mode="nearest",
            coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        op("Resize", x(1, 2, 3, 4), None, c([1, 1, 2, 1.5], _F), mode="linear",
            coordinate_transformation_mode="half_pixel", antialias=0, exclude_outside=0),
        op("Resize", x(3, 4), None, None, c([6, 6]), mode="cubic", cubic_coeff_a=-0.5, axes=[1, 0],
            keep_aspect_ratio_policy="not_larger", opset=18),
        op("Resize", x(3, 4), c([0.25, 0, 0.75, 1], _F), c([1, 2], _F), mode="linear",
            coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=3.5),
        op("Upsample", x(1, 2, 3, 4), c([1, 1, 2, 2], _F), mode="nearest", opset=9),
        op("Upsample", x(1, 2, 3, 4), scales=[1.0, 1.0, 2.0, 3.0], mode="linear", opset=7),
    ),
    "folding": (
        op("Col2Im", x(1, 8, 6), c([4, 6]), c([2, 2]), strides=[2, 2], opset=18),
        op("Col2Im", x(1, 4, 12), c([4, 5]), c([2, 2]), dilations=[1, 1], pads=[0, 0, 0, 0],
            opset=18),
    ),
    "scan": (
        op("ArgMax", x(2, 3, 4), axis=1, keepdims=0, select_last_index=0),
        op("ArgMin", x(2, 3), axis=1, keepdims=1, select_last_index=1),
        op("CumSum", x(2, 3), c(1), exclusive=1, reverse=0),
        op("CumProd", x(2, 3), c(1), exclusive=1, reverse=0),
        op("TopK", x(2, 3), c([2]), out=2, axis=0, largest=0), op("TopK", x(2, 3), out=2, k=2,
            opset=9),
    ),
    "scatter": (
        op("ScatterElements", x(2, 3), c([[1, -2]]), x(1, 2), axis=1, reduction="add"),
        op("ScatterND", x(2, 3), c([[1, -3]]), x(1), reduction="none"),
    ),
    "sequences": (
        op("SequenceConstruct", x(2), x(3)), op("SequenceLength", Several((x(2), x(3)))),
        op("SequenceAt", Several((x(2), x(3))), c(-2)), op("SequenceEmpty"),
        op("SequenceInsert", Several((x(2), x(3))), x(4), c(1)),
        op("SequenceErase", Several((x(2), x(3))), c(0)),
        op("SplitToSequence", x(2, 5), c([2, 3]), axis=1, keepdims=1),
        op("SplitToSequence", x(2, 5), c(2), axis=1), op("SplitToSequence", x(2, 5), axis=0,
            keepdims=0),
        op("ConcatFromSequence", Several((x(2, 3), x(2, 3))), axis=1, new_axis=1),
        op("ConcatFromSequence", Several((x(2, 3), x(2, 1))), axis=1, new_axis=0),
    ),
    "shape": (
        op("Identity", x(2)), op("Dropout", x(2), c(0.5, _F), c(False, _BOOL), out=2),
        op("Reshape", x(2, 6), c([0, -1]), allowzero=0), op("Reshape", x(2, 6), shape=[3, 4],
            opset=6),
        op("Flatten", x(2, 3, 4), axis=2), op("Squeeze", x(1, 2, 1), c([-1])),
        op("Squeeze", x(1, 2, 1)), op("Unsqueeze", x(2, 3), c([-1, 1])),
        op("Unsqueeze", x(2, 3), axes=[0], opset=11), op("Transpose", x(2, 3, 4), perm=[2, 0, 1]),
        op("Shape", x(2, 3, 4), start=1, end=-1), op("Size", x(2, 3)),
        op("Constant", value_floats=[1.0, 2.0]), op("Constant", value=data([1, 2], _I64)),
        op("Constant", value_int=3),
    ),
    "signal": (
        op("DFT", x(2, 8, 1), None, axis=1, inverse=0, onesided=1),
        op("DFT", x(2, 6, 2), c(8), c(-2), inverse=0, onesided=0, opset=20),
        op("DFT", x(7, 2, 2), axis=0, inverse=1), op("DFT", x(2, 5, 2), axis=1, inverse=1,
            onesided=1),
        op("DFT", x(2, 5, 2), c(8), axis=1, inverse=1, onesided=1),
        op("STFT", x(2, 10, 1), c(3), c([1, 2, 3, 4], _F), c(4), onesided=1),
        op("STFT", x(1, 9), c(2), None, c(3), onesided=0),
    ),
    "signal_constants": (
        op("HannWindow", c(5), periodic=0, output_datatype=1), op("BlackmanWindow", c(4)),
        op("MelWeightMatrix", c(3), c(16), c(8000), c(100, _F), c(3000, _F), output_datatype=1),
        op("MelWeightMatrix", c(1), c(16), c(8000), c(100, _F), c(3000, _F)),
    ),
    "slicing": (
        op("Slice", x(4, 6), c([1, -1]), c([4, -7]), c([0, -1]), c([2, -1])),
        op("Slice", x(4, 6), starts=[1], ends=[3], axes=[1], opset=9),
        op("Split", x(2, 5), c([2, 3]), out=2, axis=1), op("Split", x(2, 5), out=2, axis=1),
        op("Split", x(2, 5), out=3, axis=1, num_outputs=3, opset=18),
        op("Split", x(2, 5), out=2, axis=1, split=[1, 4], opset=11),
        op("Compress", x(2, 3), c([True, False, True], _BOOL), axis=1),
        op("Compress", x(2, 3), c([True, False, True], _BOOL)),
    ),
    "space": (
        op("SpaceToDepth", x(1, 2, 4, 6), blocksize=2, mode="DCR"),
        op("DepthToSpace", x(1, 8, 2, 3), blocksize=2, mode="CRD"),
    ),
    "tiling": (op("Tile", x(2, 3), c([2, 1])), op("Expand", x(2, 1), c([3, 1, 4]))),
}  # fmt: skip
