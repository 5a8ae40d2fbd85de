"""RNN, GRU and LSTM of a single step, as ordinary operators: what is run step by step has its state
outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.frontend.onnx.recurrent_cells import CELLS, Emitter, States, Weights
from glowmcu.frontend.onnx.recurrent_sizes import RecurrentSizes
from glowmcu.frontend.onnx.spatial import reshaped
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType
from glowmcu.ops.comparison import Greater, Select
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.recurrence_cells import CellFunction
from glowmcu.ops.shape import Reshape


def emit_step(
    emitter: Emitter, sizes: RecurrentSizes, functions: Sequence[tuple[CellFunction, ...]]
) -> None:
    """The operator's results, bound."""
    state, op = emitter.state, emitter.op
    cell_class = CELLS[op.kind]
    x = reshaped(state, op, state.value(op, 0), (sizes.batch, sizes.depth))
    mask = _Mask(emitter, sizes)
    hidden: list[Value] = []
    last: list[States] = []
    for direction, is_reversed in enumerate(sizes.reversed):
        emitter.place = f"/{'reverse' if is_reversed else 'forward'}"
        cell = cell_class(emitter, _weights(emitter, direction), functions[direction])
        before = _initial_states(emitter, direction, sizes, cell_class.state_count)
        after, shown = mask.keep(before, cell.step(x, before))
        hidden.append(shown)
        last.append(after)
    emitter.place = ""
    _bind_results(emitter, sizes, hidden, last)


def _weights(emitter: Emitter, direction: int) -> Weights:
    state, op = emitter.state, emitter.op
    w, r, b, p = (
        emitter.entry(state.value(op, position), direction) if state.has(op, position) else None
        for position in (1, 2, 3, 7)
    )
    assert w is not None
    assert r is not None
    return Weights(w, r, b, p)


def _initial_states(emitter: Emitter, direction: int, sizes: RecurrentSizes, count: int) -> States:
    """Hidden state and cell state (B, H); None if they are zeros."""
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


class _Mask:
    """Sequences of no step: their state stays, their output is zero."""

    def __init__(self, emitter: Emitter, sizes: RecurrentSizes) -> None:
        state, op = emitter.state, emitter.op
        self.emitter = emitter
        self.column = (sizes.batch, 1)
        self.zeros: Value | None = None
        self.shape = (sizes.batch, sizes.hidden)
        self.lengths = state.value(op, 4) if state.has(op, 4) else None
        self.known = None if self.lengths is None else state.builder.known.get(self.lengths)

    def keep(self, before: States, after: tuple[Value, ...]) -> tuple[States, Value]:
        """States and output after the step."""
        if self.lengths is None or (self.known is not None and bool((self.known > 0).all())):
            return after, after[0]
        mask = self._mask()
        states = tuple(
            self._select(mask, new, self._zeros() if old is None else old)
            for old, new in zip(before, after, strict=True)
        )
        return states, self._select(mask, after[0], self._zeros())

    def _mask(self) -> Value:
        """(B, 1): whether the step belongs to the sequence."""
        state = self.emitter.state
        assert self.lengths is not None
        if self.known is not None:
            return state.add_constant((self.known > 0).reshape(self.column), "is_inside")
        element = self.lengths.type.element
        column = self.emitter.add(Reshape(self.column), self.lengths, element=element)
        none = state.add_constant(np.zeros((1, 1), element.numpy), "none")
        return self.emitter.add(Greater(), column, none, element=ElementType.BOOL)

    def _select(self, mask: Value, new: Value, old: Value) -> Value:
        return self.emitter.add(Select(), mask, new, old)

    def _zeros(self) -> Value:
        if self.zeros is None:
            self.zeros = self.emitter.state.add_constant(np.zeros(self.shape, np.float32), "zeros")
        return self.zeros


def _bind_results(
    emitter: Emitter, sizes: RecurrentSizes, hidden: list[Value], last: list[States]
) -> None:
    """Y (1, D, B, H), then the last states (D, B, H); batch first (B, 1, D, H) and (B, D, H)."""
    state, op = emitter.state, emitter.op
    results: dict[str, Value] = {}
    if op.outputs and op.outputs[0]:
        inner = (sizes.batch, sizes.hidden)
        shape = (sizes.batch, 1, sizes.directions, sizes.hidden)
        shape = shape if sizes.batch_first else (1, sizes.directions, *inner)
        results[op.outputs[0]] = reshaped(state, op, _stacked(emitter, sizes, hidden), shape)
    for index, name in enumerate(op.outputs[1:]):
        if name:
            ends = [value for states in last if (value := states[index]) is not None]
            results[name] = _stacked(emitter, sizes, ends)
    state.bind(replace(op, outputs=tuple(results)), list(results.values()))


def _stacked(emitter: Emitter, sizes: RecurrentSizes, values: Sequence[Value]) -> Value:
    """Of (B, H) each: (D, B, H), or (B, D, H)."""
    batch, hidden = sizes.batch, sizes.hidden
    shape = (batch, 1, hidden) if sizes.batch_first else (1, batch, hidden)
    parts = [emitter.add(Reshape(shape), value) for value in values]
    if len(parts) == 1:
        return parts[0]
    return emitter.add(Concatenation(1 if sizes.batch_first else 0), *parts)
