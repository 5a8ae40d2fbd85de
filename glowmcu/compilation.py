"""What a compilation is asked for, what it works on and what it makes, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from glowmcu.board import PlacementRequest, Places
from glowmcu.custom_c import custom_text
from glowmcu.delegated import DelegationNotes
from glowmcu.emit_c.packages.package import Packaging
from glowmcu.errors import error
from glowmcu.frontend.state_pairs import PAIRS
from glowmcu.goals import Budgets, Goal, PlanPoint
from glowmcu.input_options import InputOptions, bound_text
from glowmcu.instrument import Instrument
from glowmcu.interface_options import InterfaceOptions
from glowmcu.ir.dump import IrDump
from glowmcu.ir.exactness import computes_in_float
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Rounding
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.kernels.selection.select import Selection, code_bytes
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest, PipelineEntry
from glowmcu.memplan.planner import Plan
from glowmcu.name_lists import names_text, pairs_text
from glowmcu.planning_progress import PlanningObserver
from glowmcu.quality import QualityEntry
from glowmcu.simplified import SimplificationEntry
from glowmcu.slides import slides_text

if TYPE_CHECKING:
    from glowmcu.open_size.graphs import OpenGraphs
    from glowmcu.quant.request import QuantizationRequest, QuantizedModel


@dataclass(frozen=True)
class Options:
    """What the user asked for. Without `quantization` a float model stays float."""

    name: str
    board: str = "generic"
    core: str = "generic"
    goal: Goal = Goal.BALANCED
    rounding: Rounding = Rounding.DOUBLE
    inputs: InputOptions = field(default_factory=InputOptions)
    quantization: QuantizationRequest | None = None
    budgets: Budgets = field(default_factory=Budgets)
    kernels: KernelChoices | None = None
    simplify: bool = True
    instrument: Instrument = Instrument.OFF
    dump_ir: Path | None = None
    dump_constants: bool = False
    wants_curve: bool = False
    packaging: Packaging = field(default_factory=Packaging)
    placement: PlacementRequest = field(default_factory=PlacementRequest)
    interface: InterfaceOptions = field(default_factory=InterfaceOptions)
    #: Who is told how far planning has come; what is compiled does not depend on it.
    planning_observer: PlanningObserver | None = None


@dataclass(frozen=True)
class Compilation:
    """Everything that a compilation made, from graph to files. `notes` says what was taken for
    granted or skipped.

    `imported` is what the bundle's numbers are defined by: the model as imported, or quantized.
    Then `float_graph` is what was quantized; `quantization_notes` say what of it stayed as it was,
    and why.
    """

    imported: Graph
    graph: Graph
    selections: Mapping[Node, Selection]
    plan: Plan
    files: Mapping[str, str]
    manifest: Manifest
    notes: tuple[str, ...] = ()
    estimated_cycles: float = 0.0
    curve: tuple[PlanPoint, ...] = ()
    float_graph: Graph | None = None
    quantization_notes: tuple[str, ...] = ()
    places: Places = field(default_factory=Places)

    @property
    def is_float(self) -> bool:
        """Whether anything but the border to the application is computed in float."""
        return any(map(computes_in_float, self.imported.nodes))

    @property
    def estimated_code_bytes(self) -> int:
        """Code size by the kernels' own estimates: every shared function once."""
        return code_bytes(self.selections.values())


@dataclass(frozen=True)
class Prepared:
    """A model between its file and its kernels: `imported` is what its numbers are defined by,
    `lowered` what kernels are chosen for. `said` are options that the bundle names besides.
    """

    model_file: str
    model_sha256: str
    imported: Graph
    lowered: Graph
    dump: IrDump
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    simplification: SimplificationEntry | None = None
    external: frozenset[Value] = frozenset()
    quantized: QuantizedModel | None = None
    pipeline: PipelineEntry | None = None
    said: dict[str, str] = field(default_factory=dict)
    quality: tuple[QualityEntry, ...] = ()
    #: Where each run is given a size: `lowered` at all of them.
    sizes: OpenGraphs | None = None
    #: Of a model that learns: the same without that, for what learning costs.
    inference: Prepared | None = None
    #: What an accelerator computes of `lowered`, where one was asked for.
    delegation: DelegationNotes | None = None


def options_text(options: Options, imported: Graph) -> dict[str, str]:
    """What the bundle says about how it was made; what is not used is not named."""
    symbols = [f"{name}={size}" for name, size in sorted(options.inputs.symbols.items())]
    ranged = options.inputs.open_size
    if ranged is not None:
        symbols = [str(ranged), *(t for t in symbols if not t.startswith(f"{ranged.symbol}="))]
    placed = [
        what if what == region else f"{what}={region}"
        for what, region in options.placement.rules.items()
    ]
    text = {
        "optimize": options.goal.value,
        "rounding": options.rounding.value,
        "simplify": "" if options.simplify else "no",
        "instrument": "" if options.instrument is Instrument.OFF else options.instrument.value,
        "define": ",".join(symbols),
        "bind": bound_text(options.inputs.bind),
        "custom": custom_text(options.inputs.custom),
        "keep_input": names_text(options.inputs.kept),
        "stream_input": names_text(dict.fromkeys(options.inputs.streamed)),
        "place": ",".join(placed),
        "border": options.inputs.io,
        "layout_nhwc": names_text(options.inputs.nhwc),
        "slide": slides_text(options.inputs.slides),
        "camera": pairs_text(options.inputs.cameras),
        "slide_layers": _number(options.inputs.slide_layers),
        "outside_input": names_text(sorted(options.inputs.external)),
        "flash_budget": str(options.budgets.flash_asked or options.budgets.flash_bytes or ""),
        "arena_budget": str(options.budgets.arena_bytes or ""),
        "state": imported.metadata.get(PAIRS, ""),
        **(options.inputs.training.text if options.inputs.training else {}),
        **options.interface.text,
    }
    return {key: value for key, value in text.items() if value}


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def check_interface(options: Options, file_name: str, is_pipeline: bool = False) -> None:
    """Raises GM196, GM197 for what does not go with these options."""
    _check_cores(options, file_name, is_pipeline)
    _check_prefetch(options, file_name)


def _check_cores(options: Options, file_name: str, is_pipeline: bool) -> None:
    """Raises GM196 for a number of cores that the board or these options do not go with."""
    interface, inputs = options.interface, options.inputs
    if interface.cores == 1:
        return
    if interface.cores != 2:
        raise error("GM196", f"--cores is 1 or 2, not {interface.cores}", file_name)
    board = options.placement.board
    if board is not None and board.memory and board.cores < interface.cores:
        raise error(
            "GM196",
            f"{board.name} has one core that could compute",
            str(board.file),
            "leave out --cores; if the chip has two, say `cores = 2` in the board's file",
        )
    _check_reach(options, file_name)
    against = {
        "--stream-input": bool(inputs.streamed),
        "--outside-input": bool(inputs.external),
        "--steps": interface.steps,
        "--instrument": options.instrument is not Instrument.OFF,
        "a size that each run is given": inputs.open_size is not None,
        "a pipeline": is_pipeline,
    }
    found = [name for name, is_asked in against.items() if is_asked]
    if found:
        raise error(
            "GM196",
            f"--cores 2 does not go with {', '.join(found)}",
            file_name,
            "two cores share runs on inputs in the arena, as a whole; compile for one core",
        )


def _check_reach(options: Options, file_name: str) -> None:
    """Raises GM196 for an arena that the second core does not reach, or a bundle for another core
    than the board's first.
    """
    board = options.placement.board
    if board is None or board.second_core is None:
        return
    if options.core != board.core:
        raise error(
            "GM196",
            f"--cores 2 is for {board.core} and {board.second_core.core}, not for {options.core}",
            str(board.file),
            "layers are shared by the speeds of both cores of the board; compile for its own core",
        )
    region = options.placement.rules.get("arena", "")
    if any(item.name == region and item.kind == "tcm" for item in board.memory):
        raise error(
            "GM196",
            f"{region!r} is of the {board.core} alone, and --cores 2 has an arena for both",
            file_name,
            f"place it in RAM that both reach, or leave out --place arena={region}",
        )


def _check_prefetch(options: Options, file_name: str) -> None:
    """Raises GM197 for options with which no copy of weights begins early."""
    interface = options.interface
    if not interface.prefetch:
        return
    against = {
        "--cores 2": interface.cores > 1,
        "--steps": interface.steps,
        "--accelerator": bool(interface.accelerator),
        "a size that each run is given": options.inputs.open_size is not None,
        "--flash-budget": options.budgets.flash_bytes is not None,
        f"--optimize {options.goal.value}": options.goal not in (Goal.BALANCED, Goal.SPEED),
    }
    found = [name for name, is_asked in against.items() if is_asked]
    if found:
        raise error(
            "GM197",
            f"--prefetch does not go with {', '.join(found)}",
            file_name,
            "leave out one of both: copies take arena and a little code, and one core waits for "
            "them at the beginning of a step",
        )
