"""The API of a bundle whose states outlive a run: what templates and the manifest say of it."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.emit_c.c_text import comment_text
from glowmcu.emit_c.constant_pool import array_view
from glowmcu.emit_c.streamed_input_view import arena_mark
from glowmcu.emit_c.views import ArrayView
from glowmcu.ir.kernel_code import ConstantArray
from glowmcu.ir.program import Buffer, Program, StateBuffer
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import StateEntry

#: Offset constant of the mark in the arena.
MARK = "AT_STREAM_MARK"


@dataclass(frozen=True)
class StateView:
    """Memory that outlives a run, at `place` in the arena: it begins as `array`, or filled with
    `byte`.
    """

    place: str
    name: str
    size_bytes: int
    byte: int
    array: ArrayView | None


@dataclass(frozen=True)
class StreamView:
    """Runs that follow each other: `mark` lies at `counter` where a stream was begun."""

    mark: str
    counter: str
    states: tuple[StateView, ...]

    @property
    def size_bytes(self) -> int:
        """What outlives a run."""
        return sum(state.size_bytes for state in self.states)

    @property
    def initial_bytes(self) -> int:
        """Flash of what states begin as."""
        return sum(state.array.size_bytes for state in self.states if state.array is not None)


def stream_view(program: Program, symbols: Mapping[Buffer, str], name: str) -> StreamView | None:
    """None for a bundle whose runs have nothing to do with each other."""
    if not program.states:
        return None
    states = tuple(
        _state_view(program, state, symbols, f"{name}_initial_{number}")
        for number, state in enumerate(program.states)
    )
    layout = " ".join(f"{view.place} {view.size_bytes}" for view in states)
    return StreamView(arena_mark(f"{name} stream", layout), MARK, states)


def _state_view(
    program: Program, state: StateBuffer, symbols: Mapping[Buffer, str], initial: str
) -> StateView:
    root, inner = program.root(state.buffer)
    array = None
    if _initial_bytes(state):
        array = array_view(initial, ConstantArray("initial", state.initial))
    return StateView(
        f"{symbols[root]}{f' + {inner}' if inner else ''}",
        comment_text(state.buffer.name, 60),
        state.buffer.size_bytes,
        state.initial.tobytes()[0] if array is None else 0,
        array,
    )


def _initial_bytes(state: StateBuffer) -> int:
    """Of the constant that a state begins as: none where all its bytes are the same."""
    data = state.initial.tobytes()
    return len(data) if len(set(data)) > 1 else 0


def state_entries(program: Program) -> tuple[StateEntry, ...]:
    """For the manifest: the mark first, which `NAME_reset` writes, too."""
    if program.mark is None:
        return ()
    places = [(program.mark, 0)]
    places += [(state.buffer, _initial_bytes(state)) for state in program.states]
    return tuple(
        StateEntry(
            buffer.name,
            program.offset(buffer),
            buffer.size_bytes,
            buffer.type.shape,
            str(buffer.type.element.numpy),
            initial_bytes,
        )
        for buffer, initial_bytes in places
    )
