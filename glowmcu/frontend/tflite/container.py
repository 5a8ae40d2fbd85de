"""The `.tflite` flatbuffer as plain records: bounds checked, nothing believed.

A model file is hostile input. Offsets in it may point anywhere and vectors may share bytes, so
every read is paid from a budget of a few times the file's size; what exceeds it is a damaged file
(GM101).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from flatbuffers.number_types import Int32Flags

from glowmcu import limits
from glowmcu.errors import GlowmcuError, error
from glowmcu.frontend.tflite.blocks import Blocks, blocks_of
from glowmcu.frontend.tflite.schema import schema_names, tflite
from glowmcu.frontend.tflite.sparsity import dense
from glowmcu.ir.types import Shape
from glowmcu.lazy_dataclass import dataclass

MAX_RANK = 8
#: Where an operator code has its number, in the table of its fields.
_BUILTIN_CODE = 10
_MAX_NAME_BYTES = 4096
#: What a flatbuffer accessor raises on a damaged file.
DECODE_ERRORS = (
    struct.error, IndexError, ValueError, TypeError, OverflowError, UnicodeDecodeError, KeyError,
    AttributeError, MemoryError,
)  # fmt: skip
_T = TypeVar("_T")


@dataclass(frozen=True)
class TensorRecord:
    """A tensor as the file declares it. `data` is None for what is computed at run time.

    `type_name` is TFLite's (`INT8`, `FLOAT32`, …); `scales` is empty if it is not quantized.
    `variable_axes` are those that the exporter left open (-1 in `shape_signature`). What
    `is_variable` lives from run to run: an operator reads and writes it.
    """

    index: int
    name: str
    type_name: str
    shape: Shape
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    quantized_axis: int
    variable_axes: tuple[int, ...]
    data: memoryview | None
    is_variable: bool = False
    #: Where a block of a row has a scale: how long it is, and the scales.
    block_size: int = 0
    block_scales: TensorRecord | None = None


@dataclass(frozen=True)
class OperatorRecord:
    """An operator; operand -1 is an optional one that is left out."""

    index: int
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options_table: Any
    custom_options: bytes = b""

    def options(self, table: Callable[[], _T]) -> _T:
        """The builtin options as `table`, a class of the `tflite` package such as
        `Conv2DOptions`.
        """
        options: Any = table()
        if self.options_table is None:
            raise ValueError(f"{self.name} has no options")
        options.Init(self.options_table.Bytes, self.options_table.Pos)
        return options  # type: ignore[no-any-return]


@dataclass(frozen=True)
class ModelRecord:
    """A subgraph of a model file, with the `others` than the main one, which control flow refers to
    by their number in the file. `signatures` are functions that the file exports, and their
    subgraphs' numbers.
    """

    tensors: tuple[TensorRecord, ...]
    operators: tuple[OperatorRecord, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    others: tuple[ModelRecord, ...] = ()
    signatures: tuple[tuple[str, int], ...] = ()

    def subgraph(self, number: int) -> ModelRecord:
        """One of the others. Raises ValueError for a number that no other has."""
        if not 1 <= number <= len(self.others):
            raise ValueError(f"it refers to subgraph {number} of {1 + len(self.others)}")
        return replace(self.others[number - 1], others=self.others)


def described(cause: BaseException) -> str:
    """What an accessor has to say, or at least what it raised."""
    return str(cause)[:200] or type(cause).__name__


@contextmanager
def damaged_file(file_name: str, size_bytes: int) -> Iterator[None]:
    """Turn what flatbuffer accessors raise on nonsense into GM101."""
    try:
        yield
    except GlowmcuError:
        raise
    except DECODE_ERRORS as cause:
        what = described(cause)
        if isinstance(cause, (struct.error, IndexError)):
            what = f"it has {size_bytes} bytes, and a part of it lies beyond them"
        raise error(
            "GM101",
            f"the file is damaged: {what}",
            file_name,
            "is it complete? export or download it again",
        ) from cause


@lru_cache(maxsize=1)
def read_container(data: bytes, file_name: str) -> ModelRecord:
    """Parse `data`, once for all who look into a model. Raises GM101 (no flatbuffer, truncated,
    damaged).
    """
    if data[4:8] != b"TFL3":
        found = f"got {data[4:8]!r}" if data else "the file is empty"
        raise error(
            "GM101",
            f"not a TFLite model: expected the identifier TFL3 at byte 4, {found}",
            file_name,
            "pass a .tflite as the TensorFlow Lite converter writes it, an ONNX model as .onnx, or "
            "TOSA as .mlir",
        )
    with damaged_file(file_name, len(data)):
        return _Reader(data).read()


#: Of what is made of a file's vectors, for the file and for each byte of it: vectors may overlap.
_LEAST_BUDGET, _BYTES_A_BYTE = 4096, 8


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.budget = _LEAST_BUDGET + _BYTES_A_BYTE * len(data)
        self.dense_bytes = 0

    def spend(self, count: int, item_bytes: int = 4) -> int:
        """Pay for reading `count` items; ValueError when the file can't hold that much."""
        if count * item_bytes > len(self.data):
            raise ValueError(f"a vector claims {count} items in a file of {len(self.data)} bytes")
        self.budget -= count * item_bytes + 16
        if self.budget < 0:
            raise ValueError("its parts overlap or are more than the file can hold")
        return count

    def ints(self, length: int, array: Callable[[], Any], item_bytes: int = 4) -> tuple[int, ...]:
        if self.spend(length, item_bytes) == 0:
            return ()
        return tuple(int(item) for item in array())

    def read(self) -> ModelRecord:
        model = tflite.Model.GetRootAs(self.data, 0)
        codes = [self.code(model, i) for i in range(self.spend(model.OperatorCodesLength()))]
        count = self.spend(model.SubgraphsLength())
        if count == 0:
            raise ValueError("it has no subgraph")
        main, *others = (self.subgraph(model, model.Subgraphs(i), codes) for i in range(count))
        found = (model.SignatureDefs(i) for i in range(self.spend(model.SignatureDefsLength())))
        signatures = tuple(
            (self.text(one.SignatureKey(), "signature"), int(one.SubgraphIndex())) for one in found
        )
        return replace(main, others=tuple(others), signatures=signatures)

    def subgraph(self, model: Any, graph: Any, codes: list[str]) -> ModelRecord:
        count = self.spend(graph.TensorsLength())
        tensors = [self.tensor(model, graph, i) for i in range(count)]
        for index in range(count):
            blocks = blocks_of(graph.Tensors(index).Quantization())
            if blocks is not None:
                tensors[index] = _with_blocks(tensors, index, blocks)
        operators = []
        for i in range(self.spend(graph.OperatorsLength())):
            op = self.operator(graph.Operators(i), i, codes, len(tensors))
            if not _is_made_dense(op, tensors):
                operators.append(op)
        inputs = self.ints(graph.InputsLength(), graph.InputsAsNumpy)
        outputs = self.ints(graph.OutputsLength(), graph.OutputsAsNumpy)
        for index in (*inputs, *outputs):
            if not 0 <= index < len(tensors):
                raise ValueError(f"tensor {index} of {len(tensors)} is named as input or output")
        return ModelRecord(tuple(tensors), tuple(operators), inputs, outputs)

    def dense(self, data: memoryview, type_name: str, shape: Shape, sparsity: Any) -> memoryview:
        """All that is stored without zeros counts as results: a few bytes name many."""
        made = dense(data, type_name, shape, sparsity, self.spend)
        self.dense_bytes += len(made)
        if self.dense_bytes > limits.results_bytes():
            raise ValueError(f"its sparse tensors have {limits.size_text(self.dense_bytes)} in all")
        return made

    def code(self, model: Any, index: int) -> str:
        code = model.OperatorCodes(index)
        number = _builtin_code(code)
        if number == tflite.BuiltinOperator.CUSTOM:
            custom = (code.CustomCode() or b"")[:80].decode("utf-8", "replace")
            return f"CUSTOM {custom}".strip()
        return schema_names("BuiltinOperator").get(number, f"builtin {number}")

    def operator(
        self, record: Any, index: int, codes: list[str], tensor_count: int
    ) -> OperatorRecord:
        inputs = self.ints(record.InputsLength(), record.InputsAsNumpy)
        outputs = self.ints(record.OutputsLength(), record.OutputsAsNumpy)
        name = codes[record.OpcodeIndex()]
        for tensor in (*inputs, *outputs):
            if not -1 <= tensor < tensor_count:
                raise ValueError(f"operator {index} {name} refers to tensor {tensor}")
        if any(tensor < 0 for tensor in outputs):
            raise ValueError(f"operator {index} {name} lacks an output")
        options = record.BuiltinOptions() or record.BuiltinOptions2()
        return OperatorRecord(index, name, inputs, outputs, options, self.custom_options(record))

    def custom_options(self, record: Any) -> bytes:
        if self.spend(record.CustomOptionsLength(), 1):
            return bytes(record.CustomOptionsAsNumpy())
        place = record.LargeCustomOptionsOffset(), record.LargeCustomOptionsSize()
        return bytes(self.outside(*place) or b"")

    def tensor(self, model: Any, graph: Any, index: int) -> TensorRecord:
        record = graph.Tensors(index)
        rank = record.ShapeLength()
        if rank > MAX_RANK:
            raise ValueError(f"tensor {index} has rank {rank}; at most {MAX_RANK} make sense")
        shape = self.ints(rank, record.ShapeAsNumpy)
        signature = shape
        if record.ShapeSignatureLength() == rank:
            signature = self.ints(rank, record.ShapeSignatureAsNumpy)
        scales, zero_points, axis = self.quantization(record)
        name, type_name = self.text(record.Name()) or f"tensor_{index}", _type_name(record.Type())
        data = self.buffer(model, record.Buffer())
        if data is not None and record.Sparsity() is not None:
            data = self.dense(data, type_name, shape, record.Sparsity())
        return TensorRecord(
            index,
            name,
            type_name,
            shape,
            scales,
            zero_points,
            axis,
            tuple(axis for axis, size in enumerate(signature) if size < 0),
            data,
            bool(record.IsVariable()),
        )

    def text(self, stored: bytes | None, of: str = "tensor") -> str:
        name = stored or b""
        self.spend(len(name), 1)
        if len(name) > _MAX_NAME_BYTES:
            raise ValueError(f"a {of} name of {len(name)} bytes")
        return str(name.decode("utf-8", "replace"))

    def quantization(self, record: Any) -> tuple[tuple[float, ...], tuple[int, ...], int]:
        parameters = record.Quantization()
        if parameters is None or parameters.ScaleLength() == 0:
            return (), (), 0
        count = self.spend(parameters.ScaleLength())
        scales = tuple(float(scale) for scale in _vector(parameters.ScaleAsNumpy(), np.float32))
        zero_points = self.ints(
            parameters.ZeroPointLength(), parameters.ZeroPointAsNumpy, item_bytes=8
        )
        return scales, zero_points or (0,) * count, int(parameters.QuantizedDimension())

    def buffer(self, model: Any, index: int) -> memoryview | None:
        if index == 0:
            return None
        if index >= model.BuffersLength():
            raise ValueError(f"buffer {index} of {model.BuffersLength()} is referred to")
        buffer = model.Buffers(index)
        length = buffer.DataLength()
        if length == 0:
            return self.outside(buffer.Offset(), buffer.Size())
        self.spend(length, 1)
        return memoryview(buffer.DataAsNumpy())

    def outside(self, offset: int, size_bytes: int) -> memoryview | None:
        """What lies behind the flatbuffer, which ends at 2 GB; 0 and 1 are no places there."""
        if offset <= 1 or size_bytes == 0:
            return None
        if offset + size_bytes > len(self.data):
            raise ValueError(
                f"it has {len(self.data)} bytes, and {size_bytes} from byte {offset} on are "
                "referred to"
            )
        self.spend(size_bytes, 1)
        return memoryview(self.data)[offset : offset + size_bytes]


def _builtin_code(code: Any) -> int:
    """The greater of both fields, as TensorFlow Lite takes it: files of before 2021 have the old
    one alone, and some of today the new one alone, of which the accessor makes 0 below 127.
    """
    place = code._tab.Offset(_BUILTIN_CODE)
    new = code._tab.Get(Int32Flags, place + code._tab.Pos) if place else 0
    return max(int(new), int(code.DeprecatedBuiltinCode()))


def _is_made_dense(op: OperatorRecord, tensors: list[TensorRecord]) -> bool:
    """Whether it is DENSIFY of a constant: its result is that constant, which is dense already."""
    if op.name != "DENSIFY" or len(op.inputs) != 1 or len(op.outputs) != 1 or op.inputs[0] < 0:
        return False
    stored, result = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if stored.data is None or (stored.type_name, stored.shape) != (result.type_name, result.shape):
        return False
    tensors[result.index] = replace(result, data=stored.data)
    return True


def _with_blocks(tensors: list[TensorRecord], index: int, blocks: Blocks) -> TensorRecord:
    """The tensor with its scales. Raises ValueError for those that are not there."""
    if not 0 <= blocks.scales < len(tensors) or blocks.size < 1:
        raise ValueError(f"tensor {index} has blocks of {blocks.size}, scales {blocks.scales}")
    if blocks.zero_points is not None:
        raise ValueError(f"tensor {index} has blocks with zero points, which nothing writes yet")
    scales = tensors[blocks.scales]
    return replace(tensors[index], block_size=blocks.size, block_scales=scales)


def _vector(values: Any, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.atleast_1d(np.asarray(values, dtype))


#: The package's schema ends with the type before the last.
_TYPE_NAMES = {**schema_names("TensorType"), 19: "INT2"}


def _type_name(number: int) -> str:
    return str(_TYPE_NAMES.get(number, f"type {number}"))
