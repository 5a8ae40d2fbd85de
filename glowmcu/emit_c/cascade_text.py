"""A cascade in C: one function with a turn for each row of each stage."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.emit_c.c_text import wrap_call, wrap_items
from glowmcu.emit_c.layer_text import LayerText, external_pointer, typed_pointer
from glowmcu.emit_c.rendering import render
from glowmcu.instrument import Instrument
from glowmcu.ir.cascade import Cascade, RowRun, Stage
from glowmcu.ir.kernel_code import RowCall, RowRule
from glowmcu.ir.program import BUFFER_ALIGN, Buffer, Run
from glowmcu.lazy_dataclass import dataclass

#: Where a run in parts says how far it is.
PROGRESS = "AT_PROGRESS"


@dataclass(frozen=True)
class CallView:
    """A kernel's call for row `y`; `shown` shows an observer what it made."""

    index: int
    summary: str
    text: str
    shown: str


@dataclass(frozen=True)
class StageView:
    """A turn: room for the new row, then the calls; or a copy of the application's row for the
    layer `reader`.
    """

    slide: str
    calls: tuple[CallView, ...]
    copy: str = ""
    reader: int = 0


@dataclass(frozen=True)
class CascadeText:
    """The function, and how it is called: all of it, and of one `in_parts` the turns from `{done}`
    to `{next}`, which count from its own first one on.
    """

    definition: str
    call: str
    part_call: str = ""


def cascade_text(
    cascade: Cascade,
    layers: Mapping[Run, LayerText],
    first: int,
    instrument: Instrument,
    in_parts: bool = False,
) -> CascadeText:
    """`first` is the number of the first layer."""
    last = first + len(cascade.runs) - 1
    function = f"rows_{first}_to_{last}"
    writer = _Writer(cascade, layers)
    parameters = writer.parameters()
    order = wrap_items([str(stage) for stage in cascade.order]).splitlines()
    text = render(
        "bundle/cascade.c.j2",
        function=function,
        parameters="".join(
            f", {c_type}{'' if c_type.endswith('*') else ' '}{name}" for name, c_type in parameters
        ),
        first=first,
        last=last,
        order=order,
        order_symbol=order_symbol(first),
        stages=tuple(map(writer.stage, cascade.stages)),
        turns=len(cascade.order),
        source=cascade.input_stage,
        in_parts=in_parts,
        is_instrumented=instrument is not Instrument.OFF,
        shows_tensors=instrument is Instrument.TENSORS,
        count_type=_count_type(max(stage.rows for stage in cascade.stages)),
    )
    arguments = ", ".join(("a", *(name for name, _ in parameters)))
    if not in_parts:
        return CascadeText(text.rstrip(), f"{function}({arguments})")
    whole, part = f"0, {len(cascade.order)}", "{done}, {next}"
    calls = (f"{function}({arguments}, {turns})" for turns in (whole, part))
    return CascadeText(text.rstrip(), *calls)


def _count_type(most: int) -> str:
    """The smallest type of C for counting so far: the counts stand on the stack."""
    return "uint8_t" if most < 1 << 8 else "uint16_t" if most < 1 << 16 else "int32_t"


def order_symbol(first: int) -> str:
    """Whose turn it is in the cascade that begins with layer `first`, as an array."""
    return f"order_{first}"


class _Writer:
    def __init__(self, cascade: Cascade, layers: Mapping[Run, LayerText]) -> None:
        self.cascade = cascade
        self.layers = layers
        self.indent = 8 if len(cascade.stages) == 1 else 12

    def parameters(self) -> list[tuple[str, str]]:
        """What the function takes beside the arena, with the C types: inputs outside of it, or rows
        that are pushed.
        """
        if self.cascade.input_stage is not None:
            return [("rows", "const int8_t *"), ("before", "int32_t"), ("arrived", "int32_t")]
        layer = next(iter(self.layers.values()))
        roots = dict.fromkeys(layer.program.root(buffer)[0] for buffer in self.cascade.inputs)
        return [
            (layer.symbols[root], f"const {root.type.element.c_name} *")
            for root in roots
            if root.external
        ]

    def stage(self, stage: Stage) -> StageView:
        """What happens when it is the stage's turn."""
        calls = [self._call(stage, item) for item in stage.runs]
        slide = ""
        if stage.result in self.cascade.rings and stage.result.type.shape[1] > 1:
            slide = self._slide(stage.result)
        if stage.input_ring is not None:
            return StageView(
                slide, (), self._copy(stage.input_ring), self._reader(stage.input_ring)
            )
        return StageView(slide, tuple(calls))

    def _copy(self, ring: Buffer) -> str:
        row = row_bytes(ring)
        newest = f" + {ring.size_bytes - row}" if ring.size_bytes > row else ""
        to = f"a + {self._symbol(ring)}{newest}"
        return f"(void)memcpy({to}, rows + (y - before) * {row}, {row});"

    def _reader(self, ring: Buffer) -> int:
        """The first layer that reads a ring: what fills it is counted there."""
        return min(layer.index for run, layer in self.layers.items() if ring in run.inputs)

    def _slide(self, ring: Buffer) -> str:
        row = row_bytes(ring)
        kept = ring.size_bytes - row
        _, inner = next(iter(self.layers.values())).program.root(ring)
        has_words = row % BUFFER_ALIGN == 0 and inner % BUFFER_ALIGN == 0
        name = "glowmcu_ring_next_words" if has_words else "glowmcu_ring_next"
        return f"{name}(a + {self._symbol(ring)}, {row}, {kept});"

    def _symbol(self, buffer: Buffer) -> str:
        layer = next(iter(self.layers.values()))
        root, inner = layer.program.root(buffer)
        return f"{layer.symbols[root]}{f' + {inner}' if inner else ''}"

    def _call(self, stage: Stage, item: RowRun) -> CallView:
        run, layer = item.run, self.layers[item.run]
        arguments = [f"&p_{layer.index}"] if layer.code.parameters else []
        arguments += [
            self._external(buffer, rule)
            or typed_pointer(buffer.type.element, self._operand(buffer, rule), True)
            for buffer, rule in zip(run.inputs, item.rules, strict=True)
        ]
        result = run.outputs[0]
        arguments.append(typed_pointer(result.type.element, self._result(stage, item), False))
        if run.scratch is not None:
            arguments.append(f"a + {self._symbol(run.scratch)}")
        if item.call is not RowCall.WHOLE:
            arguments += ["y", "y + 1"]
        elif layer.code.rows:
            arguments += ["0", str(layer.code.rows)]
        text = wrap_call(layer.function, arguments, self.indent)
        return CallView(layer.index, layer.summary, text, self._shown(stage, item))

    def _shown(self, stage: Stage, item: RowRun) -> str:
        """Row y of the whole tensor; a sum over rows when it is done."""
        layer = self.layers[item.run]
        whole = item.run.node.signature.output.size_bytes
        sums = item.call is RowCall.ACCUMULATE
        first, size = ("0", whole) if sums else (f"y * {whole // stage.rows}", whole // stage.rows)
        arguments = [str(layer.index), "0", self._result(stage, item), first, str(size)]
        if not sums:
            return wrap_call("show_tensor", arguments, self.indent)
        margin = " " * self.indent
        shown = wrap_call("show_tensor", arguments, self.indent + 4)
        return f"{margin}if (y == {item.rules[0].rows - 1}) {{\n{shown}\n{margin}}}"

    def _external(self, buffer: Buffer, rule: RowRule) -> str:
        """The same of an argument; empty for what lies in the arena."""
        layer = next(iter(self.layers.values()))
        root, inner = layer.program.root(buffer)
        if not root.external:
            return ""
        pointer = external_pointer(buffer, layer.symbols[root], root, inner)
        return f"{pointer} + {_first_row(rule)} * {buffer.type.element_count // rule.rows}"

    def _operand(self, buffer: Buffer, rule: RowRule) -> str:
        """The first of the rows that row y needs."""
        symbol = f"a + {self._symbol(buffer)}"
        first = _first_row(rule)
        if buffer in self.cascade.rings:
            made = f"made[{self.cascade.rings[buffer]}]"
            rows = buffer.type.shape[1]
            if rows == 1:
                return symbol
            return f"{symbol} + ({rows} - {made} + {first}) * {row_bytes(buffer)}"
        if buffer in self.cascade.inputs:
            return f"{symbol} + {first} * {buffer.size_bytes // rule.rows}"
        return symbol

    def _result(self, stage: Stage, item: RowRun) -> str:
        """Where row y goes."""
        result = item.run.outputs[0]
        symbol = f"a + {self._symbol(result)}"
        if result in self.cascade.rings and result.type.shape[1] > 1:
            return f"{symbol} + {result.size_bytes - row_bytes(result)}"
        if result in self.cascade.outputs and item.call is not RowCall.ACCUMULATE:
            return f"{symbol} + y * {self.cascade.result_row(stage, 1)[0]}"
        return symbol


def _first_row(rule: RowRule) -> str:
    if (rule.stride, rule.before) == (1, 0):
        return "y"
    return f"glowmcu_row_under(y, {rule.stride}, {rule.before})"


def row_bytes(ring: Buffer) -> int:
    """Bytes of one of its rows."""
    return ring.size_bytes // ring.type.shape[1]
