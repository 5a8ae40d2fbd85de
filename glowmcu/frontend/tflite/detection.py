"""TFLite_Detection_PostProcess."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.flexbuffer import Number, read_numbers
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.operands import operands
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.detection import DetectionPostprocess, FastDetection, RegularDetection
from glowmcu.ops.quantization import Dequantize

_OPERANDS, _RESULTS = 3, 4
_SCALES = ("y_scale", "x_scale", "h_scale", "w_scale")
#: Of regular suppression, where the options do not say it.
_DETECTIONS_PER_CLASS = 100
_INT32_END = 2**31


@importer("CUSTOM TFLite_Detection_PostProcess")
def import_detection(state: Import, op: OperatorRecord) -> None:
    """Fast or regular suppression, as `use_regular_nms` says; quantized operands become float32."""
    values = [_real(state, op, value) for value in operands(state, op, _OPERANDS, _RESULTS)]
    boxes = values[0].type.shape[1] if values[0].type.rank > 1 else 0
    state.emit(op, _operation(state, op, boxes), values)


def _real(state: Import, op: OperatorRecord, value: Value) -> Value:
    if value.type.quantization is None or value.type.element.is_float:
        return value
    real = TensorType(value.type.shape, ElementType.F32)
    return state.emit_inner(op, Dequantize(), [value], real)


def _operation(state: Import, op: OperatorRecord, boxes: int) -> DetectionPostprocess:
    """By the options, of which more than TensorFlow Lite Micro reads may be there."""
    options = read_numbers(op.custom_options)
    scales = tuple(_real_option(options, name) for name in _SCALES)
    thresholds = (
        _real_option(options, "nms_score_threshold"), _real_option(options, "nms_iou_threshold"),
    )  # fmt: skip
    classes, most = (_whole_option(options, n) for n in ("num_classes", "max_detections"))
    declared = state.output_type(op, 0).shape
    places = declared[1] if len(declared) == _OPERANDS else 0
    if options.get("use_regular_nms"):
        per_class = _whole_option(options, "detections_per_class", _DETECTIONS_PER_CLASS)
        places = places or most
        return RegularDetection(classes, most, places, *thresholds, scales, per_class)
    per_box = _whole_option(options, "max_classes_per_detection")
    places = places or min(per_box, classes) ** 2 * min(most, boxes)
    return FastDetection(classes, most, places, *thresholds, scales, per_box)


def _option(options: dict[str, Number], name: str) -> Number:
    if name not in options:
        given = ", ".join(each[:40] for each in sorted(options)) or "none"
        raise Unsupported(
            "GM128",
            f"TFLite_Detection_PostProcess lacks the option {name}; it has {given}",
            "export the model with TensorFlow's object detection tools again",
        )
    return options[name]


def _whole_option(options: dict[str, Number], name: str, default: int | None = None) -> int:
    if default is not None and name not in options:
        return default
    number = _option(options, name)
    if not isinstance(number, int) or not -_INT32_END <= number < _INT32_END:
        raise Unsupported(
            "GM128", f"TFLite_Detection_PostProcess: {name} is {number!r}, not a number of int32"
        )
    return number


def _real_option(options: dict[str, Number], name: str) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(_option(options, name)))
