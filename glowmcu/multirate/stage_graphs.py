"""A stage's graph between what comes in and what goes out: queues as states.

Of what a stage hands on, the newest rows lie in a queue: a state that the stage before moves up and
adds to, and that the stage behind it reads. Every stage is a graph of its own until it is lowered,
so that no pass moves work from one rate to another.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.ir.graph import Graph, Node, Rate, State, Value
from glowmcu.ir.operation import Array, Operation
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice

_REALS = (ElementType.F32,)


@dataclass(frozen=True)
class Window:
    """What a stage reads: the newest rows of `type`, `row_count` of `row_elements` along `axis`."""

    type: TensorType
    axis: int
    row_count: int
    row_elements: int

    def of_rows(self, count: int) -> TensorType:
        """The type of `count` rows."""
        shape = list(self.type.shape)
        shape[self.axis] = count
        return self.type.with_shape(tuple(shape))


def window_of(type_: TensorType, stage: str, file: str) -> Window:
    """Rows along time, the first axis but the last that is longer than 1: of [1, 480] the last, of
    [1, 3, 40] and [1, 1, 40] the middle one, of [1, 49, 10, 1] the second. Raises GM151 for a
    tensor without.
    """
    axis = 1 if type_.rank > 1 else 0
    axis = next((at for at, size in enumerate(type_.shape[:-1]) if size > 1), axis)
    if not type_.rank or 0 in type_.shape:
        raise _misfit(f"its input is {type_}, which has no rows", stage, file)
    rest = math.prod(type_.shape[axis + 1 :])
    return Window(type_, axis, type_.shape[axis], rest)


@dataclass(frozen=True)
class StageGraph:
    """A stage: its graph of one argument. What it gives are the last of its states: `queues` of
    them for the stage behind it, then `held` for the application; or else its result.
    """

    name: str
    graph: Graph
    rate: Rate
    queues: int = 0
    held: tuple[str, ...] = ()


def queue(graph: Graph, value: Value, window: Window, name: str, where: str, file: str) -> Graph:
    """`graph` with a shared state that holds the newest rows of `window`, `value` the last of them.

    Raises GM151 if `value` does not fit.
    """
    nodes: list[Node] = []
    value = _converted(nodes, value, window.type, where, file)
    count = value.type.element_count // window.row_elements
    if count * window.row_elements != value.type.element_count or window.row_count % count:
        raise _misfit(
            f"the stage before gives {value.type.shape}, its input is {window.type.shape}: "
            "not a whole number of them",
            where,
            file,
        )
    rows = _added(nodes, Reshape(window.of_rows(count).shape), (value,), window.of_rows(count))
    state = Value(window.type, name)
    whole = rows
    if count < window.row_count:
        stay = window.of_rows(window.row_count - count)
        begin = tuple(count if at == window.axis else 0 for at in range(stay.rank))
        older = _added(nodes, Slice(begin, stay.shape, (1,) * stay.rank), (state,), stay)
        whole = _added(nodes, Concatenation(window.axis), (older, rows), window.type)
    return _with_states(graph, nodes, [(state, whole)])


def overlapping(samples: Value, window: Window) -> Graph:
    """From the new samples to the newest rows of `window`, the result: those before are a state."""
    new = samples.type.shape[window.axis]
    stay = window.of_rows(window.row_count - new)
    kept = Value(stay, "last samples")
    nodes: list[Node] = []
    whole = _added(nodes, Concatenation(window.axis), (kept, samples), window.type)
    begin = tuple(new if at == window.axis else 0 for at in range(stay.rank))
    newest = _added(nodes, Slice(begin, stay.shape, (1,) * stay.rank), (whole,), stay)
    graph = Graph(samples.name, (samples,), tuple(nodes), (whole,))
    return _with_states(graph, [], [(kept, newest)])


def held(graph: Graph, values: list[tuple[str, Value]], initial: int | None = None) -> Graph:
    """`graph` with a shared state for each value that the application reads, by name; before the
    first result it is full of `initial`.
    """
    states = [(Value(value.type, name), value) for name, value in values]
    return _with_states(graph, [], states, initial)


def _with_states(
    graph: Graph,
    nodes: list[Node],
    states: list[tuple[Value, Value]],
    initial: int | None = None,
) -> Graph:
    """More nodes, and more states with what they become; states begin as zero points unless
    `initial` says as what.
    """
    made = tuple(State(value, _initial(value.type, initial), True) for value, _ in states)
    return replace(
        graph,
        inputs=(*graph.inputs, *(state.value for state in made)),
        nodes=(*graph.nodes, *nodes),
        outputs=(*graph.outputs, *(value for _, value in states)),
        states=(*graph.states, *made),
    )


def _initial(type_: TensorType, initial: int | None) -> Array:
    if initial is None:
        is_quantized = type_.quantization is not None and not type_.quantization.per_channel
        initial = type_.zero_point if is_quantized else 0
    return np.full(type_.shape, initial, type_.element.numpy)


def _converted(nodes: list[Node], value: Value, type_: TensorType, where: str, file: str) -> Value:
    """`value` in the number format of `type_`: real numbers are quantized and back, stored ones
    rescaled; where one of the two says no scale, its bytes are the other's.
    """
    have, want = value.type, type_
    wanted = replace(have, element=want.element, quantization=want.quantization)
    if have.element is want.element and (
        have.quantization == want.quantization or not (have.quantization and want.quantization)
    ):
        if have.quantization == want.quantization:
            return value
        return _added(nodes, Reshape(have.shape), (value,), wanted)
    op: Operation = Requantize()
    if have.element in _REALS:
        op = Quantize()
    elif want.element in _REALS:
        op = Dequantize()
    made = _added(nodes, op, (value,), wanted)
    try:
        op.verify(nodes[-1].signature)
    except Exception as cause:
        raise _misfit(
            f"the stage before gives {have}, its input is {want}, which cannot be made of it",
            where,
            file,
        ) from cause
    return made


def _added(nodes: list[Node], op: Operation, inputs: tuple[Value, ...], type_: TensorType) -> Value:
    result = Value(type_, f"{inputs[-1].name}/{op.name}")
    nodes.append(Node(op, inputs, (result,), result.name, "pipeline"))
    return result


def _misfit(message: str, stage: str, file: str) -> GlowmcuError:
    hint = "docs/pipelines.md says how stages fit together"
    return error("GM151", message, f"{file}, stage {stage!r}", hint, ExitCode.USAGE)
