"""`glowmcu bench`: what a bundle costs on the modelled core."""

from __future__ import annotations

from pathlib import Path

import click

from glowmcu.board import Board
from glowmcu.bundle import Bundle, load
from glowmcu.cli.bench_limits import BenchLimits, limit_options
from glowmcu.cli.completion import complete_bench_executor, complete_board, complete_core
from glowmcu.cli.output import console, json_option, print_json, report_option, write_report
from glowmcu.errors import error
from glowmcu.facts.document import keep_facts
from glowmcu.option_words import CoreName, Where
from glowmcu.report.hot_blocks import hot_json, hot_lines
from glowmcu.report.json_report import bench_json
from glowmcu.report.run_costs import RunCosts, full_run, run_costs, run_count
from glowmcu.report.tables import bench_table, count
from glowmcu.verify.cortex_m.hot import HotBlock, hottest_blocks
from glowmcu.verify.measurement import Measurement
from glowmcu.verify.verification import seeded_inputs

_HOT_BLOCKS = 10
_MODEL = "cortex-m"


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
    default=_MODEL,
    show_default=True,
    metavar="EXECUTOR",
    shell_complete=complete_bench_executor,
    help=f"{_MODEL}, a model of the core, or serial:PORT[:BAUD], a board that is connected.",
)
@click.option(
    "--core",
    shell_complete=complete_core,
    help="Measure on another core than the board's, cortex-m0plus say.",
)
@click.option(
    "--wait-states",
    default="0",
    show_default=True,
    metavar="N|board",
    help="Of the flash, roughly: jumps and reads of other lines wait. board: what its file says.",
)
@click.option(
    "--hot",
    is_flag=False,
    flag_value=str(_HOT_BLOCKS),
    type=_block_count,
    metavar="[N]",
    help=f"Show the N ({_HOT_BLOCKS}) basic blocks that cost most, with their code.",
)
@limit_options
@report_option
@json_option
def bench_command(
    bundle: Path,
    board: str | None,
    where: Where,
    core: CoreName | None,
    wait_states: str,
    hot: int | None,
    report: Path | None,
    as_json: bool,
    limits: BenchLimits,
) -> None:
    """Cost of BUNDLE per layer on the modelled core: instructions, cycles, stack.

    With --on serial:PORT the board counts cycles itself, and per layer where the bundle was
    compiled with --instrument.
    """
    loaded = load(bundle, board)
    if where != _MODEL:
        _only_of_the_model(where, core=core, hot=hot, wait_states=wait_states.strip("0"))
    waits, name = _wait_states(wait_states, loaded.board), core or loaded.board.core
    inputs = seeded_inputs(loaded.manifest, 1)
    costs: RunCosts | None = None
    if hot is None:
        sets = [inputs] * run_count(loaded.manifest)
        runs = loaded.measure_all(sets, on=where, core=core, wait_states=waits)
        measured, costs = full_run(loaded.manifest, runs), run_costs(loaded.manifest, runs)
        blocks: tuple[HotBlock, ...] = ()
    else:
        measured, blocks = hottest_blocks(
            loaded.path, inputs, name, hot, waits, loaded.board.wait_states_by_region(waits)
        )
    body = bench_json(loaded.manifest, measured, name, waits)
    if costs is not None:
        body = {**body, "runs": costs.json()}
    if where != _MODEL:
        body = {**body, "on": where}
    elif name == loaded.board.core and hot is None:
        keep_facts(loaded.path, bench=body)
    if report is not None:
        write_report(report, loaded)
    if as_json:
        print_json(body if hot is None else {**body, "hot": hot_json(blocks)})
    elif where != _MODEL:
        _show_board(loaded, measured, where, costs)
    else:
        _show(loaded, measured, blocks, costs, core, waits)
    limits.check(measured, f"{bundle}, {name}")


def _only_of_the_model(where: str, **options: object) -> None:
    """Raises for the first of `options` that was given where nothing is modelled."""
    if not where.startswith("serial:"):
        raise click.BadParameter(
            f"expected {_MODEL} or serial:PORT[:BAUD], got {where!r}",
            click.get_current_context(),
            param_hint="--on",
        )
    given = [name for name, value in options.items() if value]
    if given:
        option = given[0].replace("_", "-")
        raise click.UsageError(f"--{option} is of the modelled core, not of a board: leave it out")


def _show_board(loaded: Bundle, measured: Measurement, where: str, costs: RunCosts | None) -> None:
    """For people, of a real board."""
    out = console()
    out.print(bench_table(loaded.manifest, measured))
    out.print(
        f"{where}: {count(measured.cycles)} cycles by the core's own counter, "
        f"{count(measured.stack_bytes)} B of stack",
        markup=False,
    )
    if not measured.layers:
        out.print("compile with --instrument to see the cycles of each layer", markup=False)
    if costs is not None:
        out.print(costs.line(None))


def _show(
    loaded: Bundle,
    measured: Measurement,
    blocks: tuple[HotBlock, ...],
    costs: RunCosts | None,
    core: CoreName | None,
    waits: int,
) -> None:
    """For people. `core` is another than the board's."""
    out = console()
    out.print(bench_table(loaded.manifest, measured))
    for line in hot_lines(blocks):
        out.print(line, markup=False)
    clock = loaded.board.clock_hz if core is None else None
    time = (
        f", {1e3 * (measured.cycles or 0) / clock:.2f} ms at {clock // 10**6} MHz" if clock else ""
    )
    memory = f"flash with {waits} wait states (approximate)" if waits else "zero wait states"
    out.print(
        f"{core or loaded.board.core}, {memory}: {count(measured.cycles)} cycles{time}, "
        f"{count(measured.stack_bytes)} B of stack"
    )
    if costs is not None:
        out.print(costs.line(clock))


def _wait_states(text: str, board: Board) -> int:
    if text == "board":
        if board.flash_wait_states is None:
            raise error(
                "GM720",
                f"the file of {board.name} does not say how many wait states its flash has",
                str(board.file),
                "add flash_wait_states = N there, or give the number: --wait-states N",
            )
        return board.flash_wait_states
    if not text.isdecimal() or int(text) > 100:
        raise click.BadParameter(
            f"expected a number up to 100 or the word board, got {text!r}",
            click.get_current_context(),
            param_hint="--wait-states",
        )
    return int(text)
