"""`python -m benchmarks.memories`: what boards' memories add to a model, to memories.md and .json.

Each MLPerf Tiny model is compiled for each board and runs on its modelled core; the run is replayed
through the memories and caches that the board's file describes. `--board` and `--model` renew a
part and keep the rest; `--page` writes the page from what is recorded.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import glowmcu
from benchmarks.ledger import read_ledger, write_ledger
from benchmarks.models import SHARED
from glowmcu.board import find_board
from glowmcu.verify.toolchain import compiler_version
from glowmcu.verify.verification import seeded_inputs

MODELS = ("kws", "vww", "ic", "ad", "sww")
BOARDS = (
    "nrf52", "nucleo-l4r5zi", "stm32f4-discovery", "nucleo-h743zi", "rp2040", "rp2350",
    "nucleo-u575zi-q",
)  # fmt: skip
RECORD = Path(__file__).with_name("memories.json")
#: Ratios to the core alone that kernels are to reach.
TARGETS = {
    "nrf52": {"kws": 1.06, "vww": 1.08, "ic": 1.06, "ad": 1.15, "sww": 1.06},
    "nucleo-l4r5zi": {"kws": 1.08, "vww": 1.10, "ic": 1.08, "ad": 1.20, "sww": 1.08},
}
_HEAD = """# What boards' memories add

Written by `python -m benchmarks.memories` from `memories.json`; do not edit. Flash is slower than
the core, and kernels are counted without that elsewhere. Here each model's run is replayed through
the wait states, prefetch and caches of a board, as its file in `boards/` says with its source
([what is modelled](../glowmcu/verify/memory_system/README.md)). A range is what is not published: a
better and a worse geometry. Code and weights are in flash, the arena in RAM; caches are empty at
the start, as in the first inference. "Placed" is the same with `--place auto`, which takes the RAM
that stands last for weights and code ([memory.md](../docs/memory.md)): such a ratio and time
hold where code that runs from RAM and data there do not share a port.
"""
_COLUMNS = """
| model | core alone, M cycles | on the board, M cycles | ratio | ms | placed | aim | ms | RAM, B |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def measured(model: str, board: str) -> dict[str, Any]:
    """One row of the record."""
    row, placed = _measured(model, board, {}), _measured(model, board, {"auto": "auto"})
    return {**row, "placed": placed}


def _measured(model: str, board: str, rules: Mapping[str, str]) -> dict[str, Any]:
    """With things placed by `rules`."""
    with tempfile.TemporaryDirectory(prefix="glowmcu-memories-") as work:
        bundle = glowmcu.compile(
            SHARED / f"{model}_int8.tflite", board=board, output=Path(work) / "b", name=model,
            place=rules,
        )  # fmt: skip
        found = bundle.measure(seeded_inputs(bundle.manifest, 1), board_memory=True)
        code = bundle.manifest.costs.code_bytes_estimate or 0
    assert found.board_cycles is not None, f"the file of {board} describes no memories"
    row = {"cycles": found.cycles, "low": found.board_cycles.low, "high": found.board_cycles.high}
    if rules:
        moved = [entry for entry in bundle.manifest.placement if entry.image_region]
        row["ram"] = sum(code if entry.bytes is None else entry.bytes for entry in moved)
    return row


def page(recorded: Mapping[str, Any]) -> str:
    """The record, a table a board."""
    parts = [_HEAD, f"Compiled by {recorded['compiler']}."]
    for name in BOARDS:
        rows = [
            _row(name, model, recorded["rows"][f"{model} {name}"])
            for model in MODELS
            if f"{model} {name}" in recorded["rows"]
        ]
        if rows:
            board = find_board(name)
            title = f"\n## {board.title}: `{name}`, {board.core}\n"
            notes = [f"- {timing.note}" for timing in board.timing]
            parts += [title, *notes, _COLUMNS, *rows]
    return "\n".join(parts) + "\n"


def _row(board: str, model: str, row: Mapping[str, Any]) -> str:
    cycles, low, high = row["cycles"], row["low"], row["high"]
    clock = find_board(board).clock_hz or 1
    aim = TARGETS.get(board, {}).get(model)
    placed = row["placed"]
    better, worse = placed["low"], placed["high"]
    cells = (
        model,
        f"{cycles / 1e6:.3f}",
        _between(low / 1e6, high / 1e6, 3),
        _between(low / cycles, high / cycles, 2),
        _between(1e3 * low / clock, 1e3 * high / clock, 2),
        _between(better / cycles, worse / cycles, 2),
        "" if aim is None else f"{aim:.2f}",
        _between(1e3 * better / clock, 1e3 * worse / clock, 2),
        f"{placed['ram']:,}".replace(",", " "),
    )
    return f"| {' | '.join(cells)} |"


def _between(low: float, high: float, digits: int) -> str:
    first, last = f"{low:.{digits}f}", f"{high:.{digits}f}"
    return first if first == last else f"{first} to {last}"


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--board", choices=BOARDS, help="renew this one only")
    parser.add_argument("--model", choices=MODELS, help="renew this one only")
    parser.add_argument("--page", action="store_true", help="only write memories.md")
    options = parser.parse_args()
    recorded = read_ledger(RECORD, {"rows": {}})
    recorded.setdefault("compiler", compiler_version())
    if not options.page:
        recorded["compiler"] = compiler_version()
        for board in BOARDS:
            for model in MODELS:
                if options.board in (None, board) and options.model in (None, model):
                    recorded["rows"][f"{model} {board}"] = measured(model, board)
                    write_ledger(RECORD, recorded, page(recorded))
                    print(f"{model} {board}: {recorded['rows'][f'{model} {board}']}", flush=True)
    write_ledger(RECORD, recorded, page(recorded))


if __name__ == "__main__":
    main()
