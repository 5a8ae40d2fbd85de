"""`glowmcu bench`: what a bundle costs on the modelled core."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from glowmcu.api.benchmark import MODELS, BenchLimits, Benchmark, bench
from glowmcu.api.board_counts import compare_counts
from glowmcu.bundle import load
from glowmcu.cli.bench_limits import limit_options
from glowmcu.cli.completion import complete_bench_executor, complete_board, complete_core
from glowmcu.cli.output import console, json_option, print_json, report_option, write_report
from glowmcu.option_words import CoreName, ModelName, PluginName, SerialPort
from glowmcu.report.cores import cores_table
from glowmcu.report.counts import counts_table
from glowmcu.report.devices import device_lines
from glowmcu.report.hot_blocks import hot_json, hot_lines
from glowmcu.report.tables import bench_table, count, learning_line
from glowmcu.verify.cortex_m.two_cores import SharedRun
from glowmcu.verify.executors import executor_factories

_HOT_BLOCKS = 10


def _block_count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 1000:
        raise click.BadParameter(
            f"expected 1 to 1000, got {text!r}: the bundle goes before --hot, or write --hot=10"
        )
    return int(text)


@click.command("bench")
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--board", shell_complete=complete_board, help="Another board than the bundle was compiled for."
)
@click.option(
    "--on",
    "where",
    metavar="EXECUTOR",
    shell_complete=complete_bench_executor,
    help="cortex-m or riscv, a model of the core (the default), serial:PORT[:BAUD], a board "
    "that is connected, or an executor of a package.",
)
@click.option(
    "--core",
    shell_complete=complete_core,
    help="Measure on another core than the board's, cortex-m0plus say.",
)
@click.option(
    "--wait-states",
    metavar="N|board",
    help="Of the flash, roughly, instead of the board's own memories: jumps and reads of other "
    "lines wait. board: as many as its file says; 0: only the core's cycles.",
)
@click.option(
    "--hot",
    is_flag=False,
    flag_value=str(_HOT_BLOCKS),
    type=_block_count,
    metavar="[N]",
    help=f"Show the N ({_HOT_BLOCKS}) basic blocks that cost most, with their code.",
)
@click.option(
    "--compare",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Show the cycles that a board counted beside the modelled ones: what --on serial:PORT "
    "--json printed.",
)
@limit_options
@report_option
@json_option
def bench_command(
    bundle: Path,
    board: str | None,
    where: ModelName | SerialPort | PluginName | None,
    core: CoreName | None,
    wait_states: str | None,
    hot: int | None,
    compare: Path | None,
    report: Path | None,
    as_json: bool,
    limits: BenchLimits,
) -> None:
    """Cost of BUNDLE per layer on the modelled core: instructions, cycles, stack. Where the
    board's file describes its memories and caches, also cycles with what they make the core wait.

    With --on serial:PORT the board counts cycles itself, and per layer where the bundle was
    compiled with --instrument.
    """
    if where is not None and where not in MODELS:
        waiting = (wait_states or "").strip("0")
        _only_of_the_model(where, core=core, hot=hot, wait_states=waiting, compare=compare)
    waits = _wait_states(wait_states)
    loaded = load(bundle, board)
    found = bench(
        loaded, on=where, core=core, wait_states=waits, hot=hot or 0, max_cycles=limits.cycles,
        max_stack=limits.stack_bytes,
    )  # fmt: skip
    if report is not None:
        write_report(report, loaded)
    counted = None if compare is None else compare_counts(found, compare)
    if as_json:
        shown = found.json()
        if counted is not None:
            shown["counted"] = counted.json()
        print_json(shown if hot is None else {**shown, "hot": hot_json(found.hot)})
    elif found.on not in MODELS:
        _show_board(found)
    else:
        _show(found)
    if counted is not None and not as_json:
        console().print(counts_table(counted))
        console().print(counted.verdict, markup=False)
    found.check()


def _only_of_the_model(where: str, **options: object) -> None:
    """Raises for the first of `options` that was given where nothing is modelled."""
    if where in executor_factories():
        what = f"executor {where}"
    elif where.startswith("serial:"):
        what = "board"
    else:
        counted = f"; `glowmcu run --on {where}` says what was executed there"
        raise click.BadParameter(
            f"expected {' or '.join(MODELS)} or serial:PORT[:BAUD], got {where!r}"
            f"{counted if where in ('qemu', 'renode') else ''}",
            click.get_current_context(),
            param_hint="--on",
        )
    given = [name for name, value in options.items() if value]
    if given:
        option = given[0].replace("_", "-")
        raise click.UsageError(f"--{option} is of the modelled core, not of a {what}: leave it out")


def _show_board(found: Benchmark) -> None:
    """For people, of a real board, or by a package's executor."""
    out, measured = console(), found.measured
    is_board = found.on.startswith("serial:")
    counted = " by the core's own counter" if is_board else ""
    out.print(bench_table(found.manifest, measured))
    out.print(
        f"{found.on}: {count(measured.cycles)} cycles{counted}, "
        f"{count(measured.stack_bytes, ' B')} of stack",
        markup=False,
    )
    if is_board and not measured.layers:
        out.print("compile with --instrument to see the cycles of each layer", markup=False)
    if found.costs is not None:
        out.print(found.costs.line(None))


def _show(found: Benchmark) -> None:
    """For people, of the modelled core."""
    out, measured, waits = console(), found.measured, found.wait_states
    out.print(bench_table(found.manifest, measured, found.nanojoules))
    for line in hot_lines(found.hot):
        out.print(line, markup=False)
    time = "" if found.time_text is None else f", {found.time_text}"
    on_board = found.board_cycles
    memory = f"flash with {waits} wait states (approximate)" if waits else "zero wait states"
    out.print(
        f"{found.core}, {memory}: {count(measured.cycles)} cycles{'' if on_board else time}, "
        f"{count(measured.stack_bytes)} B of stack"
    )
    if on_board is not None:
        out.print(f"on the board: {on_board.text} cycles{time}")
    if found.energy_text is not None:
        out.print(f"energy {found.energy_text}", markup=False)
    if found.placing_hint is not None:
        out.print(f"hint: {found.placing_hint}", markup=False)
    out.print(found.sureness, markup=False)
    if found.costs is not None:
        out.print(found.costs.line(found.clock_hz))
    for line in device_lines(found.manifest, measured):
        out.print(line, markup=False)
    if (learning := learning_line(found.manifest, measured)) is not None:
        out.print(learning)
    if found.shared is not None:
        _show_cores(found, found.shared)


def _show_cores(found: Benchmark, shared: SharedRun) -> None:
    """Who does what of each layer."""
    out = console()
    out.print(cores_table(found.manifest, found.measured, shared))
    clock, second = found.clock_hz, shared.second
    time = f", {1e3 * shared.cycles / clock:.2f} ms at {clock // 10**6} MHz" if clock else ""
    alone = "one"
    if second is not None:
        time += f" and {second.clock_hz // 10**6} MHz"
        alone = f"the {found.core}"
        out.print(f"second: the {second.core}, in cycles of its own clock; all else of the first's")
    quicker = f"{found.speed_up or 0:.2f} times as quick as {alone} that does it all"
    out.print(
        f"two cores: {count(shared.cycles)} cycles{time}, {quicker}; "
        f"they meet {shared.meetings} times"
    )


def _wait_states(text: str | None) -> int | Literal["board"] | None:
    if text is None or text == "board":
        return "board" if text else None
    if not text.isdecimal() or int(text) > 100:
        raise click.BadParameter(
            f"expected a number up to 100 or the word board, got {text!r}",
            click.get_current_context(),
            param_hint="--wait-states",
        )
    return int(text)
