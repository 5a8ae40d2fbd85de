"""Operator attributes -> a BuiltinOptions table of the TFLite schema, for every builtin operator.

The schema's generated Python module is the only list of fields: `stride_w` is written by
`Conv2DOptionsAddStrideW`, and a vector's element size is what its `Start…Vector` asks the builder
for. So a new operator of the schema works here without a line of ours.
"""

from __future__ import annotations

import difflib
import struct
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from glowmcu.errors import error
from glowmcu.frontend.tflite.schema import schema_enum, schema_module

_FLOAT_VECTORS = ("BucketizeOptions.boundaries",)
"""Vectors that do not hold integers; the generated functions tell element sizes, not types."""

OptionValue = bool | int | float | str | Sequence[int] | Sequence[float]

_SHARED_TABLES = {
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "L2_POOL_2D": "Pool2DOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "MAXIMUM": "MaximumMinimumOptions",
    "MINIMUM": "MaximumMinimumOptions",
    "MEAN": "ReducerOptions",
    "SUM": "ReducerOptions",
    "REDUCE_PROD": "ReducerOptions",
    "REDUCE_MAX": "ReducerOptions",
    "REDUCE_MIN": "ReducerOptions",
    "REDUCE_ANY": "ReducerOptions",
    "REDUCE_ALL": "ReducerOptions",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
    "CONV_3D_TRANSPOSE": "Conv3DOptions",
    "MULTINOMIAL": "RandomOptions",
    "RANDOM_UNIFORM": "RandomOptions",
    "RANDOM_STANDARD_NORMAL": "RandomOptions",
}
"""Operators whose options table is not simply called after the operator."""

_FIELD_ENUMS = {
    "padding": "Padding",
    "fused_activation_function": "ActivationFunctionType",
    "weights_format": "FullyConnectedOptionsWeightsFormat",
    "kernel_type": "LSTMKernelType",
    "mode": "MirrorPadMode",
    "combiner": "CombinerType",
    "reduce_function": "ReduceWindowFunction",
    "output_type": "TensorType",
    "out_type": "TensorType",
    "in_data_type": "TensorType",
    "out_data_type": "TensorType",
    "idx_out_type": "TensorType",
    "quantized_bias_type": "TensorType",
    "key_dtype": "TensorType",
    "value_dtype": "TensorType",
}
"""Fields whose values may be given by the schema's name: `"SAME"`, `"RELU6"`, `"INT32"`."""


def operator_code(kind: str) -> int:
    """Number of the builtin operator `kind` (`"CONV_2D"`). Raises GM190 for an unknown name."""
    codes = schema_enum("BuiltinOperator")
    if kind not in codes:
        close = ", ".join(difflib.get_close_matches(kind, codes)) or "nothing like it exists"
        raise error("GM190", f"{kind} is not a builtin operator of TFLite", hint=f"near: {close}")
    return codes[kind]


def option_names(kind: str) -> list[str]:
    """Options that the operator `kind` takes, in the schema's spelling; none for many."""
    _, table = _options_table(kind)
    return sorted(_fields_of(schema_module(table), table)) if table else []


def write_options(
    builder: Any, kind: str, options: Mapping[str, OptionValue]
) -> tuple[str, int, int]:
    """Writes the options table of `kind`; returns (union name, union member, table's offset).

    The union is `"BuiltinOptions"` or, for the operators added late, `"BuiltinOptions2"`. An
    operator without a table returns member 0, and it takes no options. Raises GM191 for a field
    that the table does not have and GM192 for a value that the field cannot hold.
    """
    union, table = _options_table(kind)
    _refuse_unknown(kind, options)
    if not table:
        return union, 0, 0
    module = schema_module(table)
    fields = _fields_of(module, table)
    values = {
        name: _prepare(builder, module, f"{table}.{name}", fields[name], value)
        for name, value in options.items()
    }
    getattr(module, f"{table}Start")(builder)
    for name, value in values.items():
        try:
            getattr(module, f"{table}Add{fields[name]}")(builder, value)
        except (TypeError, struct.error) as cause:
            raise error("GM192", f"{table}.{name} cannot hold {value!r}: {cause}") from cause
    return union, schema_enum(union)[table], getattr(module, f"{table}End")(builder)


def _options_table(kind: str) -> tuple[str, str]:
    wanted = _SHARED_TABLES.get(kind, kind.replace("_", "") + "Options").lower()
    for union in ("BuiltinOptions", "BuiltinOptions2"):
        for table in schema_enum(union):
            if table.lower() == wanted:
                return union, table
    return "BuiltinOptions", ""


def _fields_of(module: ModuleType, table: str) -> dict[str, str]:
    """`stride_w` -> `StrideW` for every field of the table."""
    prefix = f"{table}Add"
    fields = [name.removeprefix(prefix) for name in vars(module) if name.startswith(prefix)]
    return {_snake(field): field for field in fields}


def _snake(field: str) -> str:
    breaks = ("_" + letter.lower() if letter.isupper() else letter for letter in field)
    return "".join(breaks).removeprefix("_")


def _refuse_unknown(kind: str, options: Mapping[str, OptionValue]) -> None:
    known = option_names(kind)
    for name in options:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise error("GM191", f"{kind} has no option {name!r}", hint=f"its options: {listed}")


def _prepare(builder: Any, module: ModuleType, where: str, field: str, value: OptionValue) -> Any:
    """The value as its `Add…` function takes it: a number, or the offset of a vector or string."""
    table, name = where.split(".")
    start_vector = getattr(module, f"{table}Start{field}Vector", None)
    if start_vector is not None:
        return _write_vector(builder, start_vector, where, value)
    if isinstance(value, str) and name in _FIELD_ENUMS:
        members = schema_enum(_FIELD_ENUMS[name])
        if value not in members:
            message = f"{where} cannot be {value!r}"
            raise error("GM192", message, hint=f"one of {', '.join(members)}")
        return members[value]
    if _holds_text(module, table, field) != isinstance(value, str):
        raise error("GM192", f"{where} cannot hold {value!r}")
    if isinstance(value, str):
        return builder.CreateString(value)
    if isinstance(value, Sequence):
        raise error("GM192", f"{where} takes one value, not {list(value)!r}")
    return value


class _Probe:
    """Stands in for the builder, to learn what a generated function asks of it."""

    def __init__(self) -> None:
        self.wrote_reference = False

    def StartVector(self, size_bytes: int, length: int, alignment: int) -> int:
        return size_bytes

    def PrependUOffsetTRelativeSlot(self, slot: int, offset: int, default: int) -> None:
        self.wrote_reference = True

    def __getattr__(self, name: str) -> Any:
        return lambda *slot: None


def _holds_text(module: ModuleType, table: str, field: str) -> bool:
    """A field that is no vector and yet is written as a reference is a string."""
    probe = _Probe()
    getattr(module, f"{table}Add{field}")(probe, 0)
    return probe.wrote_reference


def _write_vector(builder: Any, start_vector: Any, where: str, value: OptionValue) -> int:
    if isinstance(value, (bool, int, float, str)):
        raise error("GM192", f"{where} takes a list, not {value!r}")
    kind = "f" if where in _FLOAT_VECTORS else "i"
    wanted = np.dtype(f"<{kind}{start_vector(_Probe(), 0)}")
    given = np.asarray(value)
    stored = given.astype(wanted) if given.dtype.kind in "biuf" else np.empty(0)
    if len(stored) != len(value) or (kind == "i" and not np.array_equal(stored, given)):
        raise error("GM192", f"{where} cannot hold {value!r}")
    return int(builder.CreateNumpyVector(stored))
