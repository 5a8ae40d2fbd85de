"""Branches and loops in C: a function for each body, and what their own function says around it.

if (*condition) { then_3(a, …); memcpy(out0, a + …, …); } else { else_3(a, …); … }
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from glowmcu.emit_c.c_text import c_identifier, comment_text
from glowmcu.emit_c.layer_text import typed_pointer
from glowmcu.ir.graph import Node
from glowmcu.ir.program import Buffer, Program, Run
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.control_flow import If, Loop


@dataclass(frozen=True)
class PlaceView:
    """A buffer of a body: the constant that says where in the scratch it starts."""

    symbol: str
    offset: int
    comment: str


@dataclass(frozen=True)
class InnerView:
    """A layer of a body: what stands above it, and its call."""

    comment: tuple[str, ...]
    definition: str
    summary: str
    call: str


@dataclass(frozen=True)
class BodyView:
    """A function for a body: `parameters` are declarations, `call` calls it."""

    function: str
    name: str
    parameters: tuple[str, ...]
    call: str
    places: tuple[PlaceView, ...]
    layers: tuple[InnerView, ...]


@dataclass(frozen=True)
class MoveView:
    """`size_bytes` from one C expression to another."""

    to: str
    source: str
    size_bytes: int

    @property
    def text(self) -> str:
        """The statement."""
        return f"(void)memcpy({self.to}, {self.source}, {self.size_bytes});"


def body_symbols(program: Program, label: str, arguments: Sequence[str]) -> dict[Buffer, str]:
    """An offset constant for each buffer in the scratch; what stays outside is an argument."""
    made: dict[Buffer, str] = {}
    prefix = f"AT_{label.upper()}"
    for number, (buffer, name) in enumerate(zip(program.inputs, arguments, strict=True)):
        made[program.root(buffer)[0]] = name if buffer.external else f"{prefix}_IN{number}"
    for number, state in enumerate(program.states):
        made.setdefault(program.root(state.buffer)[0], f"{prefix}_CARRIED{number}")
    for step, run in enumerate(program.runs):
        for number, buffer in enumerate(run.outputs):
            suffix = f"_{number}" if len(run.outputs) > 1 else ""
            name = f"{prefix}_{step}_{c_identifier(run.node.op.name).upper()}{suffix}"
            made.setdefault(program.root(buffer)[0], name)
        if run.scratch is not None:
            made.setdefault(run.scratch, f"{prefix}_{step}_SCRATCH")
    return made


def place_views(program: Program, symbols: dict[Buffer, str]) -> tuple[PlaceView, ...]:
    """All that lies in the scratch, by offset."""
    views = [
        PlaceView(symbols[buffer], program.offsets[buffer],
                  comment_text(f"{buffer.type} {buffer.name}", 60))
        for buffer in program.lives
    ]  # fmt: skip
    return tuple(sorted(views, key=lambda view: (view.offset, view.symbol)))


def body_view(
    program: Program, symbols: dict[Buffer, str], function: str, name: str,
    layers: Sequence[InnerView],
) -> BodyView:  # fmt: skip
    """The function of a body, with the arguments that its kernels read."""
    read = {program.root(buffer)[0] for run in program.runs for buffer in run.inputs}
    roots = [buffer for buffer in program.inputs if buffer.external and buffer in read]
    parameters = [f"const {buffer.type.element.c_name} *{symbols[buffer]}" for buffer in roots]
    call = f"{function}({', '.join(['a', *(symbols[buffer] for buffer in roots)])});"
    return BodyView(
        function, comment_text(name), ("int8_t *a", *parameters), call,
        place_views(program, symbols), tuple(layers),
    )  # fmt: skip


@dataclass(frozen=True)
class AroundView:
    """The function of a branch or loop, around its `bodies`."""

    parameters: tuple[str, ...]
    unused: tuple[str, ...]
    bodies: tuple[BodyView, ...]
    #: By body: what its results become.
    results: tuple[tuple[MoveView, ...], ...]
    begin: tuple[MoveView, ...] = ()
    rows: tuple[str, ...] = ()
    given: tuple[MoveView, ...] = ()
    collected: tuple[MoveView, ...] = ()
    trips: int = 0
    again: str = ""


def around_view(
    run: Run, programs: Sequence[Program], symbols: Sequence[dict[Buffer, str]],
    bodies: Sequence[BodyView],
) -> AroundView:  # fmt: skip
    """What the template of a branch or loop needs."""
    signature, op = run.node.signature, run.node.op
    pairs = [(f"in{i}", t, "const ") for i, t in enumerate(signature.inputs)]
    pairs += [(f"out{i}", t, "") for i, t in enumerate(signature.outputs)]
    parameters = (*(f"{c}{t.element.c_name} *{name}" for name, t, c in pairs), "int8_t *a")
    if isinstance(op, If):
        moved = tuple(
            tuple(
                MoveView(f"out{i}", _place(program, named, buffer), buffer.size_bytes)
                for i, buffer in enumerate(program.outputs) if buffer.size_bytes
            )
            for program, named in zip(programs, symbols, strict=True)
        )  # fmt: skip
        view = AroundView(parameters, (), tuple(bodies), moved)
    else:
        assert isinstance(op, Loop)
        view = _loop_view(op, programs[0], symbols[0], parameters, bodies)
    used = " ".join([*(body.call for body in bodies), *view.rows, *_sources(view)])
    unused = [
        f"in{i}" for i in range(len(signature.inputs))
        if not _mentions(used, f"in{i}") and not (i == 0 and _reads_condition(op))
    ]  # fmt: skip
    unused += [f"out{i}" for i, t in enumerate(signature.outputs) if not t.size_bytes]
    return replace(view, unused=tuple(unused))


def body_arguments(node: Node) -> list[str]:
    """Names of what bodies read outside: operands, and of a loop rows of those it scans."""
    op, count = node.op, len(node.inputs)
    if not isinstance(op, Loop):
        return [f"in{number}" for number in range(1, count)]
    first = op.first_carried + op.carried
    rows = [f"row{first + number}" for number in range(op.scanned)]
    return rows + [f"in{number}" for number in range(first + op.scanned, count)]


def _loop_view(
    op: Loop, program: Program, symbols: dict[Buffer, str],
    parameters: tuple[str, ...], bodies: Sequence[BodyView],
) -> AroundView:  # fmt: skip
    first = op.first_carried
    begin, last = [], []
    for number, state in enumerate(program.states):
        place, size = _place(program, symbols, state.buffer), state.buffer.size_bytes
        if size:
            begin.append(MoveView(place, f"in{first + number}", size))
            last.append(MoveView(f"out{number}", place, size))
    rows, given = [], []
    for number, buffer in enumerate(program.inputs[: op.scanned]):
        operand = f"in{first + op.carried + number}"
        row = f"{operand} + trip * {buffer.type.element_count}"
        if buffer.external and f"row{operand[2:]}" in bodies[0].call:
            rows.append(f"const {buffer.type.element.c_name} *const row{operand[2:]} = {row};")
        elif not buffer.external and buffer in program.offsets:
            given.append(MoveView(_place(program, symbols, buffer), row, buffer.size_bytes))
    collected = [
        MoveView(f"out{op.carried + number} + trip * {buffer.type.element_count}",
                 _place(program, symbols, buffer), buffer.size_bytes)
        for number, buffer in enumerate(program.outputs[first:]) if buffer.size_bytes
    ]  # fmt: skip
    again = ""
    if op.is_conditional:
        place = _place(program, symbols, program.outputs[0])
        again = f"*{typed_pointer(ElementType.BOOL, place, True)}"
    return AroundView(
        parameters, (), tuple(bodies), (tuple(last),), tuple(begin), tuple(rows), tuple(given),
        tuple(collected), op.trips or 0, again,
    )  # fmt: skip


def _sources(view: AroundView) -> Iterator[str]:
    groups = (*view.results, view.begin, view.given, view.collected)
    return (move.source for moves in groups for move in moves)


def _mentions(text: str, name: str) -> bool:
    return name in text.replace(",", " ").replace(")", " ").replace(";", " ").split()


def _reads_condition(op: object) -> bool:
    return isinstance(op, If) or (isinstance(op, Loop) and op.is_conditional)


def _place(program: Program, symbols: dict[Buffer, str], buffer: Buffer) -> str:
    root, inner = program.root(buffer)
    return f"a + {symbols[root]}{f' + {inner}' if inner else ''}"
