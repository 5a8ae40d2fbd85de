"""The tables of a TFLite file, one function a table, children before parents.

A flatbuffer is written from its end: a table can only refer to what has been written already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from glowmcu.frontend.tflite.schema import schema_enum, tflite
from glowmcu.frontend.tflite.writer_options import OptionValue, operator_code, write_options
from glowmcu.lazy_dataclass import dataclass

BUFFER_ALIGNMENT_BYTES = 16
_LAST_OLD_CODE = 127
"""Operator numbers above this do not fit the schema's first, 8-bit field."""


@dataclass(frozen=True)
class TensorRef:
    """A tensor of the model being built; `scale` is empty if it is not quantized."""

    index: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int
    data: bytes | None
    shape_signature: tuple[int, ...]
    is_variable: bool

    @property
    def is_per_channel(self) -> bool:
        """More than one scale."""
        return len(self.scale) > 1


@dataclass(frozen=True)
class OperatorRef:
    """An operator of the model being built; `custom_options` is None for a builtin one."""

    kind: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    intermediates: tuple[int, ...]
    options: Mapping[str, OptionValue]
    custom_options: bytes | None

    @property
    def code(self) -> OperatorCode:
        """What the file lists once, however many operators share it."""
        return self.kind, self.version, self.custom_options is None


OperatorCode = tuple[str, int, bool]
"""Kind, version, and whether it is a builtin operator."""


def offset_vector(builder: Any, offsets: Sequence[int]) -> int:
    """A vector of tables; returns its offset, as everything here does."""
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def int_vector(builder: Any, values: Sequence[int]) -> int:
    """A vector of int32."""
    return int(builder.CreateNumpyVector(np.asarray(values, dtype="<i4")))


def write_buffers(builder: Any, tensors: Sequence[TensorRef]) -> list[int]:
    """Buffer 0 is empty by the schema's rule; then one a constant, in the tensors' order."""
    offsets = []
    for data in [b"", *(ref.data for ref in tensors if ref.data is not None)]:
        vector = 0
        if data:
            builder.Prep(BUFFER_ALIGNMENT_BYTES, len(data))
            vector = builder.CreateByteVector(data)
        tflite.BufferStart(builder)
        if data:
            tflite.BufferAddData(builder, vector)
        offsets.append(int(tflite.BufferEnd(builder)))
    return offsets


def _write_quantization(builder: Any, ref: TensorRef) -> int:
    scale = builder.CreateNumpyVector(np.asarray(ref.scale, dtype="<f4"))
    zero_point = builder.CreateNumpyVector(np.asarray(ref.zero_point, dtype="<i8"))
    tflite.QuantizationParametersStart(builder)
    tflite.QuantizationParametersAddScale(builder, scale)
    tflite.QuantizationParametersAddZeroPoint(builder, zero_point)
    tflite.QuantizationParametersAddQuantizedDimension(builder, ref.axis)
    return int(tflite.QuantizationParametersEnd(builder))


def write_tensor(builder: Any, ref: TensorRef, buffer: int) -> int:
    """`buffer` is the number of the tensor's buffer, 0 without values."""
    name = builder.CreateString(ref.name)
    shape = int_vector(builder, ref.shape)
    signature = int_vector(builder, ref.shape_signature) if ref.shape_signature else 0
    quantization = _write_quantization(builder, ref) if ref.scale else 0
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, shape)
    tflite.TensorAddType(builder, schema_enum("TensorType")[ref.dtype.upper()])
    tflite.TensorAddBuffer(builder, buffer)
    tflite.TensorAddName(builder, name)
    if quantization:
        tflite.TensorAddQuantization(builder, quantization)
    if signature:
        tflite.TensorAddShapeSignature(builder, signature)
    tflite.TensorAddIsVariable(builder, ref.is_variable)
    tflite.TensorAddHasRank(builder, True)
    return int(tflite.TensorEnd(builder))


def write_operator_code(builder: Any, kind: str, version: int, is_builtin: bool) -> int:
    """An entry of the model's list of operators in use."""
    number = operator_code(kind if is_builtin else "CUSTOM")
    custom = 0 if is_builtin else builder.CreateString(kind)
    tflite.OperatorCodeStart(builder)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, min(number, _LAST_OLD_CODE))
    if custom:
        tflite.OperatorCodeAddCustomCode(builder, custom)
    tflite.OperatorCodeAddVersion(builder, version)
    tflite.OperatorCodeAddBuiltinCode(builder, number)
    return int(tflite.OperatorCodeEnd(builder))


def write_operator(builder: Any, op: OperatorRef, codes: Sequence[OperatorCode]) -> int:
    """One node; `codes` is the list that its code's number counts in."""
    _, _, is_builtin = op.code
    union, member, table = "", 0, 0
    if is_builtin:
        union, member, table = write_options(builder, op.kind, op.options)
    inputs = int_vector(builder, op.inputs)
    outputs = int_vector(builder, op.outputs)
    intermediates = int_vector(builder, op.intermediates) if op.intermediates else 0
    custom = builder.CreateByteVector(op.custom_options) if op.custom_options else 0
    tflite.OperatorStart(builder)
    tflite.OperatorAddOpcodeIndex(builder, codes.index(op.code))
    tflite.OperatorAddInputs(builder, inputs)
    tflite.OperatorAddOutputs(builder, outputs)
    if member:
        getattr(tflite, f"OperatorAdd{union}Type")(builder, member)
        getattr(tflite, f"OperatorAdd{union}")(builder, table)
    if custom:
        tflite.OperatorAddCustomOptions(builder, custom)
    if intermediates:
        tflite.OperatorAddIntermediates(builder, intermediates)
    return int(tflite.OperatorEnd(builder))


def write_signature(builder: Any, key: str, subgraph: int) -> int:
    """A function that the file exports, whose inputs and outputs have no names of their own."""
    name = builder.CreateString(key)
    tflite.SignatureDefStart(builder)
    tflite.SignatureDefAddSignatureKey(builder, name)
    tflite.SignatureDefAddSubgraphIndex(builder, subgraph)
    return int(tflite.SignatureDefEnd(builder))
