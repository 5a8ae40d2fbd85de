"""A layer that two cores share, in C: a function for what either computes between two meetings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from glowmcu.emit_c.c_text import wrap_call
from glowmcu.emit_c.layer_text import LayerText, typed_pointer
from glowmcu.emit_c.meeting_text import Meetings
from glowmcu.ir.division import Division, Phase, Place, Turn, input_part, unit_bytes
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.instructions import Buffer, Run, View, ViewRole
from glowmcu.ir.program import Program
from glowmcu.lazy_dataclass import dataclass

#: Where the cores' words lie in the arena.
MEETINGS = "AT_MEETINGS"
_WHO = ("first", "second")


@dataclass(frozen=True)
class SharedText:
    """Definitions of the functions, and how either core calls them, with its meetings."""

    definition: str
    call: str
    help: str


def shared_text(
    layer: LayerText, pieces: Sequence[LayerText], meetings: Meetings
) -> SharedText:  # fmt: skip
    """`pieces` are the layers that the run consists of where its kernel has no rows; `meetings` are
    told of those of this run.
    """
    writer = _Writer(layer, pieces)
    division = writer.division
    definitions, (first, second) = list[str](), meetings.before()
    calls, helps = [first], [second]
    for number, phase in enumerate(division.phases):
        names = [f"{who}_{layer.label}_{number}" for who in _WHO]
        definitions += [writer.function(name, phase, core) for core, name in enumerate(names)]
        first, second = meetings.after(writer.run, phase)
        calls += [f"    GLOWMCU_CORES_BOTH({names[0]}, {names[1]}, a);", first]
        helps += [f"    {names[1]}(a);", second]
    text = [piece.definition() for piece in pieces] if pieces else [layer.definition()]
    definition = "\n\n".join(filter(None, (*text, *definitions)))
    return SharedText(definition, *("\n".join(filter(None, lines)) for lines in (calls, helps)))


def piece_runs(run: Run, division: Division) -> list[tuple[tuple[int, int], Run, View]]:
    """The layers of pieces that are layers of their own, with the view that each writes."""
    found = []
    size = unit_bytes(run, division)
    for (first, end), code in sorted(division.codes.items()):
        type_ = run.outputs[0].type
        shape = (end - first) * type_.element_count // division.units
        buffer = Buffer(run.outputs[0].name, type_.with_shape((shape,)))
        node = Node(run.node.op, run.node.inputs, (Value(buffer.type, buffer.name),), run.node.name)
        piece = replace(run, node=node, outputs=(buffer,), overlaps=code.overlaps, division=None)
        view = View(buffer, run.outputs[0], first * size, ViewRole.PART)
        found.append(((first, end), piece, view))
    return found


def with_pieces(program: Program, views: Sequence[View]) -> Program:
    """The program with pieces of results as buffers."""
    return replace(program, instructions=(*program.instructions, *views))


class _Writer:
    def __init__(self, layer: LayerText, pieces: Sequence[LayerText]) -> None:
        assert layer.run.division is not None
        self.layer, self.run, self.division = layer, layer.run, layer.run.division
        keys = sorted(self.division.codes)
        self.pieces = dict(zip(keys, pieces, strict=True))

    def function(self, name: str, phase: Phase, core: int) -> str:
        """What a core does in a phase."""
        lines = [line for turn in phase[core] for line in self._turn(turn, core)]
        body = "\n".join(lines) if lines else "    (void)a; /* there is nothing to share */"
        return f"GLOWMCU_CODE\nstatic void {name}(int8_t *a)\n{{\n{body}\n}}"

    def _turn(self, turn: Turn, core: int) -> Iterator[str]:
        if not turn.computes:
            size = unit_bytes(self.run, self.division) * (turn.end - turn.first)
            result = self._result(replace(turn, place=Place.RESULT))
            stash = self._result(replace(turn, place=Place.STASH))
            yield wrap_call("(void)memcpy", [result, stash, str(size)], 4)
        elif self.pieces:
            yield self._piece_call(turn, core)
        else:
            yield self._row_call(turn, core)

    def _piece_call(self, turn: Turn, core: int) -> str:
        piece = self.pieces[turn.first, turn.end]
        pointers = [item.text for item in piece.pointers()]
        pointers[: len(self.run.inputs)] = self._inputs(turn)
        if piece.run.scratch is not None:
            pointers[-1] = self._scratch(core)
        given = [f"&p_{piece.label}"] if piece.code.parameters else []
        return piece.call_of(piece.function, given, pointers)

    def _row_call(self, turn: Turn, core: int) -> str:
        layer = self.layer
        arguments = [f"&p_{layer.label}"] if layer.code.parameters else []
        arguments += self._inputs(turn)
        result = self.run.outputs[0].type.element
        arguments.append(typed_pointer(result, self._result(turn), False))
        if self.run.scratch is not None:
            arguments.append(self._scratch(core))
        arguments += [str(turn.first), str(turn.end)]
        return wrap_call(layer.function, arguments, 4)

    def _inputs(self, turn: Turn) -> Iterator[str]:
        """The first of the rows that a turn reads, of each operand."""
        for number, buffer in enumerate(self.run.inputs):
            low, _ = input_part(self.division, number, buffer.size_bytes, turn)
            yield typed_pointer(buffer.type.element, self._place(buffer, low), True)

    def _scratch(self, core: int) -> str:
        scratch = self.division.scratch if core else self.run.scratch
        assert scratch is not None
        return self._place(scratch, 0)

    def _result(self, turn: Turn) -> str:
        size = unit_bytes(self.run, self.division)
        if turn.place is Place.STASH:
            assert self.division.stash is not None
            return self._place(self.division.stash, (turn.first - self.division.stash_first) * size)
        return self._place(self.run.outputs[0], turn.first * size)

    def _place(self, buffer: Buffer, more: int) -> str:
        root, inner = self.layer.program.root(buffer)
        offset = inner + more
        return f"a + {self.layer.symbols[root]}{f' + {offset}' if offset else ''}"
