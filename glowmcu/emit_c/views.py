"""What the templates read: frozen objects with every number and name already computed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from glowmcu.emit_c.array_text import array_rows, row_pieces
from glowmcu.emit_c.contract import HeaderCheck
from glowmcu.emit_c.integrity import IntegrityView
from glowmcu.emit_c.output_checks import CRC, CheckView
from glowmcu.emit_c.placement_text import PlacementView, SectionView
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from glowmcu.emit_c.category_views import CategoryView
    from glowmcu.emit_c.costs_view import CostsView
    from glowmcu.emit_c.delegate_text import DelegatesView
    from glowmcu.emit_c.golden_text import VectorView
    from glowmcu.emit_c.learning_view import LearningView
    from glowmcu.emit_c.shared_functions import FunctionView
    from glowmcu.emit_c.size_view import SizeView
    from glowmcu.emit_c.stages_view import StagesView
    from glowmcu.emit_c.steps_view import RunStepsView
    from glowmcu.emit_c.stream_view import StreamView
    from glowmcu.emit_c.weights_blob import BlobView

#: C has no empty arrays.
_NO_ELEMENTS = "    0"


@dataclass(frozen=True)
class RowsView:
    """Rows of an input that is pushed: `read` of `count` are read by anyone; `type` of one row."""

    count: int
    read: int
    bytes: int
    length: int
    description: str


@dataclass(frozen=True)
class TensorView:
    """An input or output of the bundle; one with `rows` has no place in the arena.

    `accessor` is `kws_input` or `kws_input_mfcc`, `macro` `KWS_INPUT` or `KWS_INPUT_MFCC`;
    `parameter` its name as an argument of `kws_infer`. An input that stays outside the arena has
    no `offset`, but the alignment `outside_align`. `stored_range` is of elements of two bytes or
    less. `length_at` is C for the number of elements where a run is given the size `(t)`.
    """

    accessor: str
    macro: str
    parameter: str
    source_name: str
    c_string: str
    description: str
    shape: tuple[int, ...]
    element: str
    fill: str
    c_type: str
    element_count: int
    size_bytes: int
    offset: int | None
    outside_align: int
    scale: str | None
    zero_point: int | None
    kept: bool
    rows: RowsView | None = None
    stored_range: tuple[int, int] | None = None
    length_at: str = ""

    @property
    def is_converted(self) -> bool:
        """Whether the header has functions from real numbers and to them."""
        return self.scale is not None and self.stored_range is not None


@dataclass(frozen=True)
class BufferView:
    """A line of the arena map and its offset constant."""

    symbol: str
    offset: int
    size_bytes: int
    first: int
    last: int
    description: str


@dataclass(frozen=True)
class ArrayView:
    """A constant array, in flash unless its section says otherwise. Where the macro `unless` is
    defined, nothing reads it, and it is not there.
    """

    symbol: str
    c_type: str
    count: int
    data: Array = field(repr=False, compare=False)
    comment: str
    size_bytes: int
    align: int
    section_macro: str
    region: str
    unless: str = ""

    @property
    def rows(self) -> str:
        """The elements as C prints them."""
        return array_rows(self.data) if self.data.size else _NO_ELEMENTS

    @property
    def mark(self) -> str:
        """What stands for the rows in an outline (`Texts`)."""
        return f"\x03{self.symbol}\x03"

    def row_pieces(self) -> Iterable[bytes]:
        """The rows piece by piece, made anew."""
        if self.data.size and self.data.dtype.kind != "f":
            return row_pieces(self.data)
        return (self._kept_rows,)

    @cached_property
    def _kept_rows(self) -> bytes:
        """Floats take long to print."""
        return self.rows.encode("ascii")


@dataclass(frozen=True)
class ResultView:
    """A tensor that a step makes, as an initializer of `glowmcu_tensor`."""

    c_string: str
    shape: tuple[int, ...]
    element: str
    scale: str
    zero_point: int
    offset: int
    size_bytes: int


@dataclass(frozen=True)
class StepView:
    """A layer: the comment above its constants, the constants' text, its call in `<name>_run`.

    For an observer: what names it, what it makes, and `shown`, the lines that show that;
    `is_one_call`: not a row at a time. `takes_rows`: the call waits for rows from the application.
    `code_switch` are the lines before it that put its code into another section. A cascade that may
    be done in parts has `turns`, and in `part_call` the call of those from `{done}` to `{next}`.
    `sized_bytes` are what it takes of the stack for a size that the run is given. `help` is what a
    second core does of it.
    """

    index: int
    comment: tuple[str, ...]
    definition: str
    call: str
    summary: str
    c_string: str
    op: str
    kernel: str
    macs: int
    results: tuple[ResultView, ...]
    shown: tuple[str, ...]
    is_one_call: bool
    takes_rows: bool = False
    code_switch: str = ""
    turns: int = 0
    part_call: str = ""
    sized_bytes: int = 0
    help: str = ""


@dataclass(frozen=True)
class PushView:
    """How rows of input `input` come in: `function` takes them, `counter` is where they are
    counted, from `mark` on; steps run before the first row, and after the last.
    """

    input: TensorView
    number: int
    function: str
    counter: str
    mark: str
    steps_before: tuple[StepView, ...]
    taking: StepView
    steps_after: tuple[StepView, ...]


@dataclass(frozen=True)
class HeaderGroupView:
    """Headers whose functions go to one section."""

    code_switch: str
    headers: tuple[str, ...]


@dataclass(frozen=True)
class BundleView:
    """Everything of a bundle. `pattern_types` are (function, C type, expression) of the
    self test's input patterns; `output_checks` how it compares each output, `check_functions` the
    functions for that, each once; `labels` are literals of C; `packages` (file, what
    to do with it) of each build system; the checks are of libjit headers that the bundle's header,
    source and data description include.
    """

    name: str
    prefix: str
    tool_version: str
    compiler: str
    digest: str
    base_checks: tuple[HeaderCheck, ...]
    kernel_checks: tuple[HeaderCheck, ...]
    model_file: str
    model_sha256: str
    options: tuple[str, ...]
    board: str
    arena_bytes: int
    arena_lower_bound_bytes: int
    arena_align: int
    weights_bytes: int
    macs: int
    extra_macs: int
    #: `double`, `single`, or `mixed` where it depends on the layer.
    rounding: str
    for_size: bool
    is_instrumented: bool
    shows_tensors: bool
    inputs: tuple[TensorView, ...]
    outputs: tuple[TensorView, ...]
    buffers: tuple[BufferView, ...]
    arrays: tuple[ArrayView, ...]
    functions: tuple[FunctionView, ...]
    steps: tuple[StepView, ...]
    header_groups: tuple[HeaderGroupView, ...]
    last_code_switch: str
    vectors: tuple[VectorView, ...]
    pattern_types: tuple[tuple[str, str, str], ...]
    float_tolerance: str
    output_checks: tuple[CheckView, ...]
    check_functions: tuple[CheckView, ...]
    packages: tuple[tuple[str, str], ...]
    placement: PlacementView | None
    integrity: IntegrityView
    has_assembly: bool
    push: PushView | None = None
    run_steps: RunStepsView | None = None
    labels: tuple[str, ...] = ()
    categories: tuple[CategoryView, ...] = ()
    model_checks: tuple[HeaderCheck, ...] = ()
    costs: CostsView | None = None
    blob: BlobView | None = None
    stream: StreamView | None = None
    stages: StagesView | None = None
    learning: LearningView | None = None
    size: SizeView | None = None
    cores: int = 1
    #: Of caches that two cores do not share.
    line_bytes: int = 1
    delegates: DelegatesView | None = None

    @property
    def meetings(self) -> BufferView:
        """Where in the arena two cores count how often they have met."""
        return next(item for item in self.buffers if item.symbol == "AT_MEETINGS")

    @property
    def has_shared_steps(self) -> bool:
        """Whether two cores share any layer."""
        return any(step.help for step in self.steps)

    @property
    def size_parameter(self) -> str:
        """What declares the size as the last parameter of a function, where a run is given one."""
        return f", int32_t {self.size.variable}" if self.size is not None else ""

    @property
    def size_argument(self) -> str:
        """The same if it is handed on."""
        return f", {self.size.variable}" if self.size is not None else ""

    def array(self, tensor: TensorView) -> str:
        """A parameter that is all of an input or output; of a size that is given, its beginning."""
        length = f"[{tensor.macro}_LENGTH]"
        return f"{tensor.parameter}{length}" if self.size is None else f"*{tensor.parameter}"

    def bytes(self, tensor: TensorView, size: int | None = None) -> str:
        """C for what an input or output takes, at `size` if that is known."""
        if self.size is None:
            return f"{tensor.macro}_BYTES"
        return f"{tensor.macro}_BYTES_AT({self.size.variable if size is None else size})"

    @property
    def checked_bytes(self) -> int:
        """Constants that `<name>_check` sums up."""
        return self.integrity.bytes + (self.blob.size_bytes if self.blob is not None else 0)

    @property
    def arena_section(self) -> SectionView | None:
        """Where the arena goes if not where all variables do."""
        return next((item for item in self._sections if item.kind == "arena"), None)

    @property
    def constant_sections(self) -> tuple[SectionView, ...]:
        """Sections of weights and code."""
        return tuple(item for item in self._sections if item.kind != "arena")

    @property
    def _sections(self) -> tuple[SectionView, ...]:
        return self.placement.sections if self.placement is not None else ()

    @property
    def selftest_turns(self) -> tuple[str, ...]:
        """How the self test runs each vector: once more `again`, without the inputs that are kept,
        and in `steps`. Runs of a stream come once each, the second half of them in steps.
        """
        if self.stream is not None:
            return ("once",)
        again = ("again",) if any(tensor.kept for tensor in self.inputs) else ()
        return ("once", *again, *(("steps",) if self.run_steps else ()))

    @property
    def has_large_outputs(self) -> bool:
        """Whether the self test has digests or samples of outputs."""
        return any(check.kind == CRC or check.every > 1 for check in self.output_checks)

    @property
    def inputs_after_run(self) -> str:
        """What the header says about inputs once a run is over."""
        kept = [tensor.parameter for tensor in self.inputs if tensor.kept]
        if not kept:
            return "inputs do not survive the run"
        if len(kept) == len(self.inputs):
            return "inputs survive the run"
        return f"of the inputs only {' and '.join(kept)} survive the run"

    @property
    def converts(self) -> bool:
        """Whether the header converts real numbers for any input or output."""
        return any(view.is_converted for view in (*self.inputs, *self.outputs))

    @property
    def infers(self) -> tuple[tuple[TensorView, ...], tuple[TensorView, ...]]:
        """Inputs and outputs of an inference that does not learn."""
        asked = self.learning.tensors if self.learning is not None else ()
        inputs, outputs = (
            tuple(tensor for tensor in tensors if tensor not in asked)
            for tensors in (self.inputs, self.outputs)
        )
        return inputs, outputs

    @property
    def external(self) -> tuple[TensorView, ...]:
        """Inputs that the application has in memory of its own."""
        return tuple(view for view in self.inputs if view.outside_align)

    @property
    def unread(self) -> tuple[TensorView, ...]:
        """Inputs outside of which no step reads anything: the outputs do not depend on them."""
        calls = "\n".join(step.call for step in self.steps)
        return tuple(t for t in self.external if not re.search(rf"\b{t.parameter}\b", calls))

    @property
    def selftest_call(self) -> str:
        """The call of the self test, as comments and examples show it."""
        arguments = ", ".join(("arena", *(view.parameter for view in self.external)))
        return f"{self.name}_selftest({arguments})"

    @property
    def model_struct(self) -> str:
        """What describes the bundle as data, and the name of the header with it."""
        if self.push is not None:
            return "glowmcu_streamed_model"
        return "glowmcu_outside_model" if self.external else "glowmcu_model"

    @property
    def steps_entry(self) -> str:
        """The function that does some units of one."""
        return f"{self.name}_run_steps_from" if self.external else f"{self.name}_run_steps"

    @property
    def entry(self) -> str:
        """The function that runs one inference."""
        return f"{self.name}_run_from" if self.external else f"{self.name}_run"

    @property
    def tested_entry(self) -> str:
        """The function that does all that a run can, which the self test calls."""
        return self.entry if self.learning is None else f"{self.name}_learn"
