"""From a planned program and its kernels to the views that templates render."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from glowmcu.board import Places
from glowmcu.emit_c.body_text import (
    InnerView,
    around_view,
    body_arguments,
    body_symbols,
    body_view,
)
from glowmcu.emit_c.c_text import (
    c_identifier,
    comment_text,
)
from glowmcu.emit_c.cascade_text import cascade_text, order_symbol
from glowmcu.emit_c.code_places import (
    CodeSwitch,
    called_apart,
    code_regions,
    header_groups,
    placed_steps,
)
from glowmcu.emit_c.constant_pool import ConstantPart, ConstantPool
from glowmcu.emit_c.contract import libjit_closure
from glowmcu.emit_c.delegate_text import DelegatesView, Place, Regions
from glowmcu.emit_c.divided_text import MEETINGS, piece_runs, shared_text, with_pieces
from glowmcu.emit_c.integrity import (
    Checked,
    CheckedBytes,
    IntegrityView,
    checked_array,
    checked_parts,
    checked_tables,
    integrity_view,
    is_parameter,
)
from glowmcu.emit_c.layer_text import LayerText
from glowmcu.emit_c.meeting_text import Meetings
from glowmcu.emit_c.prefetch_text import with_prefetches
from glowmcu.emit_c.shared_functions import FunctionView, SharedFunctions
from glowmcu.emit_c.sized_layers import SizedProgram, SizedSteps
from glowmcu.emit_c.stream_view import MARK, StreamView, stream_view
from glowmcu.emit_c.tensor_views import parameter_names
from glowmcu.emit_c.views import (
    ArrayView,
    BufferView,
    HeaderGroupView,
    StepView,
)
from glowmcu.emit_c.weights_blob import Fill
from glowmcu.instrument import Instrument
from glowmcu.interface_options import Weights
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.graph import Node
from glowmcu.ir.kernel_code import KernelCode
from glowmcu.ir.layer_weights import LayerWeights
from glowmcu.ir.program import Buffer, Program, Run
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.control_flow import If
from glowmcu.ops.delegate import Delegate


class Chosen(Protocol):
    """What emission needs of a selected kernel."""

    @property
    def code(self) -> KernelCode: ...
    @property
    def row_code(self) -> KernelCode: ...
    @property
    def bodies(self) -> Sequence[ChosenBody]: ...
    def weights(self, by_rows: bool) -> LayerWeights: ...


class ChosenBody(Protocol):
    """A planned body of a branch or loop."""

    @property
    def program(self) -> Program: ...
    @property
    def selections(self) -> Mapping[Node, Chosen]: ...


@dataclass(frozen=True)
class Layers:
    """The body of a bundle: steps, the arrays that they read, the headers that they need.

    `code_regions` says by step where its code goes, "" where code goes anyway.
    """

    functions: tuple[FunctionView, ...]
    steps: tuple[StepView, ...]
    arrays: tuple[ArrayView, ...]
    header_groups: tuple[HeaderGroupView, ...]
    last_code_switch: str
    weights_bytes: tuple[int, ...]
    code_regions: tuple[str, ...]
    integrity: IntegrityView
    fills: tuple[Fill, ...] = ()
    forms: tuple[str, ...] = ()
    stream: StreamView | None = None
    #: By step: what its `weights_bytes` are.
    parts: tuple[tuple[ConstantPart, ...], ...] = ()
    delegates: DelegatesView | None = None

    @property
    def constant_bytes(self) -> int:
        """Weights, and what states begin as."""
        initial = self.stream.initial_bytes if self.stream is not None else 0
        return sum(self.weights_bytes) + initial

    @property
    def headers(self) -> tuple[str, ...]:
        """All that are included."""
        return tuple(header for group in self.header_groups for header in group.headers)


def buffer_symbols(program: Program) -> dict[Buffer, str]:
    """An offset constant a root buffer: `AT_IN0`, `AT_3_CONV_2D`, …: the step that makes it.

    What stays outside the arena has the name of the argument that points to it.
    """
    made: dict[Buffer, str] = {}
    names = parameter_names(program.inputs, "input")
    for number, (buffer, name) in enumerate(zip(program.inputs, names, strict=True)):
        symbol = name if buffer.external else f"AT_IN{number}"
        made.setdefault(program.root(buffer)[0], symbol)
    for item in program.steps:
        if (
            isinstance(item, Cascade)
            and item.input_stage is not None
            and program.streamed_input is not None
        ):
            made[program.streamed_input.counter] = "AT_ROWS_PUSHED"
            made[item.stages[item.input_stage].result] = made[program.streamed_input.buffer]
    for number, state in enumerate(program.states):
        made.setdefault(program.root(state.buffer)[0], f"AT_STATE{number}")
    if program.mark is not None:
        made[program.mark] = MARK
    if program.meetings is not None:
        made[program.meetings] = MEETINGS
    for step, run in enumerate(program.runs):
        for number, buffer in enumerate(run.outputs):
            suffix = f"_{number}" if len(run.outputs) > 1 else ""
            name = f"AT_{step}_{c_identifier(run.node.op.name).upper()}{suffix}"
            made.setdefault(program.root(buffer)[0], name)
        if run.scratch is not None:
            made.setdefault(run.scratch, f"AT_{step}_SCRATCH")
        if run.division is not None:
            for buffer in run.division.memory:
                is_stash = buffer is run.division.stash
                made[buffer] = f"AT_{step}_{'STASH' if is_stash else 'SCRATCH_1'}"
    return made


def buffer_views(program: Program) -> tuple[BufferView, ...]:
    """The arena map, by offset."""
    symbols = buffer_symbols(program)
    scratch = {run.scratch: f"scratch of step {step}" for step, run in enumerate(program.runs)}
    views = [
        BufferView(
            symbols[buffer],
            program.offsets[buffer],
            buffer.size_bytes,
            *program.layers_of(life),
            comment_text(f"{buffer.type} {scratch.get(buffer, buffer.name)}", 60),
        )
        for buffer, life in program.lives.items()
    ]
    return tuple(sorted(views, key=lambda view: (view.offset, view.first)))


def layers(
    program: Program,
    chosen: Mapping[Node, Chosen],
    name: str,
    instrument: Instrument = Instrument.OFF,
    places: Places | None = None,
    in_parts: bool = False,
    weights: Weights = Weights.LINKED,
    sized: SizedProgram | None = None,
) -> Layers:
    """Steps, constants and headers of the whole program; cascades may be done `in_parts`."""
    body = _Body(program, chosen, name, instrument, places or Places(), in_parts, weights)
    if sized is not None:
        symbols = {at: buffer_symbols(program) for at, program in sized.programs.items()}
        body.sized = SizedSteps(sized, symbols, body.pool)
    return body.layers()


class _Body:
    """Collects what the steps need, in order."""

    def __init__(
        self,
        program: Program,
        chosen: Mapping[Node, Chosen],
        name: str,
        instrument: Instrument,
        places: Places,
        in_parts: bool,
        weights: Weights,
    ) -> None:
        self.program, self.chosen, self.name = program, chosen, name
        self.instrument, self.in_parts = instrument, in_parts
        self.symbols = buffer_symbols(program)
        self.functions = SharedFunctions(places.code)
        self.pool = ConstantPool(name, places.weights, weights, self.functions)
        self.default = places.code
        count = len(program.runs)
        placed = replace(places, layer_code=places.layer_code or (places.code,) * count)
        self.regions = code_regions(program, placed)
        self.steps: list[StepView] = []
        self.sizes: list[int] = []
        self.headers: dict[str, str] = {}
        if program.meetings is not None:
            apart = program.line_bytes > 1
            self.headers["glowmcu_cores_apart.h" if apart else "glowmcu_cores.h"] = places.code
        #: By header: the macro where it is not there.
        self.headers_unless: dict[str, str] = {}
        self.delegates = Regions()
        self.checked: list[Checked] = []
        self.fills: list[Fill] = []
        self.forms: list[str] = []
        self.sized: SizedSteps | None = None
        self.meetings = Meetings(program, f"{name.upper()}_ARENA_BYTES")

    def layers(self) -> Layers:
        """The body, once all steps are in."""
        for item in self.program.steps:
            if isinstance(item, Cascade):
                self._add_cascade(item)
            elif item.division is not None:
                self._add_shared(item, self.chosen[item.node].code)
            else:
                self._add(item, self.chosen[item.node].code, is_called=True)
                self.meetings.whole(item)
        stream = stream_view(self.program, self.symbols, self.name)
        for state in stream.states if stream else ():
            if state.array is not None:
                self.checked.append(checked_array(state.array.symbol, state.array))
                self.forms.append(state.array.rows)
        stand_in = [item for item in self.headers if self.headers_unless.get(item)]
        for header in stand_in:
            del self.headers[header]
        arrays = [checked_array(symbol, array) for symbol, array in self.pool.arrays()]
        headers = libjit_closure(tuple(self.headers)).values()
        tables = [table for text in headers for table in checked_tables(text)]
        # What stands in for an accelerator is not there beside it.
        self.checked += checked_parts(self.functions.always_there())
        if self.pool.weights is Weights.POINTER:
            # A blob has a sum of its own, and with it the numbers of parameters.
            arrays = []
            self.checked = [item for item in self.checked if not is_parameter(item)]
        integrity = integrity_view((*arrays, *tables, *self.checked))
        learns = any(rate.argument for rate in self.program.rates)
        if not integrity.is_empty or self.pool.weights is Weights.POINTER or learns:
            self.headers["glowmcu_check.h"] = self.default
        switch = CodeSwitch(self.name)
        groups = header_groups(switch, self.headers, self.default)
        functions = self.functions.views(switch)
        steps = placed_steps(switch, self.steps, self.regions)
        last = switch.to(self.default)
        sizes = tuple(self.sizes)
        views = self.pool.views()
        return Layers(
            functions, steps, views, groups, last, sizes, self.regions, integrity,
            tuple(self.fills), tuple(self.forms), stream,
            tuple(map(self.pool.parts, range(len(sizes)))), self.delegates.view(stand_in),
        )  # fmt: skip

    def _add(self, run: Run, code: KernelCode, is_called: bool) -> LayerText:
        index, before = len(self.steps), self.pool.size_bytes
        code = self._with_bodies(run, self.chosen[run.node], code, index, str(index))
        layer = LayerText(self.program, self.symbols, self.pool, index, run, code)
        with self.pool.read_by_device(code.operand_align if code.can_fail else 1):
            step = layer.view(is_called)
        region = self.regions[index]
        step = step if self.sized is None else self.sized.step(step)
        is_apart = is_called and region != self.default and not code.can_fail
        step = called_apart(step) if is_apart else step
        self.steps.append(with_prefetches(step, layer, self.chosen) if is_called else step)
        self._note(layer, region)
        self.sizes.append(self.pool.size_bytes - before)
        return layer

    def _add_shared(self, run: Run, code: KernelCode) -> None:
        """A layer that two cores share; its pieces may be layers of their own."""
        assert run.division is not None
        index, before = len(self.steps), self.pool.size_bytes
        layer = LayerText(self.program, self.symbols, self.pool, index, run, code)
        found = piece_runs(run, run.division)
        program = with_pieces(self.program, [view for _, _, view in found])
        pieces = [
            LayerText(
                program, self.symbols, self.pool, index, piece, run.division.codes[key],
                f"{index}p{number}",
            )
            for number, (key, piece, _) in enumerate(found)
        ]  # fmt: skip
        shared = shared_text(layer, pieces, self.meetings)
        step = layer.view(is_called=False, definition=shared.definition)
        self.steps.append(replace(step, call=shared.call, help=shared.help, is_one_call=True))
        for part in pieces or [layer]:
            self._note(part, self.regions[index])
        self.sizes.append(self.pool.size_bytes - before)

    def _note(self, layer: LayerText, region: str, unless: str = "") -> None:
        """What the bundle needs for a layer beside its call; nothing of it where `unless` is
        defined.
        """
        code = layer.code
        self.checked += [] if unless else layer.checked()
        if self.pool.weights is Weights.POINTER:
            self.fills += layer.fills()
            self.forms.append(layer.form)
        if code.is_shared:
            self.functions.add(code, region, unless)
        for header in (code.header, *code.view.get("headers", ()), layer.staged_header):
            self.headers_unless[header] = unless and self.headers_unless.get(header, unless)
            if header and self.headers.get(header, self.default) == self.default:
                self.headers[header] = region

    def _with_bodies(
        self, run: Run, chosen: Chosen, code: KernelCode, index: int, label: str
    ) -> KernelCode:
        """The code of layer `label`, part of step `index`, with what its bodies are in C."""
        if not chosen.bodies:
            return code
        if isinstance(run.node.op, Delegate):
            return self.delegates.with_region(
                run, run.node.op, chosen.bodies[0], code, Place(self.pool, index, label),
                lambda layer, unless: self._note(layer, self.regions[index], unless),
            )  # fmt: skip
        views, named = [], []
        words = ("then", "else") if isinstance(run.node.op, If) else ("trip",)
        for word, body in zip(words, chosen.bodies, strict=True):
            inner = f"{label}{word[0]}"
            names = body_arguments(run.node)
            symbols = body_symbols(body.program, inner, names)
            layers = [
                self._inner_layer(body, symbols, each, index, f"{inner}{number}")
                for number, each in enumerate(body.program.runs)
            ]
            function, name = f"{word}_{label}", f"{run.node.name}/{word}"
            views.append(body_view(body.program, symbols, function, name, layers))
            named.append(symbols)
        programs = [body.program for body in chosen.bodies]
        return replace(code, view={"around": around_view(run, programs, named, views)})

    def _inner_layer(
        self, body: ChosenBody, symbols: dict[Buffer, str], run: Run, index: int, label: str
    ) -> InnerView:
        chosen = body.selections[run.node]
        code = self._with_bodies(run, chosen, chosen.code, index, label)
        layer = LayerText(body.program, symbols, self.pool, index, run, code, label)
        self._note(layer, self.regions[index])
        view = layer.view()
        return InnerView(view.comment, view.definition, view.summary, view.call)

    def _add_cascade(self, item: Cascade) -> None:
        self.meetings.whole(item)
        first = len(self.steps)
        region = self.regions[first]
        order = bytes(item.order) if len(item.stages) > 1 else b""
        self.checked.append(CheckedBytes(order_symbol(first), 1, order))
        texts = {
            run: self._add(run, self.chosen[run.node].row_code, is_called=False)
            for run in item.runs
        }
        self.headers.setdefault("glowmcu_ring.h", region)
        rows = cascade_text(item, texts, first, self.instrument, self.in_parts)
        self.forms.append(rows.definition)
        takes_rows = item.input_stage is not None
        call = f"    {rows.call};"
        self.steps[first] = replace(self.steps[first], call=call, takes_rows=takes_rows)
        if self.in_parts:
            part_call = f"        {rows.part_call};"
            self.steps[first] = replace(
                self.steps[first], turns=len(item.order), part_call=part_call
            )
        definition = f"{self.steps[-1].definition}\n\n{rows.definition}".strip()
        self.steps[-1] = replace(self.steps[-1], definition=definition)
