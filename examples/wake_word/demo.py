"""The second part of `make demo`: a sound is played into emulated boards, which wait for a word.

The pipeline (front end, network, decision) runs as generated C on modelled cores, 10 ms of sound at
a time. Shown is when the wake word was heard, and what listening takes of the core and its memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import glowmcu
from examples.wake_word.front_end import HOP, SAMPLE_RATE
from examples.wake_word.results import PIPELINE
from examples.wake_word.sounds import HEARD, NOT_HEARD, WITH_WORD, WITHOUT_WORD, read
from glowmcu.report.tables import count
from glowmcu.verify.executors import executor
from glowmcu.verify.measurement import Array, Measurement

BOARDS = ("nrf52", "rp2040")


@dataclass(frozen=True)
class Hearing:
    """Seconds at which the word was heard, and the cycles of each 10 ms; none without a model."""

    seconds: tuple[float, ...]
    cycles: tuple[int, ...]
    stack_bytes: int | None


def compiled(board: str) -> glowmcu.Bundle:
    """The pipeline for a board."""
    output = Path("build") / "wake_word" / board / "wake_word"
    return glowmcu.compile(PIPELINE, board, output, name="wake_word")


def play(bundle: glowmcu.Bundle, samples: Array, on: str) -> Hearing:
    """A stream from its beginning, HOP samples a run."""
    whole = len(samples) // HOP * HOP
    measured = bundle.measure_all(
        [[hop[np.newaxis]] for hop in samples[:whole].reshape(-1, HOP)], on
    )
    return Hearing(
        tuple((run + 1) * HOP / SAMPLE_RATE for run in detections(bundle, measured)),
        tuple(one.cycles for one in measured if one.cycles is not None),
        max((one.stack_bytes or 0 for one in measured), default=0) or None,
    )


def detections(bundle: glowmcu.Bundle, measured: list[Measurement]) -> list[int]:
    """The runs, from 0 on, that brought a new result which is a detection."""
    pipeline = bundle.manifest.pipeline
    assert pipeline is not None
    last = pipeline.stages[-1]
    names = [output.name for output in bundle.manifest.outputs]
    at = names.index("decision")
    return [
        run for run, one in enumerate(measured)
        if run >= last.first_run and (run - last.first_run) % last.period == 0
        and int(one.outputs[at].reshape(-1)[0]) >= 0
    ]  # fmt: skip


def said(script: tuple[tuple[float, str, object], ...]) -> str:
    """What a sound says."""
    return ", ".join(f"“{text}”" for _, text, _ in script)


def moments(hearing: Hearing) -> str:
    """When it was heard."""
    return ", ".join(f"{second:.2f} s" for second in hearing.seconds) or "not heard"


def cost_row(bundle: glowmcu.Bundle, hearing: Hearing) -> list[str]:
    """Board, moments, share of the core on average and at most, arena, stack, flash."""
    clock, hops = bundle.board.clock_hz, SAMPLE_RATE // HOP
    shares = ["-", "-"]
    if clock and hearing.cycles:
        mean, most = float(np.mean(hearing.cycles)), max(hearing.cycles)
        shares = [f"{cycles * hops / clock:.1%}" for cycles in (mean, most)]
    report = bundle.report
    flash = None if report.code_bytes is None else report.code_bytes + report.weights_bytes
    megahertz = f"{bundle.board.core}, {(clock or 0) // 10**6} MHz"
    return [bundle.board.title, megahertz, moments(hearing), *shares,
            count(report.arena_bytes), count(hearing.stack_bytes), count(flash)]  # fmt: skip


def main() -> int:
    """Exit code 1 where a board hears something else than this computer."""
    console = Console(highlight=False, width=128)
    samples, others = read(HEARD), read(NOT_HEARD)
    console.print(f"\n{HEARD.name} says {said(WITH_WORD)}; {NOT_HEARD.name} {said(WITHOUT_WORD)}.")
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("board", "core", HEARD.name, "of the core", "at most", "arena B", "stack B",
                    "flash B"):  # fmt: skip
        table.add_column(heading, justify="left" if len(table.columns) < 3 else "right")
    here = compiled(BOARDS[0])
    wanted, quiet = play(here, samples, "host"), play(here, others, "host")
    console.print(f"On this computer: {moments(wanted)}; {moments(quiet)}.")
    same = True
    for board in BOARDS:
        bundle = compiled(board)
        lacking = executor("cortex-m", bundle.board).missing()
        if lacking is not None:
            console.print(f"[yellow]{board} skipped[/]: {lacking}")
            continue
        hearing = play(bundle, samples, "cortex-m")
        table.add_row(*cost_row(bundle, hearing))
        same = same and hearing.seconds == wanted.seconds
    console.print(table)
    return 0 if same and wanted.seconds and not quiet.seconds else 1


if __name__ == "__main__":
    raise SystemExit(main())
