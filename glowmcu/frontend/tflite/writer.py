"""Builds a `.tflite` file from tensors and operators: what the importer reads, written.

Tests and examples need models of every shape and attribute, and a converter brings a framework of
gigabytes; a flatbuffer of one subgraph needs this. Anything the schema can say can be written, also
what no runtime accepts: tests of refusals depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import flatbuffers
import numpy as np
import numpy.typing as npt

from glowmcu.errors import error
from glowmcu.frontend.tflite.schema import schema_enum, tflite
from glowmcu.frontend.tflite.writer_options import OptionValue, operator_code
from glowmcu.frontend.tflite.writer_tables import (
    OperatorCode,
    OperatorRef,
    TensorRef,
    int_vector,
    offset_vector,
    write_buffers,
    write_operator,
    write_operator_code,
    write_signature,
    write_tensor,
)
from glowmcu.frontend.tflite.writer_versions import Signature, builtin_version

_SCHEMA_VERSION = 3


class ModelBuilder:
    """One model; `finish()` gives the bytes of the file. `subgraph()` adds more than one graph.

    Same calls, same bytes. Raises GM190 to GM193 for names the schema does not have and for
    constants whose type it cannot hold; it does not check that an operator makes sense.
    """

    def __init__(self, description: str = "", name: str = "main") -> None:
        self._description = description
        self._name = name
        self._tensors: list[TensorRef] = []
        self._operators: list[OperatorRef] = []
        self._inputs: list[int] = []
        self._outputs: list[int] = []
        self._others: list[ModelBuilder] = []

    def subgraph(self, name: str) -> tuple[ModelBuilder, int]:
        """Another graph of the model and its number, for operators that refer to one.

        It is written with this one: its own `finish` is not called.
        """
        self._others.append(ModelBuilder(name=name))
        return self._others[-1], len(self._others)

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        scale: float | Sequence[float] | None = None,
        zero_point: int | Sequence[int] = 0,
        axis: int = 0,
        *,
        shape_signature: Sequence[int] = (),
        is_variable: bool = False,
    ) -> TensorRef:
        """A tensor that an operator writes. -1 in `shape_signature` marks a dynamic dimension."""
        quantization = _quantization(scale, zero_point)
        return self._add(
            name, shape, dtype, quantization, axis, None, tuple(shape_signature), is_variable
        )

    def input(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        scale: float | Sequence[float] | None = None,
        zero_point: int | Sequence[int] = 0,
        *,
        shape_signature: Sequence[int] = (),
    ) -> TensorRef:
        """The model's next input."""
        ref = self.tensor(name, shape, dtype, scale, zero_point, shape_signature=shape_signature)
        self._inputs.append(ref.index)
        return ref

    def constant(
        self,
        name: str,
        values: npt.ArrayLike,
        scale: float | Sequence[float] | None = None,
        zero_point: int | Sequence[int] = 0,
        axis: int = 0,
        *,
        dtype: str = "",
    ) -> TensorRef:
        """A tensor with values. `dtype` defaults to the array's; `"int4"` packs two to a byte."""
        array = np.asarray(values)
        data = _pack_int4(array) if dtype == "int4" else _little_endian(array, dtype)
        kind = dtype or array.dtype.name
        quantization = _quantization(scale, zero_point)
        return self._add(name, array.shape, kind, quantization, axis, data, (), False)

    def op(
        self,
        kind: str,
        inputs: Sequence[TensorRef | None],
        outputs: Sequence[TensorRef],
        options: Mapping[str, OptionValue] | None = None,
        *,
        version: int | None = None,
        intermediates: Sequence[TensorRef] = (),
    ) -> None:
        """Appends a builtin operator; `None` stands for an optional input that is absent."""
        operator_code(kind)
        attributes = dict(options or {})
        if version is None:
            version = builtin_version(_signature(kind, inputs, outputs, attributes))
        self._operators.append(
            OperatorRef(
                kind,
                version,
                _indices(inputs),
                _indices(outputs),
                _indices(intermediates),
                attributes,
                None,
            )
        )

    def custom_op(
        self,
        code: str,
        inputs: Sequence[TensorRef | None],
        outputs: Sequence[TensorRef],
        options: bytes = b"",
    ) -> None:
        """Appends a custom operator, `TFLite_Detection_PostProcess` say, with its raw options."""
        ins, outs = _indices(inputs), _indices(outputs)
        self._operators.append(OperatorRef(code, 1, ins, outs, (), {}, options))

    def output(self, ref: TensorRef) -> None:
        """Makes `ref` the model's next output."""
        self._outputs.append(ref.index)

    def finish(self, signatures: Mapping[str, int] | None = None) -> bytes:
        """The `.tflite` file. More calls may follow, and another `finish()`. `signatures` are names
        of functions with the numbers of their subgraphs.
        """
        builder = flatbuffers.Builder(1024)
        graphs = (self, *self._others)
        buffers = write_buffers(builder, [ref for graph in graphs for ref in graph._tensors])
        codes = list(dict.fromkeys(op.code for graph in graphs for op in graph._operators))
        written, held = list[int](), 0
        for graph in graphs:
            written.append(graph._write_subgraph(builder, codes, held))
            held += sum(ref.data is not None for ref in graph._tensors)
        code_offsets = [write_operator_code(builder, *code) for code in codes]
        description = builder.CreateString(self._description)
        code_vector = offset_vector(builder, code_offsets)
        subgraphs = offset_vector(builder, written)
        buffer_vector = offset_vector(builder, buffers)
        named = [write_signature(builder, *signature) for signature in (signatures or {}).items()]
        signature_vector = offset_vector(builder, named) if named else None
        tflite.ModelStart(builder)
        tflite.ModelAddVersion(builder, _SCHEMA_VERSION)
        tflite.ModelAddOperatorCodes(builder, code_vector)
        tflite.ModelAddSubgraphs(builder, subgraphs)
        tflite.ModelAddDescription(builder, description)
        tflite.ModelAddBuffers(builder, buffer_vector)
        if signature_vector is not None:
            tflite.ModelAddSignatureDefs(builder, signature_vector)
        builder.Finish(tflite.ModelEnd(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())

    def _add(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        quantization: tuple[tuple[float, ...], tuple[int, ...]],
        axis: int,
        data: bytes | None,
        shape_signature: tuple[int, ...],
        is_variable: bool,
    ) -> TensorRef:
        if dtype.upper() not in schema_enum("TensorType"):
            raise error("GM193", f"tensor {name!r}: TFLite has no element type {dtype!r}")
        dims = tuple(int(dim) for dim in shape)
        index = len(self._tensors)
        ref = TensorRef(
            index, name, dims, dtype, *quantization, axis, data, shape_signature, is_variable
        )
        self._tensors.append(ref)
        return ref

    def _write_subgraph(self, builder: Any, codes: list[OperatorCode], data_count: int) -> int:
        """Its constants are the buffers behind the first `data_count`."""
        name = builder.CreateString(self._name)
        tensor_offsets = []
        for ref in self._tensors:
            data_count += ref.data is not None
            buffer = 0 if ref.data is None else data_count
            tensor_offsets.append(write_tensor(builder, ref, buffer))
        operators = [write_operator(builder, op, codes) for op in self._operators]
        tensors = offset_vector(builder, tensor_offsets)
        inputs = int_vector(builder, self._inputs)
        outputs = int_vector(builder, self._outputs)
        operator_vector = offset_vector(builder, operators)
        tflite.SubGraphStart(builder)
        tflite.SubGraphAddTensors(builder, tensors)
        tflite.SubGraphAddInputs(builder, inputs)
        tflite.SubGraphAddOutputs(builder, outputs)
        tflite.SubGraphAddOperators(builder, operator_vector)
        tflite.SubGraphAddName(builder, name)
        return int(tflite.SubGraphEnd(builder))


def _quantization(
    scale: float | Sequence[float] | None, zero_point: int | Sequence[int]
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Scales and zero points of equal length; one zero point serves all scales."""
    if scale is None:
        return (), ()
    scales = tuple(float(item) for item in np.atleast_1d(np.asarray(scale, dtype=np.float32)))
    points = tuple(int(item) for item in np.atleast_1d(np.asarray(zero_point)))
    return scales, points * len(scales) if len(points) == 1 else points


def _little_endian(array: npt.NDArray[Any], dtype: str) -> bytes:
    """Row-major bytes as the file holds them."""
    if dtype and dtype != array.dtype.name:
        raise error("GM193", f"a constant of {array.dtype.name} cannot be stored as {dtype}")
    return array.astype(array.dtype.newbyteorder("<")).tobytes()


def _pack_int4(array: npt.NDArray[Any]) -> bytes:
    """Two values to a byte, the first in the low nibble; an odd last byte is filled with 0."""
    values = array.astype(np.int64).ravel()
    if values.size and (values.min() < -8 or values.max() > 7):
        raise error("GM193", f"int4 holds -8 to 7, not {values.min()} to {values.max()}")
    nibbles = np.zeros(values.size + values.size % 2, dtype=np.uint8)
    nibbles[: values.size] = values & 0xF
    return (nibbles[0::2] | (nibbles[1::2] << 4)).astype(np.uint8).tobytes()


def _indices(refs: Sequence[TensorRef | None]) -> tuple[int, ...]:
    return tuple(-1 if ref is None else ref.index for ref in refs)


def _signature(
    kind: str,
    inputs: Sequence[TensorRef | None],
    outputs: Sequence[TensorRef],
    options: Mapping[str, OptionValue],
) -> Signature:
    present = [ref for ref in inputs if ref is not None]
    is_grouped = kind == "CONV_2D" and len({ref.shape[-1:] for ref in present[:2]}) == 2
    scales = [ref.scale[0] for ref in (*present[:2], *outputs[:1]) if ref.scale]
    return Signature(
        kind,
        tuple("" if ref is None else ref.dtype for ref in inputs),
        tuple(ref.dtype for ref in outputs),
        max((len(ref.shape) for ref in present), default=0),
        options,
        is_grouped,
        any(ref.is_per_channel for ref in present[:2]),
        scales[0] * scales[1] / scales[2] if len(scales) == 3 and scales[2] else 0.0,
    )
