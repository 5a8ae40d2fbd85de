"""`python -m benchmarks.board_choice`: what choosing kernels for a board's memories is worth.

Each MLPerf Tiny model is compiled for each board that says its memories, with kernels as for the
core alone and with those that are chosen; where these are others, both runs are replayed through
the board's memories. Writes board_choice.json and board_choice.md. `--board` renews a part;
`--page` writes the page from what is recorded.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import glowmcu
from benchmarks.ledger import read_ledger, write_ledger
from benchmarks.memories import MODELS
from benchmarks.models import SHARED
from glowmcu import fit_as_asked
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.verify.toolchain import compiler_version
from glowmcu.verify.verification import seeded_inputs

RECORD = Path(__file__).with_name("board_choice.json")
BOARDS = (
    "apollo3", "microbit", "nrf52", "nrf5340", "nucleo-h743zi", "nucleo-l4r5zi", "nucleo-l552ze-q",
    "nucleo-u575zi-q", "rp2040", "rp2350", "samd51", "stm32f4-discovery", "stm32f746-discovery",
    "stm32vldiscovery",
)  # fmt: skip
GOALS = ("balanced", "speed")
_HEAD = """# Kernels chosen for a board's memories

Written by `python -m benchmarks.board_choice` from `board_choice.json`; do not edit. Kernels are
chosen by cycles of the core and by what the board's flash adds to them, to the first order; a plan
for the board is taken if it is estimated a hundredth quicker, and slower by none of the timings
that the board may have. Here are the MLPerf Tiny models of which another plan than the core's was
taken, both replayed through the board's memories (thousands of cycles, the first inference; a range
is a better and a worse geometry). Of all others the plan is the core's own.
"""
_COLUMNS = """
| board | model | --optimize | by the core alone | by the board | gain | on the core |
| --- | --- | --- | ---: | ---: | ---: | ---: |"""


def measured(model: str, board: str, goal: str) -> dict[str, Any] | None:
    """Cycles of both plans; {} where they are the same, None where the model does not fit."""
    taken: list[bool] = []

    def choose(fits: Any, of: Any) -> Any:
        chosen = original(fits, of)
        taken.append(chosen is not fits[0])
        return chosen

    original = fit_as_asked.quickest_on_board
    rows = {}
    for name, choice in (("board", choose), ("core", lambda fits, _: fits[0])):
        with (
            mock.patch.object(fit_as_asked, "quickest_on_board", choice),
            tempfile.TemporaryDirectory(prefix="glowmcu-choice-") as work,
        ):
            try:
                bundle = glowmcu.compile(
                    SHARED / f"{model}_int8.tflite", board=board, output=Path(work) / "b",
                    name=model, optimize=goal,
                )  # fmt: skip
            except GlowmcuError as cause:
                if cause.exit_code is ExitCode.DOES_NOT_FIT:
                    return None
                raise
            if not any(taken):
                return {}
            found = bundle.measure(seeded_inputs(bundle.manifest, 1), board_memory=True)
        assert found.board_cycles is not None, f"the file of {board} describes no memories"
        low, high = found.board_cycles.low, found.board_cycles.high
        rows[name] = {"cycles": found.cycles, "low": low, "high": high}
    return rows


def page(recorded: Mapping[str, Any]) -> str:
    """The record as a table."""
    rows = {name: row for name, row in recorded["rows"].items() if row}
    lines = [_line(name, row) for name, row in sorted(rows.items())]
    fitting = sum(row is not None for row in recorded["rows"].values())
    said = f"{len(rows)} of {fitting} that fit their board. Compiled by {recorded['compiler']}."
    return "\n".join([_HEAD, said, _COLUMNS, *lines]) + "\n"


def _line(name: str, row: Mapping[str, Any]) -> str:
    model, board, goal = name.split()
    core, chosen = row["core"], row["board"]
    gains = [100 * (1 - chosen[end] / core[end]) for end in ("low", "high")]
    cells = (
        board, model, goal, _between(core), _between(chosen),
        f"{gains[0]:.1f} %, {gains[1]:.1f} %",
        f"{100 * (chosen['cycles'] / core['cycles'] - 1):+.1f} %",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _between(cycles: Mapping[str, int]) -> str:
    low, high = (f"{cycles[end] / 1e3:,.0f}".replace(",", " ") for end in ("low", "high"))
    return low if low == high else f"{low} to {high}"


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--board", choices=BOARDS, help="renew this one only")
    parser.add_argument("--page", action="store_true", help="only write board_choice.md")
    options = parser.parse_args()
    recorded = read_ledger(RECORD, {"rows": {}})
    recorded.setdefault("compiler", compiler_version())
    wanted = () if options.page else BOARDS if options.board is None else (options.board,)
    for board in wanted:
        recorded["compiler"] = compiler_version()
        for model in MODELS:
            for goal in GOALS:
                recorded["rows"][f"{model} {board} {goal}"] = measured(model, board, goal)
        write_ledger(RECORD, recorded, page(recorded))
        print(f"{board}: done", flush=True)
    write_ledger(RECORD, recorded, page(recorded))


if __name__ == "__main__":
    main()
