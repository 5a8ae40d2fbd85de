"""What is in a model file, in words that hold for every format: for `glowmcu inspect`.

Read from the records, so that a model that cannot be compiled is shown, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from glowmcu.frontend.onnx.container import OnnxRecord, read_onnx_container
from glowmcu.frontend.other_files import expect_no_other_format
from glowmcu.frontend.read_model import is_onnx
from glowmcu.frontend.tflite.container import ModelRecord, TensorRecord, read_container

Size = int | str | None


@dataclass(frozen=True)
class TensorSummary:
    """`sizes` are ints, symbols, or None if the file says nothing; `dtype` in the file's word.

    `sizes` itself is None if even the rank is unknown.
    """

    name: str
    dtype: str
    sizes: tuple[Size, ...] | None
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()


@dataclass(frozen=True)
class OperatorSummary:
    """An operator and its results, as far as the file tells."""

    index: int
    name: str
    outputs: tuple[TensorSummary, ...]


@dataclass(frozen=True)
class ModelSummary:
    """A model file, compiled or not."""

    format: str
    inputs: tuple[TensorSummary, ...]
    outputs: tuple[TensorSummary, ...]
    operators: tuple[OperatorSummary, ...]
    constant_bytes: int


def summarize_model(data: bytes, file_name: str) -> ModelSummary:
    """Raises GM101, GM103 when there is nothing to show."""
    expect_no_other_format(data, file_name)
    if is_onnx(data, file_name):
        return _of_onnx(read_onnx_container(data, file_name))
    return _of_tflite(read_container(data, file_name))


def _of_tflite(model: ModelRecord) -> ModelSummary:
    def tensors(indices: tuple[int, ...]) -> tuple[TensorSummary, ...]:
        return tuple(_tflite_tensor(model.tensors[index]) for index in indices)

    operators = [OperatorSummary(op.index, op.name, tensors(op.outputs)) for op in model.operators]
    return ModelSummary(
        "tflite",
        tensors(model.inputs),
        tensors(model.outputs),
        tuple(operators),
        sum(len(tensor.data) for tensor in model.tensors if tensor.data is not None),
    )


def _tflite_tensor(record: TensorRecord) -> TensorSummary:
    return TensorSummary(
        record.name, record.type_name.lower(), record.shape, record.scales, record.zero_points
    )


def _of_onnx(model: OnnxRecord) -> ModelSummary:
    inputs = tuple(
        TensorSummary(record.name, record.type_name.lower(), record.sizes)
        for record in model.inputs
    )
    operators = tuple(
        OperatorSummary(
            op.index,
            op.kind if op.domain == "ai.onnx" else f"{op.domain}.{op.kind}",
            tuple(TensorSummary(name, "", None) for name in op.outputs if name),
        )
        for op in model.nodes
    )
    outputs = tuple(TensorSummary(name, "", None) for name in model.outputs)
    size = sum(int(tensor.ByteSize()) for tensor in model.initializers.values())
    return ModelSummary("onnx", inputs, outputs, operators, size)
