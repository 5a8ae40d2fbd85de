"""`python -m benchmarks.float_models`: float models on cores with an FPU, to float.md and .json.

Each model's arena, estimated and measured cycles, as it is, without a profile. `--core`, `--model`
and `--goal` renew a part and keep the rest; `--page` writes the page from what is recorded.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import float_layers
from benchmarks.models import SHARED
from glowmcu.compilation import Options
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.goals import Goal
from glowmcu.pipeline import compile_model
from glowmcu.verify.modelled import modelled_core
from glowmcu.verify.verification import seeded_inputs

MODELS = ("kws", "vww", "ic", "ad")
CORES = ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55")
GOALS = (Goal.BALANCED, Goal.RAM)
RECORD = Path(__file__).with_name("float.json")
PAGE = Path(__file__).with_name("float.md")
#: With the portable kernels alone, commit 3572c73 on a Cortex-M4: cycles, arena at every goal.
BEFORE: dict[str, tuple[int | None, int | None]] = {
    "kws": (37_567_287, 39_168),
    "vww": (101_301_459, 147_488),
    "ic": (133_259_636, 133_248),
    "ad": (2_689_444, 3_072),
}


_HEAD = """# Float models on cores with an FPU

Written by `python -m benchmarks.float_models`. MLPerf Tiny's models in float32, compiled as they
are, on the modelled core with memory that never waits. *Before* is a Cortex-M4 with the portable
kernels alone, when `--optimize ram` changed nothing; *estimated* is what compiling says against
what was measured. A Cortex-M55 computes four floats at a time. Weights of kws are int8 times a
scale, which these goals keep for a quarter of the constants; they become floats in registers.

| model | core | goal | arena B | M cycles | cycles/MAC | estimated | before, M cycles | arena B |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"""


def measured(model: str, core_name: str, goal: Goal) -> dict[str, Any]:
    """One row of the record."""
    data = (SHARED / f"{model}_float.tflite").read_bytes()
    compilation = compile_model(data, "m.tflite", Options("m", core=core_name, goal=goal))
    with tempfile.TemporaryDirectory(prefix="glowmcu-float-") as work:
        write_bundle(compilation.files, Path(work) / "m", "m")
        inputs = [seeded_inputs(compilation.manifest, 1)]
        (done,) = modelled_core(core_name).run(Path(work) / "m", inputs)
    assert done.cycles is not None
    return {
        "arena_bytes": compilation.plan.arena_bytes,
        "estimated_cycles": round(compilation.estimated_cycles),
        "cycles": done.cycles,
        "macs": compilation.manifest.macs,
    }


def page(record: dict[str, Any]) -> str:
    """The record as a table."""
    lines = [_HEAD]
    for key, row in sorted(record.items(), key=_order):
        model, core_name, goal = key.split()
        cycles, arena = BEFORE[model] if core_name == "cortex-m4" else (None, None)
        error = 100.0 * (row["estimated_cycles"] / row["cycles"] - 1.0)
        lines.append(
            f"| {model} | {core_name} | {goal} | {_grouped(row['arena_bytes'])} | "
            f"{row['cycles'] / 1e6:.3f} | {row['cycles'] / row['macs']:.2f} | {error:+.1f} % | "
            f"{f'{cycles / 1e6:.3f}' if cycles else '-'} | {_grouped(arena)} |"
        )
    return "\n".join(lines) + "\n" + float_layers.table(read_layers())


def read_layers() -> dict[str, Any]:
    """What `benchmarks.float_layers` recorded."""
    found: dict[str, Any] = json.loads(float_layers.RECORD.read_text(encoding="utf-8"))
    return found


def _grouped(size: int | None) -> str:
    return "-" if size is None else f"{size:,}".replace(",", " ")


def _order(item: tuple[str, Any]) -> tuple[int, int, str]:
    model, core_name, goal = item[0].split()
    return MODELS.index(model), CORES.index(core_name), goal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", action="append", choices=CORES, help="repeatable")
    parser.add_argument("--model", action="append", choices=MODELS, help="repeatable")
    parser.add_argument("--goal", action="append", choices=[goal.value for goal in GOALS])
    parser.add_argument("--page", action="store_true", help="measure nothing")
    options = parser.parse_args()
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for core_name in () if options.page else options.core or CORES:
        for model in options.model or MODELS:
            for goal in GOALS:
                if options.goal and goal.value not in options.goal:
                    continue
                record[f"{model} {core_name} {goal.value}"] = row = measured(model, core_name, goal)
                print(model, core_name, goal.value, row, flush=True)
                text = json.dumps(record, indent=1, sort_keys=True) + "\n"
                RECORD.write_text(text, encoding="utf-8")
    PAGE.write_text(page(record), encoding="utf-8")


if __name__ == "__main__":
    main()
