"""Networks that nobody tuned for: arenas, cycles, code, and equality with TensorFlow Lite Micro.

    python -m benchmarks.foreign [--model M]

Each is compiled for a Cortex-M4 by every goal of the page and run on the modelled core. Results go
to foreign.json, and so to foreign.md.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import glowmcu
from benchmarks.__main__ import compiler_version
from benchmarks.equality import count_different
from benchmarks.foreign_models import MODELS
from benchmarks.foreign_page import CHAIN, MCUNET, Row, page
from benchmarks.kernel_sources import kernel_sources_digest, list_sources
from benchmarks.mcunet import mcunet_vww
from benchmarks.models import TARGETS
from benchmarks.tflm_arena import TflmArena, tflm_arena
from glowmcu.verify.verification import seeded_inputs
from tests.support.oracle import open_tflm

RECORD = Path(__file__).resolve().parent / "foreign.json"
PAGE = RECORD.with_suffix(".md")
GOALS = ("balanced", "ram")


@dataclass(frozen=True)
class Case:
    """A network, a goal, and where its input is: `arena`, `pushed` row by row or `outside`."""

    model: str
    goal: str
    input: str = "arena"


CASES = (
    *(Case(model, goal) for model in MODELS for goal in GOALS),
    *(Case(MCUNET, goal) for goal in GOALS),
    *(Case(model, "ram", place) for model in (MCUNET, CHAIN) for place in ("pushed", "outside")),
)


def builder(model: str) -> Callable[[], bytes]:
    """What makes the model's file."""
    if model in MODELS:
        return MODELS[model]
    return lambda: mcunet_vww(chain=model == CHAIN)


def measure(case: Case, data: bytes, needs: TflmArena) -> Row:
    """Compile and run, and compare with the oracle. All of MCUNet's multiply-accumulates stay, so
    that those in the halos of strips can be told.
    """
    target = TARGETS[0]
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "m.tflite"
        path.write_bytes(data)
        bundle = glowmcu.compile(
            path, board=target.board, output=Path(work) / "b", name="m", optimize=case.goal,
            simplify=case.model in MODELS, **_place(case.input),
        )  # fmt: skip
        inputs, different = count_different(bundle, open_tflm(data), target)
        run = bundle.measure(seeded_inputs(bundle.manifest, 1), on=target.executor)
    report = bundle.report
    assert run.cycles is not None
    assert run.stack_bytes is not None
    assert report.code_bytes is not None
    return Row(
        case.model, case.goal, case.input, report.macs, bundle.manifest.extra_macs,
        report.arena_bytes, report.arena_lower_bound_bytes, report.arena_optimal, run.cycles,
        run.stack_bytes, report.code_bytes, needs.tensors_bytes, needs.total_bytes,
        inputs, different, kernel_sources_digest(),
    )  # fmt: skip


def _place(where: str) -> dict[str, Any]:
    """The first tensor that a network makes is its input, `x1`."""
    options = {"pushed": "stream_inputs", "outside": "outside_inputs"}
    return {options[where]: ("x1",)} if where in options else {}


def stored() -> tuple[str, list[Row]]:
    """The cross compiler and what was measured with it."""
    if not RECORD.is_file():
        return "", []
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    return found["compiler"], [Row(**row) for row in found["rows"]]


def record(fresh: Row) -> None:
    """Put one result in the place of the one before and write the page again."""
    found = {Case(row.model, row.goal, row.input): row for row in (*stored()[1], fresh)}
    rows = [found[case] for case in CASES if case in found]
    lines = ",\n".join(f"  {json.dumps(asdict(row))}" for row in rows)
    compiler = compiler_version()
    text = f'{{\n "compiler": {json.dumps(compiler)},\n "rows": [\n{lines}\n ]\n}}\n'
    RECORD.write_text(text, encoding="utf-8")
    PAGE.write_text(page(compiler, rows), encoding="utf-8")


def main() -> None:
    """Exit code 1 when anything differs from the oracle."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.foreign")
    parser.add_argument("--model", action="append", choices=[*MODELS, MCUNET, CHAIN])
    wanted = parser.parse_args().model or [*MODELS, MCUNET, CHAIN]
    list_sources()
    failed = False
    for model in wanted:
        data = builder(model)()
        needs = tflm_arena(data)
        for case in CASES:
            if case.model == model:
                row = measure(case, data, needs)
                print(f"{model}, {case.goal}, {case.input}: {row.arena_bytes} B, "
                      f"{row.different} of {row.inputs} differ", flush=True)  # fmt: skip
                failed |= bool(row.different)
                record(row)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
