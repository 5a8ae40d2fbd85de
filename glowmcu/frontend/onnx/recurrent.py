"""RNN, GRU and LSTM, unrolled: every time step becomes operators of its own.

The number of steps is fixed at compile time; weights are stored once, whatever their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from glowmcu.frontend.graph_builder import expect_few
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.recurrent_activations import activations
from glowmcu.frontend.onnx.recurrent_cells import CELLS, Cell, Emitter, States, Weights
from glowmcu.frontend.onnx.spatial import reshaped
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, Shape
from glowmcu.ops.comparison import Greater, Select
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Split

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
#: A step is about ten operators; beyond this code and compile time are not a microcontroller's.
MAX_STEPS = 1024


@dataclass(frozen=True)
class _Sizes:
    steps: int
    batch: int
    depth: int
    hidden: int
    reversed: tuple[bool, ...]
    batch_first: bool

    @property
    def directions(self) -> int:
        return len(self.reversed)

    @property
    def state(self) -> Shape:
        """Of an initial or last state."""
        if self.batch_first:
            return (self.batch, self.directions, self.hidden)
        return (self.directions, self.batch, self.hidden)


@importer("RNN", "GRU", "LSTM")
def import_recurrent(state: Import, op: NodeRecord) -> None:
    """Unrolled over its time steps. Any direction, layout and activations; lengths of sequences."""
    emitter = Emitter(state, op)
    cell_class = CELLS[op.kind]
    sizes = _sizes(state, op, cell_class)
    functions = activations(op, cell_class.default_activations, sizes.directions)
    inputs = _steps_of(emitter, state.value(op, 0), sizes)
    masks = _Masks(emitter, sizes)
    hidden: list[list[Value]] = []
    last: list[States] = []
    for direction, is_reversed in enumerate(sizes.reversed):
        cell = cell_class(emitter, _weights(emitter, direction), functions[direction])
        states = _initial_states(emitter, direction, sizes, cell_class.state_count)
        shown: dict[int, Value] = {}
        for time in range(sizes.steps)[:: -1 if is_reversed else 1]:
            emitter.place = f"/{'reverse' if is_reversed else 'forward'}/step{time}"
            states, shown[time] = masks.keep(time, states, cell.step(inputs[time], states))
        hidden.append([shown[time] for time in range(sizes.steps)])
        last.append(states)
    emitter.place = ""
    _bind_results(emitter, sizes, hidden, last)


def _sizes(state: Import, op: NodeRecord, cell: type[Cell]) -> _Sizes:
    """Raises GM105, GM106 for operands that do not fit together."""
    x, w, r = (state.value(op, position) for position in range(3))
    if any(value.type.element is not ElementType.F32 for value in (x, w, r)):
        raise Unsupported("GM105", f"{op.kind}: expected float32, got {x.type}, {w.type}, {r.type}")
    direction = op.text("direction", "forward").lower()
    if direction not in _DIRECTIONS:
        raise Unsupported("GM105", f"{op.kind}: direction {direction!r} is unknown")
    if x.type.rank != 3 or w.type.rank != 3 or r.type.rank != 3:
        raise Unsupported("GM106", f"{op.kind}: x is {x.type}, W is {w.type}, R is {r.type}")
    batch_first = bool(op.integer("layout", 0))
    steps, batch, depth = x.type.shape
    if batch_first:
        steps, batch = batch, steps
    sizes = _Sizes(steps, batch, depth, r.type.shape[2], _DIRECTIONS[direction], batch_first)
    if not 1 <= steps <= MAX_STEPS:
        raise Unsupported("GM105", f"{op.kind}: {steps} time steps; expected 1 to {MAX_STEPS}")
    _expect_shapes(state, op, sizes, cell)
    return sizes


def _expect_shapes(state: Import, op: NodeRecord, sizes: _Sizes, cell: type[Cell]) -> None:
    rows = cell.gates * sizes.hidden
    expected = {
        1: ("W", (sizes.directions, rows, sizes.depth)),
        2: ("R", (sizes.directions, rows, sizes.hidden)),
        3: ("B", (sizes.directions, 2 * rows)),
        4: ("sequence_lens", (sizes.batch,)),
        5: ("initial_h", sizes.state),
    }
    if op.kind == "LSTM":
        expected[6] = ("initial_c", sizes.state)
        expected[7] = ("P", (sizes.directions, 3 * sizes.hidden))
    for position, (name, shape) in expected.items():
        if state.has(op, position) and state.value(op, position).type.shape != shape:
            got = state.value(op, position).type.shape
            raise Unsupported("GM106", f"{op.kind}: expected {name} to be {shape}, got {got}")


def _weights(emitter: Emitter, direction: int) -> Weights:
    state, op = emitter.state, emitter.op
    w, r, b, p = (
        emitter.entry(state.value(op, position), direction) if state.has(op, position) else None
        for position in (1, 2, 3, 7)
    )
    assert w is not None
    assert r is not None
    return Weights(w, r, b, p)


def _steps_of(emitter: Emitter, x: Value, sizes: _Sizes) -> Sequence[Value]:
    """The input (B, I) of every time step."""
    shape = (sizes.batch, sizes.depth)
    if sizes.steps == 1:
        return [reshaped(emitter.state, emitter.op, x, shape)]
    expect_few(sizes.steps, "time steps")
    split = Split(1 if sizes.batch_first else 0, (1,) * sizes.steps, drop_axis=True)
    names = [f"{x.name}/step{time}" for time in range(sizes.steps)]
    return emitter.add_all(split, x, names)


def _initial_states(emitter: Emitter, direction: int, sizes: _Sizes, count: int) -> States:
    """Hidden state and cell state (B, H); None where they are zeros."""
    state, op = emitter.state, emitter.op
    found: list[Value | None] = []
    for position in range(5, 5 + count):
        if not state.has(op, position):
            found.append(None)
            continue
        value = emitter.entry(state.value(op, position), direction, int(sizes.batch_first))
        known = state.builder.known.get(value)
        found.append(None if known is not None and not known.any() else value)
    return tuple(found)


class _Masks:
    """Sequences that are shorter than the input: their state stays, their output is zero."""

    def __init__(self, emitter: Emitter, sizes: _Sizes) -> None:
        state, op = emitter.state, emitter.op
        self.emitter = emitter
        self.column = (sizes.batch, 1)
        self.zeros: Value | None = None
        self.shape = (sizes.batch, sizes.hidden)
        self.lengths = state.value(op, 4) if state.has(op, 4) else None
        self.known = None if self.lengths is None else state.builder.known.get(self.lengths)

    def keep(self, time: int, before: States, after: tuple[Value, ...]) -> tuple[States, Value]:
        """States and output after step `time`."""
        if self.lengths is None or (self.known is not None and bool((self.known > time).all())):
            return after, after[0]
        mask = self._mask(time)
        states = tuple(
            self._select(mask, new, self._zeros() if old is None else old)
            for old, new in zip(before, after, strict=True)
        )
        return states, self._select(mask, after[0], self._zeros())

    def _mask(self, time: int) -> Value:
        """(B, 1): whether step `time` belongs to the sequence."""
        state = self.emitter.state
        assert self.lengths is not None
        if self.known is not None:
            return state.add_constant((self.known > time).reshape(self.column), "is_inside")
        column = self.emitter.add(
            Reshape(self.column), self.lengths, element=self.lengths.type.element
        )
        step = state.add_constant(np.array([[time]], self.lengths.type.element.numpy), "step")
        return self.emitter.add(Greater(), column, step, element=ElementType.BOOL)

    def _select(self, mask: Value, new: Value, old: Value) -> Value:
        return self.emitter.add(Select(), mask, new, old)

    def _zeros(self) -> Value:
        if self.zeros is None:
            self.zeros = self.emitter.state.add_constant(np.zeros(self.shape, np.float32), "zeros")
        return self.zeros


def _bind_results(
    emitter: Emitter, sizes: _Sizes, hidden: list[list[Value]], last: list[States]
) -> None:
    """Y (T, D, B, H), then the last states (D, B, H); batch first (B, T, D, H) and (B, D, H)."""
    state, op = emitter.state, emitter.op
    outer, inner = (sizes.steps, sizes.directions), (sizes.batch, sizes.hidden)
    results: dict[str, Value] = {}
    if op.outputs and op.outputs[0]:
        flat = [hidden[j][time] for time in range(sizes.steps) for j in range(sizes.directions)]
        shape = (sizes.batch, *outer, sizes.hidden) if sizes.batch_first else (*outer, *inner)
        results[op.outputs[0]] = reshaped(state, op, _stacked(emitter, sizes, flat), shape)
    for index, name in enumerate(op.outputs[1:]):
        if name:
            ends = [value for states in last if (value := states[index]) is not None]
            results[name] = _stacked(emitter, sizes, ends)
    state.bind(replace(op, outputs=tuple(results)), list(results.values()))


def _stacked(emitter: Emitter, sizes: _Sizes, values: Sequence[Value]) -> Value:
    """Of (B, H) each: (N, B, H), or (B, N, H)."""
    batch, hidden = sizes.batch, sizes.hidden
    shape = (batch, 1, hidden) if sizes.batch_first else (1, batch, hidden)
    parts = [emitter.add(Reshape(shape), value) for value in values]
    if len(parts) == 1:
        return parts[0]
    return emitter.add(Concatenation(1 if sizes.batch_first else 0), *parts)
