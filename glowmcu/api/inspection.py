"""`glowmcu.inspect`: a model before it is compiled, supported or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from glowmcu.api.given_model import ExampleInputs, GivenModel, ModelGiven, read_given
from glowmcu.argument_types import arguments_checked
from glowmcu.custom_c import CustomGiven
from glowmcu.errors import GlowmcuError, Problem
from glowmcu.frontend.notes import notes_on_file
from glowmcu.frontend.read_model import read_model
from glowmcu.frontend.state_pairs import with_states
from glowmcu.frontend.summary import (
    ModelSummary,
    TensorSummary,
    source_index,
    summarize_graph,
    summarize_model,
)
from glowmcu.input_options import Defined, GivenShape, InputOptions, inputs_of
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.notebook import Card, Column, Record, Shown
from glowmcu.number_text import count

_COLUMNS = (
    Column("#", "index", "count"), Column("operator", "op"), Column("result", "result"),
    Column("MACs", "macs", "count"),
)  # fmt: skip


@dataclass(frozen=True)
class Inspection(Shown):
    """A model file's records, and the graph's figures or the problems that prevent a graph.

    `macs` has the multiply-accumulates of each operator, None if they are not known; `file_bytes`
    is the size of the file, `notes` what it leaves open, `states` the tensors that outlive a run.

    >>> found = glowmcu.inspect("digits.onnx")
    >>> found.model.inputs[0].name, found.model.inputs[0].sizes, sum(filter(None, found.macs))
    ('pixels', (1, 1, 8, 8), 57728)
    """

    path: Path
    file_bytes: int
    model: ModelSummary
    macs: tuple[int | None, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    states: tuple[TensorSummary, ...] = ()

    def _card(self) -> Card:
        model = self.model
        records: list[Record] = [
            {
                "index": op.index,
                "op": op.name,
                "result": type_text(op.outputs[0]) if op.outputs else "-",
                "macs": macs,
            }
            for op, macs in zip(model.operators, self.macs, strict=True)
        ]
        roles = (("input", model.inputs), ("output", model.outputs), ("state", self.states))
        facts = [
            ("file", f"{count(self.file_bytes)} B, {count(model.constant_bytes)} B of constants")
        ]
        facts += [(role, f"{t.name}  {type_text(t)}") for role, group in roles for t in group]
        problems = tuple(str(problem) for problem in self.problems)
        return Card(self.path.name, tuple(facts), _COLUMNS, records, (*self.notes, *problems))

    def json(self) -> dict[str, object]:
        """The object of `inspect --json`. Field names are a contract."""
        model = self.model
        return {
            "file": str(self.path),
            "format": model.format,
            "file_bytes": self.file_bytes,
            "inputs": [_tensor_json(tensor) for tensor in model.inputs],
            "outputs": [_tensor_json(tensor) for tensor in model.outputs],
            "states": [_tensor_json(tensor) for tensor in self.states],
            "operators": [
                {
                    "index": op.index,
                    "op": op.name,
                    "macs": macs,
                    "outputs": [_tensor_json(tensor) for tensor in op.outputs],
                }
                for op, macs in zip(model.operators, self.macs, strict=True)
            ],
            "problems": [
                {"code": p.code, "message": p.message, "where": p.where, "hint": p.hint}
                for p in self.problems
            ],
            "notes": list(self.notes),
        }


@arguments_checked
def inspect(
    model: ModelGiven,
    *,
    input_shapes: Mapping[str, GivenShape] | None = None,
    define: Mapping[str, Defined] | None = None,
    bind: Mapping[str, Array] | None = None,
    states: Mapping[str, str] | None = None,
    custom: Mapping[str, CustomGiven] | None = None,
    example_inputs: ExampleInputs | None = None,
) -> Inspection:
    """List a model's tensors and operators, and what prevents its compilation: `problems`.

    `model` and the options are as for `compile`: `input_shapes` and `define` fix sizes that the
    file leaves open, `bind` makes inputs constants, `states` names pairs of inputs and outputs.
    Raises GM101, GM103, GM110 when there is nothing to show.

    >>> found = glowmcu.inspect("digits_int8.tflite")
    >>> [op.name for op in found.model.operators][:2], found.problems
    (['CONV_2D', 'DEPTHWISE_CONV_2D'], ())
    """
    given = read_given(model, example_inputs)
    return inspected(given, inputs_of(input_shapes, define, bind, states, custom=custom))


def inspected(given: GivenModel, asked: InputOptions) -> Inspection:
    """As `inspect`, of a model whose bytes were read already."""
    data, name = given.data, given.name
    model = summarize_model(data, name)
    macs: list[int | None] = [None] * len(model.operators)
    problems: tuple[Problem, ...] = ()
    states: tuple[TensorSummary, ...] = ()
    try:
        graph = with_states(read_model(data, name, asked), asked, name)
        if not model.inputs and not model.operators:
            model = summarize_graph(model, graph)
            macs = [None] * len(model.operators)
        states = tuple(_inferred(state.value.name, state.value) for state in graph.states)
        model = _with_inferred_types(model, graph)
        for node in graph.nodes:
            index = source_index(node)
            if index is not None:
                macs[index] = (macs[index] or 0) + node.macs
    except GlowmcuError as cause:
        problems = cause.problems
    notes = notes_on_file(data, name, asked)
    return Inspection(Path(name), len(data), model, tuple(macs), problems, notes, states)


def _with_inferred_types(model: ModelSummary, graph: Graph) -> ModelSummary:
    """Types of tensors of which the file tells no more than the name."""
    values = {value.name: value for node in graph.nodes for value in node.outputs}
    values.update({value.name: value for value in graph.inputs})

    def known(tensors: tuple[TensorSummary, ...]) -> tuple[TensorSummary, ...]:
        return tuple(
            _inferred(tensor.name, values[tensor.name])
            if tensor.sizes is None and tensor.name in values
            else tensor
            for tensor in tensors
        )

    # An operator's last node makes its results, whatever it calls them; not so several results of
    # a graph in it, each of a node of its own.
    last = {index: node for node in graph.nodes if (index := source_index(node)) is not None}
    for op in model.operators:
        made = last[op.index].outputs if op.index in last else ()
        if len(made) == len(op.outputs):
            values.update(zip((tensor.name for tensor in op.outputs), made, strict=True))
    operators = tuple(replace(op, outputs=known(op.outputs)) for op in model.operators)
    return replace(
        model, inputs=known(model.inputs), outputs=known(model.outputs), operators=operators
    )


def _inferred(name: str, value: Value) -> TensorSummary:
    quantization = value.type.quantization
    return TensorSummary(
        name,
        str(value.type.element.numpy),
        value.type.shape,
        quantization.scales if quantization else (),
        quantization.zero_points if quantization else (),
    )


def _tensor_json(tensor: TensorSummary) -> dict[str, object]:
    return {
        "name": tensor.name,
        "shape": None if tensor.sizes is None else list(tensor.sizes),
        "dtype": tensor.dtype,
        "scales": list(tensor.scales),
        "zero_points": list(tensor.zero_points),
    }


def type_text(tensor: TensorSummary) -> str:
    """`int8[1x8x8x1] scale 0.5 zp 3`, as far as the file tells."""
    if tensor.sizes is None:
        return tensor.dtype or "-"
    sizes = "x".join("?" if size is None else str(size) for size in tensor.sizes)
    text = f"{tensor.dtype}[{sizes}]"
    if len(tensor.scales) == 1:
        return f"{text} scale {tensor.scales[0]:.6g} zp {tensor.zero_points[0]}"
    return f"{text} {len(tensor.scales)} scales" if tensor.scales else text
