"""Front ends of a float graph become one operator each, which has an integer meaning.

What lies between a spectrum and its logarithm has no scale that int8 or int16 could hold: so
frames, window, transform, squares, filter bank and logarithm are recognised together, whatever else
stands between them (`spectrum_frames.py`, `spectrum_traces.py`); `ops/spectrogram.py` is what they
become.
What is not recognised stays as it was, and float.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, OperationError, constant
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.shape import Reshape
from glowmcu.ops.signal_fft import Rfft
from glowmcu.ops.spectrogram import Spectrogram
from glowmcu.ops.transpose import Transpose
from glowmcu.quant.int8_partition import is_named
from glowmcu.quant.profile import Profile, profiled_values
from glowmcu.quant.spectrum_frames import Frames, frames_of
from glowmcu.quant.spectrum_traces import Kind, Trace, traces_of

_FRAMES = "its frames are not cut from one signal at equal steps, under one window"
_PARTS = (
    "int8 needs its numbers to be read for re^2 + im^2 alone, and what follows to be a root, a "
    "filter bank without negative weights or a logarithm"
)
#: Weights of a filter, and the most that they may add up to.
_WEIGHT_MOST, _SUM_MOST = 2**15 - 1, 2**16 - 1


@dataclass(frozen=True, eq=False)
class Fused:
    """The graph with its front ends fused, and why a transform stays as it is, by node.

    `origins` are values that the graph has besides, each with one of the same numbers that it had
    before; `parts` are nodes that went into a front end, by that front end's node.
    """

    graph: Graph
    reasons: Mapping[Node, str] = field(default_factory=dict)
    origins: Mapping[Value, Value] = field(default_factory=dict)
    parts: Mapping[Node, Collection[Node]] = field(default_factory=dict)

    def names(self, asked: Collection[str]) -> tuple[str, ...]:
        """What `asked` names, a front end for a node that went into it."""
        found = dict[str, None]()
        for name in asked:
            fronts = [
                front.name
                for front, parts in self.parts.items()
                if any(is_named(part, name) for part in parts)
            ]
            if not fronts or any(is_named(node, name) for node in self.graph.nodes):
                found[name] = None
            found.update(dict.fromkeys(fronts))
        return tuple(found)

    def profile(self, before: Graph, profile: Profile) -> Profile:
        """The profile of the graph `before`, for what is left of it."""
        names = profiled_values(before)
        tensors = {
            name: profile.tensors[names[self.origins.get(value, value)]]
            for value, name in profiled_values(self.graph).items()
        }
        return replace(profile, tensors=tensors)


@dataclass(frozen=True, eq=False)
class _FrontEnd:
    """A value and the nodes that make it of the signal."""

    value: Value
    frames: Frames
    nodes: tuple[Node, ...]


def fuse_front_ends(graph: Graph, kept: Collection[Node]) -> Fused:
    """`graph` with one `spectrogram` in the place of each front end that has no node of `kept`."""
    sources = [node for node in graph.nodes if isinstance(node.op, Rfft)]
    if not any(value.type.element is ElementType.F32 for n in sources for value in n.inputs):
        return Fused(graph)
    traces, reasons, made = traces_of(graph), dict[Node, str](), list[_FrontEnd]()
    for source in sources:
        frames = frames_of(graph, source.inputs[0])
        found = None if frames is None else _front_ends(graph, traces, source, frames)
        if found is None:
            reasons[source] = _FRAMES if frames is None else _PARTS
        elif not any(kept_node in _between(graph, f) for f in found for kept_node in kept):
            made += found
    return _replaced(graph, made, reasons)


def _front_ends(
    graph: Graph, traces: Mapping[Value, Trace], source: Node, frames: Frames
) -> list[_FrontEnd] | None:
    """Those of all values that others read of a spectrum; None if they read its parts."""
    ends = {*graph.outputs}
    finals: dict[Value, None] = {}
    for value, trace in traces.items():
        users = graph.users.get(value, [])
        if trace.source is not source:
            continue
        if value in ends or any(u.outputs[0] not in traces for u in users):
            finals[value] = None
    found: dict[Value, _FrontEnd] = {}
    while finals:
        value = next(iter(finals))
        del finals[value]
        trace = traces[value]
        if trace.kind is not Kind.FEATURES:
            return None
        made = _front_end(value, trace, frames)
        if made is None:
            finals[trace.before] = None
        else:
            found[value] = made
    return list(found.values()) or None


def _front_end(value: Value, trace: Trace, frames: Frames) -> _FrontEnd | None:
    """The nodes that compute a value; None for one that they cannot."""
    chain = trace.chain.rooted()
    if chain is None:
        return None
    places = trace.places - 1
    rows, columns = places // trace.width, places % trace.width
    count, first = int(rows.max()) + 1, int(columns.min())
    width = int(columns.max()) + 1 - first
    expected = np.arange(count)[:, np.newaxis] * trace.width + np.arange(first, first + width)
    flat, turned = places.reshape(-1), expected.T.reshape(-1)
    is_turned = not np.array_equal(flat, expected.reshape(-1))
    if is_turned and not np.array_equal(flat, turned):
        return None
    if chain.bank is not None:
        chain = replace(chain, bank=chain.bank[first : first + width])
    assert isinstance(trace.source.op, Rfft)
    op = Spectrogram(
        length=trace.source.op.length, step=frames.step, frames=count, first=frames.first,
        first_bin=0 if chain.bank is not None else first,
        bins=0 if chain.bank is not None else width,
        is_magnitude=chain.of_roots, gain=chain.gain, floor=chain.floor, low=chain.low,
        high=chain.high, is_logarithm=chain.is_logarithm, slope=chain.slope, offset=chain.offset,
    )  # fmt: skip
    name = value.name
    nodes = list[Node]()
    x = _shaped(nodes, frames.signal, (1, frames.signal.type.element_count), f"{name}/samples")
    window = _constant(nodes, frames.window, Quantization((frames.scale,), (0,)), f"{name}/window")
    operands = [x, window]
    if chain.bank is not None:
        operands.append(_constant(nodes, *_stored_bank(chain.bank), f"{name}/bank"))
    shape = (1, count, width)
    is_done = shape == value.type.shape and not is_turned
    out = value if is_done else Value(TensorType(shape, ElementType.F32), f"{name}/features")
    nodes.append(Node(op, tuple(operands), (out,), name, trace.source.source))
    try:
        nodes[-1].op.infer([v.type for v in operands])
        nodes[-1].op.verify(nodes[-1].signature)
    except OperationError:
        return None
    if not is_done:
        _to(nodes, out, value, is_turned)
    return _FrontEnd(value, frames, tuple(nodes))


def _shaped(nodes: list[Node], x: Value, shape: tuple[int, ...], name: str) -> Value:
    if x.type.shape == shape:
        return x
    made = Value(TensorType(shape, ElementType.F32), name)
    nodes.append(Node(Reshape(shape), (x,), (made,), name))
    return made


def _to(nodes: list[Node], out: Value, value: Value, is_turned: bool) -> None:
    """Features become `value`, whose axes are others."""
    name = f"{value.name}/axes"
    if is_turned:
        shape = (1, out.type.shape[2], out.type.shape[1])
        is_done = shape == value.type.shape
        turned = value if is_done else Value(TensorType(shape, ElementType.F32), name)
        nodes.append(Node(Transpose((0, 2, 1)), (out,), (turned,), name))
        if is_done:
            return
        out = turned
    nodes.append(Node(Reshape(value.type.shape), (out,), (value,), f"{value.name}/shape"))


def _constant(nodes: list[Node], data: Array, quantization: Quantization, name: str) -> Value:
    value = Value(TensorType(data.shape, ElementType.I16, quantization), name)
    nodes.append(Node(constant(data), (), (value,), name))
    return value


def _stored_bank(bank: Array) -> tuple[Array, Quantization]:
    """Weights in int16 with a scale a filter, as large as sums of 32 bits allow."""
    scales = np.maximum(bank.max(1) / _WEIGHT_MOST, bank.sum(1) / (_SUM_MOST - bank.shape[1]))
    scales = np.where(scales > 0, scales, 1.0).astype(np.float32)
    stored = np.minimum(np.rint(bank / scales[:, np.newaxis].astype(np.float64)), _WEIGHT_MOST)
    assert stored.sum(1).max() <= _SUM_MOST
    per_channel = Quantization(tuple(map(float, scales)), (0,) * len(bank), 0)
    return stored.astype(np.int16), per_channel


def _between(graph: Graph, front_end: _FrontEnd) -> set[Node]:
    """Nodes that make the front end's value of its signal, and are no constants."""
    found, needed = set[Node](), {front_end.value}
    for node in reversed(graph.nodes):
        if node.inputs and not needed.isdisjoint(node.outputs):
            found.add(node)
            needed.update(node.inputs)
            needed.discard(front_end.frames.signal)
    return found


def _replaced(graph: Graph, made: list[_FrontEnd], reasons: Mapping[Node, str]) -> Fused:
    if not made:
        return Fused(graph, reasons)
    by_value = {front_end.value: front_end for front_end in made}
    nodes = list[Node]()
    for node in graph.nodes:
        found = [by_value[value] for value in node.outputs if value in by_value]
        nodes += found[0].nodes if found else (node,)
    needed = {*graph.outputs}
    living = list[Node]()
    for node in reversed(nodes):
        if not needed.isdisjoint(node.outputs):
            needed.update(node.inputs)
            living.append(node)
    fused = graph.replace(nodes=living[::-1])
    origins, parts = dict[Value, Value](), dict[Node, Collection[Node]]()
    for front_end in made:
        origin = front_end.frames.signal
        for node in front_end.nodes:
            if isinstance(node.op, Spectrogram):
                parts[node] = _between(graph, front_end) - set(fused.nodes)
                origin = front_end.value
            origins[node.output] = origin
    return Fused(fused, reasons, origins, parts)
