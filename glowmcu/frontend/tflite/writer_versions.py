"""The version number that a TFLite operator carries, from its operand types and attributes.

A version says which runtime understands the operator: int8 came to CONV_2D with version 3. TFLite
Micro ignores it, LiteRT refuses a version it does not know.
Source: tensorflow/lite/tools/versioning/op_version.cc (`GetBuiltinOperatorVersion`), restricted
to what static int8/int16/float models use.
"""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Signature:
    """Operand types (`"int8"`, `""` for an absent one), ranks and attributes of one operator.

    `is_grouped` is true for a convolution whose filter reads fewer channels than the input has,
    `is_per_channel` when the first operand, or for layers with weights the second, is so quantized.
    `rescale` is s_in1 * s_in2 / s_out, for MUL only.
    """

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    max_rank: int
    options: Mapping[str, object]
    is_grouped: bool = False
    is_per_channel: bool = False
    rescale: float = 0.0


_GROUPS: tuple[tuple[dict[str, int], tuple[str, ...]], ...] = (
    (
        {"int8": 2, "int16": 3},
        (
            *("AVERAGE_POOL_2D", "MAX_POOL_2D", "MEAN", "REDUCE_MAX", "REDUCE_MIN"),
            *("TANH", "LOGISTIC", "SOFTMAX", "RELU6", "RSQRT", "LESS", "GREATER_EQUAL"),
            *("PAD", "PADV2", "MIRROR_PAD", "CONCATENATION", "PACK", "BATCH_MATMUL"),
        ),
    ),
    (
        {"int8": 2},
        (
            *("SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "SPLIT_V", "SELECT", "TOPK_V2"),
            *("LOG_SOFTMAX", "L2_NORMALIZATION", "SUM", "GREATER", "LESS_EQUAL", "NOT_EQUAL"),
            *("ADD", "SUB", "SQUARED_DIFFERENCE"),
        ),
    ),
    (
        {"int8": 2, "int16": 4},
        (
            *("MAXIMUM", "MINIMUM", "EQUAL", "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"),
            *("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "SLICE"),
        ),
    ),
    ({"int8": 2, "bool": 3}, ("ARG_MAX", "ARG_MIN", "STRIDED_SLICE")),
    ({"int8": 2, "int16": 2}, ("EXP", "LOG", "REDUCE_PROD", "FLOOR_MOD")),
    ({"int8": 2, "uint8": 2}, ("GELU",)),
    ({"int8": 2, "uint8": 2, "int16": 3}, ("RELU",)),
    ({"int8": 2, "uint8": 2, "int16": 3, "int32": 5}, ("ABS",)),
    ({"int8": 3, "int16": 3, "": 2}, ("BROADCAST_TO",)),
    ({"int8": 3, "uint32": 2}, ("CAST",)),
    ({"int8": 2, "int16": 3, "float16": 3, "int4": 6}, ("DEQUANTIZE",)),
    ({"int8": 3, "int16": 3, "bool": 2}, ("FILL",)),
    ({"int8": 3, "int16": 3, "float32": 2}, ("FLOOR_DIV",)),
    ({"int8": 2, "bool": 3, "int16": 4, "int4": 7}, ("GATHER",)),
    ({"int16": 3, "bool": 5}, ("GATHER_ND",)),
    ({"int16": 2}, ("LEAKY_RELU",)),
    ({"int8": 2, "int16": 4, "int64": 5}, ("MUL",)),
    ({"int8": 3, "bool": 2}, ("REVERSE_V2",)),
    ({"int8": 2, "int32": 3, "int16": 4}, ("SPLIT",)),
    ({"int8": 3}, ("SVDF", "TILE")),
    ({"int8": 2, "bool": 3, "int16": 5}, ("TRANSPOSE",)),
    ({"int8": 2, "uint8": 2, "bool": 3, "int16": 4}, ("UNPACK",)),
)
"""Type of the first data operand -> version, for these operators; "" is any other type."""

_LADDERS = {kind: ladder for ladder, kinds in _GROUPS for kind in kinds}
"""What is not here is version 1."""


def builtin_version(signature: Signature) -> int:
    """Smallest operator version that has everything in the signature."""
    weighted = _WEIGHTED.get(signature.kind)
    if weighted is not None:
        return weighted(signature)
    ladder = _LADDERS.get(signature.kind, {})
    version = ladder.get(_data_type(signature), ladder.get("", 1))
    return max(version, _version_of_attributes(signature))


def _data_type(signature: Signature) -> str:
    """Type of the tensor that the operator works on; SPLIT has its axis first, FILL its shape."""
    position = 1 if signature.kind in ("SPLIT", "FILL") else 0
    return signature.inputs[position] if position < len(signature.inputs) else ""


def _version_of_attributes(signature: Signature) -> int:
    """What other things than the type ask for."""
    options = signature.options
    match signature.kind:
        case "RESIZE_BILINEAR" | "RESIZE_NEAREST_NEIGHBOR":
            return 3 if options.get("half_pixel_centers") or options.get("align_corners") else 1
        case "STRIDED_SLICE" if options.get("ellipsis_mask") or options.get("new_axis_mask"):
            return 6
        case "GATHER" if options.get("batch_dims"):
            return 5
        case "MUL" if signature.rescale >= 1.0:
            return 3
        case "CAST" if signature.outputs[0] == "int8":
            return 3
        case "QUANTIZE" if signature.outputs[0] == "int16":
            return 2
        case "DEQUANTIZE" if signature.is_per_channel:
            return 5
    return _version_of_rank(signature.kind, signature.max_rank)


def _version_of_rank(kind: str, rank: int) -> int:
    match kind:
        case "SPACE_TO_BATCH_ND" | "BATCH_TO_SPACE_ND" if rank != 4:
            return 3
        case "TRANSPOSE" if rank > 5:
            return 6
        case "TRANSPOSE" | "PAD" | "PADV2" | "STRIDED_SLICE" if rank > 4:
            return 4
        case "SLICE" if rank > 4:
            return 5
    return 1


def _weights_type(signature: Signature) -> str:
    return signature.inputs[1] if len(signature.inputs) > 1 else ""


def _is_hybrid(signature: Signature) -> bool:
    return signature.inputs[0] == "float32" and _weights_type(signature) == "int8"


def _conv_2d(signature: Signature) -> int:
    if signature.is_grouped:
        return 6
    if _is_hybrid(signature):
        return 5 if signature.is_per_channel else 2
    if _weights_type(signature) == "int4":
        return 7
    return {"int8": 3, "int16": 4}.get(signature.inputs[0], 1)


def _depthwise_conv_2d(signature: Signature) -> int:
    if _is_hybrid(signature):
        return 6 if signature.is_per_channel else 4
    if _weights_type(signature) == "int4":
        return 7
    options = signature.options
    dilations = (options.get("dilation_w_factor", 1), options.get("dilation_h_factor", 1))
    is_dilated = dilations != (1, 1)
    return {"int8": 3, "int16": 5}.get(signature.inputs[0], 2 if is_dilated else 1)


def _fully_connected(signature: Signature) -> int:
    has_bias = len(signature.inputs) > 2 and signature.inputs[2] != ""
    if _is_hybrid(signature):
        return 12 if signature.is_per_channel else 3
    if signature.inputs[0] == "int16":
        return 7
    if _weights_type(signature) == "int4":
        return 10
    if not has_bias:
        return 6
    if signature.options.get("keep_num_dims"):
        return 5
    return 4 if signature.inputs[0] == "int8" else 1


def _transpose_conv(signature: Signature) -> int:
    if signature.options.get("fused_activation_function", "NONE") != "NONE":
        return 4
    has_bias = len(signature.inputs) == 4 and signature.inputs[3] != ""
    if has_bias:
        return 3
    return 2 if _weights_type(signature) == "int8" else 1


_WEIGHTED = {
    "CONV_2D": _conv_2d,
    "DEPTHWISE_CONV_2D": _depthwise_conv_2d,
    "FULLY_CONNECTED": _fully_connected,
    "TRANSPOSE_CONV": _transpose_conv,
}
