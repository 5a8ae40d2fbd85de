"""What to say about operators and models that cannot be imported, and what to try instead."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from glowmcu.errors import Problem
from glowmcu.frontend.tflite.container import ModelRecord, OperatorRecord

_RECURRENT = "export it unrolled (Keras: unroll=True), so that it becomes ordinary layers"
_COMPLEX = "compute the spectrum in the application and feed it to the model"
#: What a converter offers instead, where a similar name would mislead.
_ALTERNATIVES = {
    "CALL_ONCE": "freeze the variables before the export",
    "CONV_3D": "CONV_2D over frames stacked as channels is supported",
    "EMBEDDING_LOOKUP": "GATHER is supported",
    "IF": "export the branch that is used",
    "IRFFT2D": _COMPLEX,
    "LSTM": _RECURRENT,
    "NON_MAX_SUPPRESSION_V4": "run it in the application, on the outputs before it",
    "NON_MAX_SUPPRESSION_V5": "run it in the application, on the outputs before it",
    "RFFT2D": _COMPLEX,
    "RNN": _RECURRENT,
    "SVDF": "RESHAPE, FULLY_CONNECTED and ADD over a window of past inputs are supported",
    "TOPK_V2": "ARG_MAX is supported; sort in the application otherwise",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _RECURRENT,
    "UNIDIRECTIONAL_SEQUENCE_RNN": _RECURRENT,
    "BIDIRECTIONAL_SEQUENCE_LSTM": _RECURRENT,
    "WHILE": "export with a fixed number of steps, unrolled",
}
_LIST = "`glowmcu ops` lists what is supported"
_QUANTIZED = {"INT4", "INT8", "UINT8", "INT16"}
#: Problems that stay when the model is quantized.
_STAY = {"GM102", "GM104", "GM107"}


def unsupported_operator(op: OperatorRecord, where: str, known: Sequence[str]) -> Problem:
    """GM102 with the nearest thing that works."""
    kind, _, custom = op.name.partition(" ")
    if kind == "CUSTOM":
        return Problem(
            "GM102", f"custom operator {custom!r} is not supported", where, _custom_hint(custom)
        )
    return Problem("GM102", f"operator {op.name} is not supported", where, _hint(op.name, known))


def _hint(name: str, known: Sequence[str]) -> str:
    if name in _ALTERNATIVES:
        return f"{_ALTERNATIVES[name]}; {_LIST}"
    family = name.partition("_")[0]
    candidates = [other for other in known if other.partition("_")[0] == family]
    near = difflib.get_close_matches(name, candidates, n=2, cutoff=0.0)
    return f"similar and supported: {', '.join(near)}; {_LIST}" if near else _LIST


def _custom_hint(custom: str) -> str:
    if custom.startswith("Flex"):
        return (
            f"{custom[4:]} came in as a select TensorFlow operator: "
            "export with TFLITE_BUILTINS_INT8 only"
        )
    if "PostProcess" in custom:
        return "cut the model before it and run it in the application, on the boxes and scores"
    return f"export the model with builtin operators only; {_LIST}"


def is_float(model: ModelRecord) -> bool:
    """Whether the model computes in float: it has float results and no quantized ones."""
    types = [
        (model.tensors[index].type_name, bool(model.tensors[index].scales))
        for op in model.operators
        for index in op.outputs
    ]
    quantized = any(name in _QUANTIZED and scaled for name, scaled in types)
    return not quantized and any(name in ("FLOAT32", "FLOAT16") for name, _ in types)


def summarize_float(model: ModelRecord, problems: list[Problem], file_name: str) -> list[Problem]:
    """One GM108 in the place of what every node of a float model would say."""
    if not problems or not is_float(model):
        return problems
    weights = any(
        tensor.data is not None and tensor.type_name == "INT8" and tensor.scales
        for tensor in model.tensors
    )
    kind = "float with int8 weights (dynamic-range quantization)" if weights else "float"
    count = len(model.operators)
    problem = Problem(
        "GM108",
        f"the model is {kind}: {count} operator{'s' if count != 1 else ''}, none with a quantized "
        "result; expected full int8",
        file_name,
        "convert it with optimizations = [tf.lite.Optimize.DEFAULT], a representative_dataset "
        "and supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]",
    )
    return [problem, *(other for other in problems if other.code in _STAY)]
