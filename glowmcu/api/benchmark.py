"""`glowmcu.bench`: what one inference of a bundle costs, layer by layer."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from glowmcu.api.given_bundle import BundleGiven, loaded_bundle
from glowmcu.api.run_costs import RunCosts, full_run, run_costs, run_count
from glowmcu.argument_types import arguments_checked
from glowmcu.board import Board, Power, has_quick_regions
from glowmcu.bundle import Bundle
from glowmcu.cores import GENERIC
from glowmcu.errors import ExitCode, error
from glowmcu.facts.document import keep_facts
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest
from glowmcu.notebook import Card, Column, Record, Shown
from glowmcu.number_text import count
from glowmcu.option_words import CoreName, ModelName, PluginName, SerialPort
from glowmcu.session import with_label
from glowmcu.verify.cortex_m.hot import HotBlock, hottest_blocks
from glowmcu.verify.cortex_m.two_cores import SharedRun, TwoCores
from glowmcu.verify.measurement import Array, CycleRange, LayerCost, Measurement
from glowmcu.verify.modelled import modelled_on, sureness_line, sureness_of
from glowmcu.verify.verification import seeded_inputs

if TYPE_CHECKING:
    from glowmcu.api.board_counts import CountComparison

MODELS: tuple[ModelName, ...] = get_args(ModelName)
_MOST_WAITS = 100
#: Waits of more than a twentieth of the core's own cycles are worth a hint.
_MUCH = 1.05


_COLUMNS = (
    Column("step", "index", "count"), Column("operator", "op"),
    Column("instructions", "instructions", "count"), Column("cycles", "cycles", "count"),
    Column("share", "share", "percent"), Column("MACs", "macs", "count"),
    Column("cycles/MAC", "cycles_per_mac", "number", 2), Column("layer", "name"),
)  # fmt: skip

_ON_BOARD = Column("on the board", "board_cycles")


@dataclass(frozen=True)
class BenchLimits:
    """The most that one inference may cost; None allows everything."""

    cycles: int | None = None
    stack_bytes: int | None = None

    def __post_init__(self) -> None:
        """Raises GM726 for what nothing could keep."""
        for name, most in (("max_cycles", self.cycles), ("max_stack", self.stack_bytes)):
            if most is not None and most < 0:
                raise error("GM726", f"{name} must be 0 or more, got {most}")

    def json(self) -> dict[str, int | None]:
        """Field to limit, as kept in a bundle's facts; None is no limit."""
        return {"cycles": self.cycles, "stack_bytes": self.stack_bytes}

    def check(self, measured: Measurement, where: str) -> None:
        """Raises GM170 with every limit that `measured` exceeds."""
        limits = (
            ("--max-cycles", measured.cycles, self.cycles, "cycles"),
            ("--max-stack", measured.stack_bytes, self.stack_bytes, "B of stack"),
        )
        passed = [
            f"{count(cost)} {unit}, {count(cost - most)} more than {option} {most}"
            for option, cost, most, unit in limits
            if most is not None and cost is not None and cost > most
        ]
        if passed:
            raise error(
                "GM170",
                f"one inference takes {' and '.join(passed)}",
                where,
                "compile with another goal (`glowmcu compile --optimize`), make the layers smaller "
                "that cost most, or raise the limit",
                ExitCode.DOES_NOT_FIT,
            )


@dataclass(frozen=True)
class Benchmark(Shown):
    """The cost of one inference: `measured` has instructions, cycles, stack (bytes) and layers.

    `on` is the executor, `core` the core, `wait_states` those of the flash. `clock_hz` is None
    if the board is unknown or another core was asked for. Cycles are the core's alone, with a
    flash of `wait_states`; if the board's file describes its memories and no `wait_states` were
    given, `board_cycles` are the core's cycles and its waits for them: a range if the chip may have
    one geometry or another. `costs` is the average over a pipeline's runs; `hot` are the basic
    blocks that cost most, if they were asked for; `limits` bound what one inference may cost.
    `shared` is a run on two cores, of a bundle for two. `placing_hint` says what to try if the core
    waits long for a memory and the board has a quicker one. `power` is what the board's file says
    for estimates of energy.

    >>> bundle = glowmcu.compile("digits_int8.tflite", board="nrf52", output="build/digits")
    >>> found = glowmcu.bench(bundle)
    >>> found.milliseconds < 3
    True
    >>> found.check(max_cycles=200_000, max_stack=1024)   # raises if it takes more
    """

    path: Path
    manifest: Manifest
    measured: Measurement
    on: str
    core: str
    wait_states: int
    clock_hz: int | None = None
    costs: RunCosts | None = None
    hot: tuple[HotBlock, ...] = ()
    limits: BenchLimits = BenchLimits()
    shared: SharedRun | None = None
    placing_hint: str | None = None
    power: Power | None = None

    @property
    def speed_up(self) -> float | None:
        """How many times quicker two cores are than one that does all of the bundle's work."""
        if self.shared is None or self.measured.cycles is None:
            return None
        return self.measured.cycles / self.shared.cycles

    @property
    def board_cycles(self) -> CycleRange | None:
        """Cycles of one inference with waits for the board's memories; None if not modelled."""
        return self.measured.board_cycles

    @property
    def milliseconds(self) -> float | None:
        """Time of one inference at the board's clock, at most; None if the clock is unknown."""
        found = self.milliseconds_range
        return None if found is None else found[1]

    @property
    def milliseconds_range(self) -> tuple[float, float] | None:
        """Least and greatest time of one inference: they differ if the chip may have one of several
        memories. None if the clock is unknown.
        """
        cycles, known = self.measured.cycles, self.board_cycles
        if not self.clock_hz or cycles is None:
            return None
        low, high = (cycles, cycles) if known is None else (known.low, known.high)
        return 1e3 * low / self.clock_hz, 1e3 * high / self.clock_hz

    @property
    def time_text(self) -> str | None:
        """The same for people."""
        found = self.milliseconds_range
        if found is None or not self.clock_hz:
            return None
        low, high = (f"{time:.2f}" for time in found)
        return f"{low if low == high else f'{low} to {high}'} ms at {self.clock_hz // 10**6} MHz"

    def nanojoules(self, cycles: float) -> float | None:
        """Estimated energy of `cycles`, by what the board's file says of its chip; None
        where that or the clock is unknown.
        """
        if self.power is None or not self.clock_hz:
            return None
        return self.power.nanojoules(cycles, self.clock_hz)

    @property
    def energy_text(self) -> str | None:
        """The estimate for one inference, at most, for people, with where it comes from."""
        power, found = self.power, self._energy_of(self.measured)
        if found is None or power is None:
            return None
        given = f"{power.active_microamperes / 1e3:g} mA at {power.supply_millivolts / 1e3:g} V"
        return f"about {count(round(found))} nJ, an estimate by {given} ({power.note})"

    @property
    def sureness(self) -> str | None:
        """How far silicon may be from the cycles, and why; None if nothing was modelled."""
        return sureness_line(self.core) if self.on in MODELS else None

    def _card(self) -> Card:
        measured, waits = self.measured, self.wait_states
        on_board, time = self.board_cycles, "" if self.time_text is None else f", {self.time_text}"
        memory = f"flash with {waits} wait states" if waits else "zero wait states"
        facts = (
            ("core", f"{self.core}, {memory}" if self.on in MODELS else f"{self.core}, {self.on}"),
            ("cycles", count(measured.cycles) + ("" if on_board else time)),
            *([("on the board", f"{on_board.text} cycles{time}")] if on_board else []),
            ("instructions", count(measured.instructions)),
            ("stack", count(measured.stack_bytes, " B")),
        )
        columns = _COLUMNS if on_board is None else (*_COLUMNS[:4], _ON_BOARD, *_COLUMNS[4:])
        return Card(f"Cost of {self.manifest.name}", facts, columns, self._records())

    def _records(self) -> list[Record]:
        total = self.measured.cycles or self.measured.instructions or 1
        records: list[Record] = []
        for cost in self.measured.layers:
            layer, board = self.manifest.layers[cost.index], cost.board_cycles
            work = cost.cycles if cost.cycles is not None else cost.instructions or 0
            records.append(
                {
                    "index": cost.index,
                    "name": cost.name,
                    "op": layer.op,
                    "kernel": layer.kernel,
                    "instructions": cost.instructions,
                    "cycles": cost.cycles,
                    "board_cycles": None if board is None else board.text,
                    "board_cycles_low": None if board is None else board.low,
                    "board_cycles_high": None if board is None else board.high,
                    "share": work / total,
                    "macs": layer.macs,
                    "cycles_per_mac": work / layer.macs if layer.macs else None,
                    "nanojoules": self._energy_of(cost),
                }
            )
        return records

    def _energy_of(self, cost: LayerCost | Measurement) -> float | None:
        """Nanojoules of the greatest cycles on the board, or of the core's if these are unknown."""
        known = cost.cycles if cost.board_cycles is None else cost.board_cycles.high
        return None if known is None else self.nanojoules(known)

    def json(self) -> dict[str, object]:
        """The object of `bench --json`. Field names are a contract."""
        macs = {layer.index: layer.macs for layer in self.manifest.layers}
        body: dict[str, object] = {
            "bundle": self.manifest.name,
            "model_sha256": self.manifest.model_sha256,
            "board": self.manifest.board,
            "core": self.core,
            "wait_states": self.wait_states,
            "instructions": self.measured.instructions,
            "cycles": self.measured.cycles,
            "board_cycles": self._board_json(),
            "stack_bytes": self.measured.stack_bytes,
            "layers": [
                {
                    **dataclasses.asdict(layer),
                    "macs": macs[layer.index],
                    "nanojoules": self._energy_of(layer),
                }
                for layer in self.measured.layers
            ],
            "limits": self.limits.json(),
            "nanojoules": self._energy_of(self.measured),
        }
        if self.costs is not None:
            body["runs"] = self.costs.json()
        if self.manifest.delegation is not None:
            # Measured on the core, in the accelerator's place; there they are estimates.
            body["estimates"] = dataclasses.asdict(self.manifest.delegation)
        if self.shared is not None:
            body["two_cores"] = {"speed_up": self.speed_up, **self.shared.json()}
        if self.on in MODELS:
            body["sureness"] = dataclasses.asdict(sureness_of(self.core))
        else:
            body["on"] = self.on
        return body

    def _board_json(self) -> dict[str, object] | None:
        known, times = self.board_cycles, self.milliseconds_range
        if known is None:
            return None
        low, high = (None, None) if times is None else times
        return {**dataclasses.asdict(known), "milliseconds_low": low, "milliseconds_high": high}

    def compare(self, counts: Path) -> CountComparison:
        """The cycles in the file `counts`, which a board counted (`bench --on serial:PORT --json`),
        beside these. Raises GM725 for a file that has none of this bundle.
        """
        from glowmcu.api.board_counts import compare_counts

        return compare_counts(self, counts)

    @arguments_checked
    def check(self, max_cycles: int | None = None, max_stack: int | None = None) -> None:
        """Raises GM170 with every limit (cycles, bytes) that one inference passes; what is not
        given is as `bench` was told.
        """
        cycles = self.limits.cycles if max_cycles is None else max_cycles
        stack_bytes = self.limits.stack_bytes if max_stack is None else max_stack
        BenchLimits(cycles, stack_bytes).check(self.measured, f"{self.path}, {self.core}")


@arguments_checked
def bench(
    bundle: BundleGiven,
    *,
    on: ModelName | SerialPort | PluginName | None = None,
    core: CoreName | None = None,
    wait_states: int | Literal["board"] | None = None,
    hot: int = 0,
    board: str | None = None,
    max_cycles: int | None = None,
    max_stack: int | None = None,
) -> Benchmark:
    """Measure what one inference of `bundle` (or the one in that folder) costs, layer by layer.

    Instructions, cycles and bytes of stack are counted on a model of the board's core, or of
    `core`; if the board's file describes its memories, also the cycles that it waits for them.
    `wait_states` replaces these by a flash of that many wait states ("board": those of the
    board's file; 0: the core's own cycles only). `on=SerialPort("serial:/dev/ttyACM0")` counts on
    a connected board; by default `on` is the core's model. `hot` basic blocks are shown with
    their code. `max_cycles` (the core's alone) and `max_stack` (bytes) are the limits that
    `found.check()` and the report compare with.

    Raises GM602, GM610 if a compiler or emulator is missing, GM720 for a board that does not say
    its wait states.

    >>> bundle = glowmcu.compile("digits_int8.tflite", board="nrf52", output="build/digits")
    >>> found = glowmcu.bench(bundle)
    >>> found.core, found.measured.cycles < 200_000, len(found.measured.layers)
    ('cortex-m4', True, 8)
    """
    loaded = loaded_bundle(bundle, board)
    name = loaded.board.core if core is None else core
    waits = _wait_states(wait_states, loaded.board)
    on = on or modelled_on(name)
    board_memory = wait_states is None and on in MODELS and name == loaded.board.core
    inputs = with_label(loaded.manifest, seeded_inputs(loaded.manifest, 1))
    costs: RunCosts | None = None
    blocks: tuple[HotBlock, ...] = ()
    if hot:
        measured, blocks = hottest_blocks(
            loaded.path, inputs, name, hot, waits, loaded.board.wait_states_by_region(waits),
            loaded.board, loaded.board if board_memory else None,
        )  # fmt: skip
    else:
        sets = [inputs] * run_count(loaded.manifest)
        runs = loaded.measure_all(
            sets, on=on, core=core, wait_states=waits, board_memory=board_memory
        )
        measured, costs = full_run(loaded.manifest, runs), run_costs(loaded.manifest, runs)
    # The cycles of any other core are not those of the board.
    own = core is None and not (on in MODELS and loaded.board.core == GENERIC)
    clock = loaded.board.clock_hz if own else None
    limits = BenchLimits(max_cycles, max_stack)
    shared = _on_two_cores(loaded, inputs, core) if on == "cortex-m" and not waits else None
    found = Benchmark(
        loaded.path, loaded.manifest, measured, on, name, waits, clock, costs, blocks, limits,
        shared, _placing_hint(loaded, measured), loaded.board.power,
    )  # fmt: skip
    if on in MODELS and name == loaded.board.core and not hot:
        keep_facts(loaded.path, bench=found.json())
    return found


def _placing_hint(loaded: Bundle, measured: Measurement) -> str | None:
    """The sentence, for bundles compiled without `place`; None if waits are few."""
    on_board, cycles = measured.board_cycles, measured.cycles
    if on_board is None or not cycles or on_board.high <= _MUCH * cycles:
        return None
    if not has_quick_regions(loaded.board) or any(
        entry.section for entry in loaded.manifest.placement if entry.what != "arena"
    ):
        return None
    waits = on_board.high - cycles
    return (
        f"up to {count(waits)} of the board's cycles are waits: compile with --place auto to read "
        "weights from RAM where it has room"
    )


def _on_two_cores(loaded: Bundle, inputs: Sequence[Array], core: str | None) -> SharedRun | None:
    """A run on the board's two cores, or on two of those that are asked for; None for a bundle that
    was compiled for one.
    """
    if loaded.manifest.cores < 2:
        return None
    board = loaded.board
    second = board.second_core if core in (None, board.core) else None
    both = TwoCores(core or board.core, clock_hz=board.clock_hz, second=second)
    return both.measure(loaded.path, [inputs])[0]


def _wait_states(given: int | str | None, board: Board) -> int:
    if given is None:
        return 0
    if given != "board":
        if not 0 <= int(given) <= _MOST_WAITS:
            raise error("GM710", f"wait_states must be 0 to {_MOST_WAITS} or board, got {given!r}")
        return int(given)
    if board.flash_wait_states is None:
        raise error(
            "GM720",
            f"the file of {board.name} does not say how many wait states its flash has",
            str(board.file),
            "add flash_wait_states = N there, or give the number: --wait-states N",
        )
    return board.flash_wait_states
