"""`glowmcu.bench`: what one inference of a bundle costs, layer by layer."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from glowmcu.api.given_bundle import BundleGiven, loaded_bundle
from glowmcu.api.run_costs import RunCosts, full_run, run_costs, run_count
from glowmcu.board import Board
from glowmcu.errors import ExitCode, error
from glowmcu.facts.document import keep_facts
from glowmcu.manifest import Manifest
from glowmcu.notebook import Card, Column, Record, Shown
from glowmcu.number_text import count
from glowmcu.option_words import CoreName, SerialPort
from glowmcu.verify.cortex_m.hot import HotBlock, hottest_blocks
from glowmcu.verify.measurement import Measurement
from glowmcu.verify.verification import seeded_inputs

MODEL = "cortex-m"
_MOST_WAITS = 100


_COLUMNS = (
    Column("step", "index", "count"), Column("operator", "op"),
    Column("instructions", "instructions", "count"), Column("cycles", "cycles", "count"),
    Column("share", "share", "percent"), Column("MACs", "macs", "count"),
    Column("cycles/MAC", "cycles_per_mac", "number", 2), Column("layer", "name"),
)  # fmt: skip


@dataclass(frozen=True)
class BenchLimits:
    """The most that one inference may cost; None allows everything."""

    cycles: int | None = None
    stack_bytes: int | None = None

    def json(self) -> dict[str, int | None]:
        """As facts, and for scripts."""
        return {"cycles": self.cycles, "stack_bytes": self.stack_bytes}

    def check(self, measured: Measurement, where: str) -> None:
        """Raises GM170 with every limit that is passed."""
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
    """What one inference costs: `measured` has instructions, cycles, stack (bytes) and layers.

    `on` is the executor, `core` the core, `wait_states` those of the flash. `clock_hz` is None
    where the board is unknown or another core was asked for. `costs` is of a pipeline's runs on
    average; `hot` are the basic blocks that cost most, where they were asked for; `limits` are what
    one inference may cost.

    >>> bundle = glowmcu.compile("digits_int8.tflite", board="nrf52", output="build/digits")
    >>> found = glowmcu.bench(bundle)
    >>> found.milliseconds < 3
    True
    >>> found.check(max_cycles=200_000, max_stack=1024)   # raises where it takes more
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

    @property
    def milliseconds(self) -> float | None:
        """Of one inference at the board's clock, where both are known."""
        cycles = self.measured.cycles
        return None if cycles is None or not self.clock_hz else 1e3 * cycles / self.clock_hz

    def _card(self) -> Card:
        measured, waits = self.measured, self.wait_states
        took = "" if self.milliseconds is None else f", {self.milliseconds:.2f} ms"
        clock = f" at {self.clock_hz // 10**6} MHz" if took and self.clock_hz else ""
        memory = f"flash with {waits} wait states" if waits else "zero wait states"
        facts = (
            ("core", f"{self.core}, {memory}" if self.on == MODEL else f"{self.core}, {self.on}"),
            ("cycles", f"{count(measured.cycles)}{took}{clock}"),
            ("instructions", count(measured.instructions)),
            ("stack", count(measured.stack_bytes, " B")),
        )
        return Card(f"Cost of {self.manifest.name}", facts, _COLUMNS, self._records())

    def _records(self) -> list[Record]:
        total = self.measured.cycles or self.measured.instructions or 1
        records: list[Record] = []
        for cost in self.measured.layers:
            layer = self.manifest.layers[cost.index]
            work = cost.cycles if cost.cycles is not None else cost.instructions or 0
            records.append(
                {
                    "index": cost.index,
                    "name": cost.name,
                    "op": layer.op,
                    "kernel": layer.kernel,
                    "instructions": cost.instructions,
                    "cycles": cost.cycles,
                    "share": work / total,
                    "macs": layer.macs,
                    "cycles_per_mac": work / layer.macs if layer.macs else None,
                }
            )
        return records

    def json(self) -> dict[str, object]:
        """Of `bench --json`. Field names are a contract."""
        macs = {layer.index: layer.macs for layer in self.manifest.layers}
        body: dict[str, object] = {
            "core": self.core,
            "wait_states": self.wait_states,
            "instructions": self.measured.instructions,
            "cycles": self.measured.cycles,
            "stack_bytes": self.measured.stack_bytes,
            "layers": [
                {**dataclasses.asdict(layer), "macs": macs[layer.index]}
                for layer in self.measured.layers
            ],
            "limits": self.limits.json(),
        }
        if self.costs is not None:
            body["runs"] = self.costs.json()
        if self.on != MODEL:
            body["on"] = self.on
        return body

    def check(self, max_cycles: int | None = None, max_stack: int | None = None) -> None:
        """Raises GM170 with every limit (cycles, bytes) that one inference passes; what is not
        given is as `bench` was told.
        """
        cycles = self.limits.cycles if max_cycles is None else max_cycles
        stack_bytes = self.limits.stack_bytes if max_stack is None else max_stack
        BenchLimits(cycles, stack_bytes).check(self.measured, f"{self.path}, {self.core}")


def bench(
    bundle: BundleGiven,
    *,
    on: Literal["cortex-m"] | SerialPort = "cortex-m",
    core: CoreName | None = None,
    wait_states: int | Literal["board"] = 0,
    hot: int = 0,
    board: str | None = None,
    max_cycles: int | None = None,
    max_stack: int | None = None,
) -> Benchmark:
    """What one inference of `bundle` (or the one in that folder) costs, layer by layer.

    Instructions, cycles and bytes of stack are counted on a model of the board's core, or of
    `core`, with `wait_states` of the flash ("board": what the board's file says); or on a connected
    board by `on=SerialPort("serial:/dev/ttyACM0")`. `hot` basic blocks are shown with their code.
    `max_cycles` and `max_stack` (bytes) are what `found.check()` and the report hold it against.
    Raises GM602, GM610 where a compiler or emulator is missing, GM720 for a board that does not say
    its wait states.

    >>> bundle = glowmcu.compile("digits_int8.tflite", board="nrf52", output="build/digits")
    >>> found = glowmcu.bench(bundle)
    >>> found.core, found.measured.cycles < 200_000, len(found.measured.layers)
    ('cortex-m4', True, 8)
    """
    loaded = loaded_bundle(bundle, board)
    name, waits = core or loaded.board.core, _wait_states(wait_states, loaded.board)
    inputs = seeded_inputs(loaded.manifest, 1)
    costs: RunCosts | None = None
    blocks: tuple[HotBlock, ...] = ()
    if hot:
        regions = loaded.board.wait_states_by_region(waits)
        measured, blocks = hottest_blocks(
            loaded.path, inputs, name, hot, waits, regions, loaded.board
        )
    else:
        sets = [inputs] * run_count(loaded.manifest)
        runs = loaded.measure_all(sets, on=on, core=core, wait_states=waits)
        measured, costs = full_run(loaded.manifest, runs), run_costs(loaded.manifest, runs)
    clock = loaded.board.clock_hz if core is None else None
    limits = BenchLimits(max_cycles, max_stack)
    found = Benchmark(
        loaded.path, loaded.manifest, measured, on, name, waits, clock, costs, blocks, limits
    )
    if on == MODEL and name == loaded.board.core and not hot:
        keep_facts(loaded.path, bench=found.json())
    return found


def _wait_states(given: int | str, board: Board) -> int:
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
