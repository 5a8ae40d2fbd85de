"""What is in a model file, in words that hold for every format: for `glowmcu inspect`.

Read from the records, so that a model that cannot be compiled is shown, too.
"""

from __future__ import annotations

from glowmcu.frontend.formats import format_of_package
from glowmcu.frontend.onnx.container import OnnxRecord, read_onnx_container
from glowmcu.frontend.other_files import expect_no_other_format
from glowmcu.frontend.read_model import is_onnx
from glowmcu.frontend.tflite.container import ModelRecord, TensorRecord, read_container
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Constant
from glowmcu.lazy_dataclass import dataclass

Size = int | str | None
#: What ONNX calls otherwise than all others do.
_ONNX_WORDS = {"FLOAT": "float32", "DOUBLE": "float64"}


@dataclass(frozen=True)
class TensorSummary:
    """`sizes` are ints, symbols, or None if the file says nothing; `dtype` as numpy calls it.

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
    """Raises GM101, GM103 when there is nothing to show. Of a format that a package reads nothing
    but the graph tells what is in a file: see `summarize_graph`.
    """
    other = format_of_package(data, file_name)
    if other is not None:
        return ModelSummary(other.name, (), (), (), 0)
    expect_no_other_format(data, file_name)
    if is_onnx(data, file_name):
        return _of_onnx(read_onnx_container(data, file_name))
    return _of_tflite(read_container(data, file_name))


def summarize_graph(model: ModelSummary, graph: Graph) -> ModelSummary:
    """What a package's format became, as the file's own content: an operator is what nodes name as
    their source ("operator 3 conv").
    """

    def tensor(value: Value) -> TensorSummary:
        quantization = value.type.quantization
        scales = () if quantization is None else tuple(map(float, quantization.scales))
        zero_points = () if quantization is None else tuple(map(int, quantization.zero_points))
        return TensorSummary(
            value.name, str(value.type.element.numpy), value.type.shape, scales, zero_points
        )

    found: dict[int, OperatorSummary] = {}
    for node in graph.nodes:
        index = source_index(node)
        if index is not None:
            name = node.source.split(maxsplit=2)[-1]
            found[index] = OperatorSummary(index, name, tuple(map(tensor, node.outputs)))
    size = sum(node.op.data.nbytes for node in graph.nodes if isinstance(node.op, Constant))
    inputs, outputs = tuple(map(tensor, graph.inputs)), tuple(map(tensor, graph.outputs))
    operators = tuple(
        found.get(i) or OperatorSummary(i, "-", ()) for i in range(max(found, default=-1) + 1)
    )
    return ModelSummary(model.format, inputs, outputs, operators, size)


def source_index(node: Node) -> int | None:
    """The operator of the file that a node comes from, by its number there; of a node from a graph
    inside of an operator it is that one.
    """
    words = node.source.split()
    return int(words[1]) if len(words) > 1 and words[1].isdecimal() else None


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
        TensorSummary(record.name, _ONNX_WORDS.get(record.type_name, record.type_name.lower()),
                      record.sizes)
        for record in model.inputs
    )  # fmt: skip
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
