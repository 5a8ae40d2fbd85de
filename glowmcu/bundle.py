"""A bundle on disk: what it is, what it costs, and running it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from glowmcu.argument_types import arguments_checked
from glowmcu.board import Board, find_board
from glowmcu.cores import core
from glowmcu.errors import error
from glowmcu.goals import PlanPoint
from glowmcu.labels import labels_text
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import LayerEntry, Manifest, TensorEntry, read_manifest
from glowmcu.notebook import Card, Column, Shown
from glowmcu.number_text import count, counted
from glowmcu.session import Session, inputs_in_order, real_outputs, stored_inputs
from glowmcu.verify import toolchain
from glowmcu.verify.text_size import text_sizes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from glowmcu.option_words import CoreName, Where
    from glowmcu.verify.measurement import Array, Measurement


_LAYER_COLUMNS = (
    Column("step", "index", "count"), Column("operator", "op"), Column("kernel", "kernel"),
    Column("MACs", "macs", "count"), Column("weights B", "weights_bytes", "count"),
    Column("scratch B", "scratch_bytes", "count"), Column("layer", "name"),
)  # fmt: skip


@dataclass(frozen=True)
class Report(Shown):
    """Sizes in bytes; `macs` are multiply-accumulates of one inference. `code_bytes` (.text) is
    None if no cross compiler is installed. No plan is below `arena_lower_bound_bytes`.

    >>> bundle = glowmcu.compile("digits_int8.tflite", board="nrf52", output="build/digits")
    >>> bundle.report.arena_bytes, bundle.report.macs, bundle.report.inputs[0].shape
    (1216, 57728, (1, 8, 8, 1))
    """

    arena_bytes: int
    arena_lower_bound_bytes: int
    arena_optimal: bool
    weights_bytes: int
    code_bytes: int | None
    macs: int
    inputs: tuple[TensorEntry, ...]
    outputs: tuple[TensorEntry, ...]
    layers: tuple[LayerEntry, ...]

    def _card(self) -> Card:
        proof = "optimal" if self.arena_optimal else "not proved optimal"
        bound = f"lower bound {count(self.arena_lower_bound_bytes)} B, {proof}"
        tensors = [("input", entry) for entry in self.inputs]
        tensors += [("output", entry) for entry in self.outputs]
        facts = (
            ("arena", f"{count(self.arena_bytes)} B, {bound}"),
            ("weights", f"{count(self.weights_bytes)} B"),
            ("code", "not measured" if self.code_bytes is None else f"{count(self.code_bytes)} B"),
            ("compute", f"{count(self.macs)} MACs in {counted(len(self.layers), 'step')}"),
            *((role, _tensor_text(entry)) for role, entry in tensors),
        )
        records = [asdict(layer) for layer in self.layers]
        return Card("Memory and work", facts, _LAYER_COLUMNS, records)


@dataclass(frozen=True)
class KernelOption:
    """A kernel that can compute a layer, and its estimated cost for one inference.

    `code_bytes` count once for all layers with the same `function` (empty: the layer's own).
    """

    kernel: str
    cycles: int
    code_bytes: int
    flash_bytes: int
    scratch_bytes: int
    function: str = ""


@dataclass(frozen=True)
class LayerChoice:
    """The kernel of the layer `index` and what else was possible, the fewest cycles first."""

    index: int
    name: str
    op: str
    chosen: KernelOption
    others: tuple[KernelOption, ...]


@dataclass(frozen=True)
class MemoryPass:
    """Bytes of the arena before and after a planning pass; `note` says what was done or proved."""

    name: str
    before_bytes: int
    after_bytes: int
    note: str


@dataclass(frozen=True)
class Bundle(Shown):
    """The bundle in `path`. Made by `glowmcu.compile` and `glowmcu.load`.

    `known_code` has the bytes of code by region if they were measured; `notes` are sentences of the
    compilation, `choices` the kernels that each layer could have, `curve` other plans if they were
    asked for, `memory_passes` what each pass of memory planning saved; all empty when from disk.

    >>> bundle = glowmcu.compile("digits_int8.tflite", board="nrf52", output="build/digits")
    >>> (scores,) = bundle.run([np.load("seven.npy")])
    >>> int(scores.argmax())
    7
    """

    path: Path
    manifest: Manifest
    board: Board
    known_code: Mapping[str, int] | None = None
    notes: tuple[str, ...] = ()
    choices: tuple[LayerChoice, ...] = ()
    curve: tuple[PlanPoint, ...] = ()
    memory_passes: tuple[MemoryPass, ...] = ()

    @cached_property
    def code_by_region(self) -> Mapping[str, int] | None:
        """Bytes of .text by region, as the function `code_by_region` counts them."""
        if self.known_code is not None:
            return self.known_code
        return code_by_region(self.path, self.manifest, self.board)

    @property
    def missing_compiler(self) -> str | None:
        """The cross compiler to install before code can be measured; None if it is there."""
        return toolchain.missing_for(core(self.board.core))

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes, in their order; empty if no file or argument had them.

        >>> glowmcu.load("build/digits").labels
        ()
        """
        return self.manifest.labels

    @property
    def categories(self) -> tuple[str, ...]:
        """Strings that inputs may be, each at the number that the bundle knows it by; `run` and
        `measure` take the strings.

        >>> glowmcu.load("build/digits").categories
        ()
        """
        return self.manifest.categories

    @cached_property
    def report(self) -> Report:
        """Bytes of arena, weights and code, and the layers."""
        return self._report(self.code_by_region)

    def _report(self, code: Mapping[str, int] | None) -> Report:
        manifest = self.manifest
        return Report(
            manifest.arena_bytes,
            manifest.arena_lower_bound_bytes,
            manifest.arena_optimal,
            manifest.weights_bytes,
            None if code is None else sum(code.values()),
            manifest.macs,
            manifest.inputs,
            manifest.outputs,
            manifest.layers,
        )

    def _card(self) -> Card:
        # To be looked at is no reason to call a compiler.
        shown = self._report(self.known_code)._card()
        title = f"{self.manifest.name} for {self.board.title} ({self.board.core})"
        facts = [("folder", str(self.path)), *shown.facts]
        cycles = self.manifest.costs.cycles_estimate
        if cycles is not None:
            facts.append(("time", f"about {count(cycles)} cycles, estimated without wait states"))
        if self.labels:
            facts.append(("classes", labels_text(self.labels)))
        return replace(shown, title=title, facts=tuple(facts), notes=self.notes)

    @arguments_checked
    def run(
        self, inputs: Sequence[ArrayLike] | Mapping[str, ArrayLike], real: bool = False
    ) -> list[Array]:
        """Outputs of the generated C on this computer, in model order.

        `inputs` are stored values in model order, or by name, of the shapes and dtypes of
        `report.inputs`. With `real` they are real numbers instead, and so are the outputs
        (float32): `quantize` and `dequantize` are done here. Raises GM602 without a C compiler,
        GM603 if it fails, GM604 for other names, shapes and types, GM620 for damaged constants,
        GM628 for NaN.

        >>> bundle = glowmcu.load("build/digits")
        >>> (scores,) = bundle.run([np.load("seven.npy")])
        >>> pixels = bundle.dequantize("pixels", np.load("seven.npy"))
        >>> (probabilities,) = bundle.run([pixels], real=True)
        >>> scores.dtype, probabilities.dtype, int(probabilities.argmax())
        (dtype('int8'), dtype('float32'), 7)
        """
        return list(self.measure(inputs, on="host", real=real).outputs)

    @arguments_checked
    def measure(
        self,
        inputs: Sequence[ArrayLike] | Mapping[str, ArrayLike],
        on: Where = "cortex-m",
        core: CoreName | None = None,
        wait_states: int = 0,
        real: bool = False,
        board_memory: bool = False,
    ) -> Measurement:
        """One inference on an executor: outputs, instructions, cycles, stack (bytes), or None.

        `core` replaces the board's; `wait_states` are the flash's in the model of `cortex-m`; with
        `board_memory` it replays the board's memories, too: `board_cycles`. `inputs` and `real`
        are as for `run`. Raises GM604, GM606 for an unknown executor, GM6xx if it cannot run.

        >>> bundle = glowmcu.load("build/digits", board="nrf52")
        >>> measured = bundle.measure([np.load("seven.npy")], on="cortex-m")
        >>> measured.cycles > measured.instructions > 0, measured.stack_bytes < 1000
        (True, True)
        """
        return self.measure_all([inputs], on, core, wait_states, real, board_memory)[0]

    @arguments_checked
    def session(self, on: Where = "host", core: CoreName | None = None) -> Session:
        """A stream of invocations in one arena; with states, each depends on those before it.

        `session.run(inputs)` gives the outputs of the next one, `session.reset()` begins a new
        stream. On `qemu`, `renode` and boards every run repeats the stream from its beginning.
        Raises GM606 for an unknown executor, GM6xx if it cannot run.

        >>> session = glowmcu.load("build/digits").session(on="host")
        >>> outputs = [session.run([np.load("seven.npy")]) for _ in range(3)]
        """
        from glowmcu.verify.executors import executor
        from glowmcu.verify.measurement import Replay

        found = executor(on, self.board, core, count=False)
        begin = getattr(found, "session", None)
        steps = begin(self.path) if begin is not None else Replay(found, self.path)
        return Session(steps, self.manifest)

    @arguments_checked
    def measure_all(
        self,
        inputs: Sequence[Sequence[ArrayLike] | Mapping[str, ArrayLike]],
        on: Where = "cortex-m",
        core: CoreName | None = None,
        wait_states: int = 0,
        real: bool = False,
        board_memory: bool = False,
    ) -> list[Measurement]:
        """As `measure`, for many input sets in order; the bundle is built once.

        >>> bundle = glowmcu.load("build/digits")
        >>> runs = bundle.measure_all([[np.load("seven.npy")]] * 4, on="host")
        >>> len(runs)
        4
        """
        from glowmcu.verify.executors import executor

        ordered = [inputs_in_order(self.manifest, arrays) for arrays in inputs]
        given = [stored_inputs(self.manifest, arrays, real) for arrays in ordered]
        place = executor(on, self.board, core, wait_states, board_memory=board_memory)
        found = place.run(self.path, given)
        pairs = zip(found, ordered, strict=True)
        return [real_outputs(self.manifest, each, len(arrays), real) for each, arrays in pairs]

    @arguments_checked
    def quantize(self, name: str, real: ArrayLike) -> Array:
        """Real numbers as the input (or output) `name` stores them, in the same shape: round(real /
        scale) + zero_point, halves away from zero, saturated. Raises GM628 for NaN, GM629.

        >>> glowmcu.load("build/digits").quantize("pixels", [0.0, 0.5, 1.0, 2.0])
        array([-128,   -1,  127,  127], dtype=int8)
        """
        from glowmcu.real_units import stored_values

        return stored_values(self._tensor(name, inputs_first=True), real, self.manifest.name)

    @arguments_checked
    def dequantize(self, name: str, stored: ArrayLike) -> Array:
        """What stored values of the output (or input) `name` stand for, float32: scale * (stored -
        zero_point); a tensor without a scale stores what it means. Raises GM629.

        >>> glowmcu.load("build/digits").dequantize("scores", [-128, 0, 127]).tolist()
        [0.0, 0.5, 0.99609375]
        """
        import numpy as np

        from glowmcu.real_units import real_values

        return real_values(self._tensor(name, inputs_first=False), np.asarray(stored))

    def _tensor(self, name: str, inputs_first: bool) -> TensorEntry:
        sides = (self.manifest.inputs, self.manifest.outputs)
        entries = [entry for side in sides[:: 1 if inputs_first else -1] for entry in side]
        for entry in entries:
            if entry.name == name:
                return entry
        names = ", ".join(repr(entry.name) for entry in entries)
        raise error("GM629", f"no input or output is called {name!r}", self.manifest.name,
                    f"there are {names}")  # fmt: skip


@arguments_checked
def load(path: str | Path, board: str | None = None) -> Bundle:
    """The bundle in the folder `path`. Raises GM601 when there is none.

    `board` (a name, or a path to a TOML file) replaces the one that it was compiled for; a board
    that exists only as a file of the user's has to be named again here.

    >>> bundle = glowmcu.load("build/digits")
    >>> bundle.manifest.name
    'digits_int8'
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    return Bundle(folder, manifest, find_board(manifest.board if board is None else board))


def _tensor_text(entry: TensorEntry) -> str:
    text = f"{entry.name}  {entry.dtype}[{'x'.join(map(str, entry.shape))}]"
    if entry.scale is None:
        return text
    return f"{text} scale {entry.scale:.6g} zp {entry.zero_point or 0}"


def code_by_region(folder: Path, manifest: Manifest, board: Board) -> dict[str, int] | None:
    """Bytes of code and of layers' parameters at the board's flags and -O2, by the region that code
    was placed in ("" where it goes anyway), or None without a cross compiler.
    """
    flags = core(board.core).flags
    if toolchain.missing_for(core(board.core)) is not None:
        return None
    placed = [entry for entry in manifest.placement if entry.what == "code" and entry.section]
    text_bytes, placed_bytes = text_sizes(
        folder, manifest.name, flags, manifest.functions, manifest.weights_bytes,
        [entry.section for entry in placed],
    )  # fmt: skip
    regions = {entry.region: size for entry, size in zip(placed, placed_bytes, strict=True)}
    return {"": text_bytes - sum(regions.values()), **regions}
