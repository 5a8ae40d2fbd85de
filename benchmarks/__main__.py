"""`python -m benchmarks`: measure everything, write results.json and results.md, update README.

`--only kws,ic` measures those again and keeps the rest; `--compile-time` only times compilations
again (they alone depend on the machine and its load); `--page` only writes results.md anew.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.progress import Progress

from benchmarks.measure import check_equality, compile_seconds, measure
from benchmarks.models import (
    GOALS,
    INPUT_WAYS,
    MODELS,
    MORE_TARGETS,
    OTHER_INPUT_GOALS,
    REPO,
    TARGETS,
    Model,
)
from benchmarks.results_page import page
from glowmcu.verify.toolchain import find_gcc

RESULTS = REPO / "benchmarks" / "results.json"


def compiler_version() -> str:
    """First line of the cross compiler's own words."""
    gcc = find_gcc()
    if gcc is None:
        sys.exit("arm-none-eabi-gcc is missing: apt-get install gcc-arm-none-eabi")
    done = subprocess.run([str(gcc), "--version"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]


def measure_all(models: list[Model], old: dict[str, Any]) -> dict[str, Any]:
    """Results of `models`, those of the others from `old`."""
    names = {model.name for model in models}
    rows = [row for row in old.get("rows", []) if row["model"] not in names]
    goals = [row for row in old.get("goals", []) if row["model"] not in names]
    ways = {
        way: [row for row in old.get(way, []) if row["model"] not in names] for way in INPUT_WAYS
    }
    equality = [row for row in old.get("equality", []) if row["model"] not in names]
    seconds = {k: v for k, v in old.get("compile_seconds", {}).items() if k not in names}
    with Progress() as progress, tempfile.TemporaryDirectory() as work:
        targets = (*TARGETS, *MORE_TARGETS)
        task = progress.add_task("measuring", total=len(models) * (len(targets) + 2))
        for model in models:
            for target in targets:
                rows.append(measure(model, target, Path(work)).to_json())
                progress.advance(task)
            goals += _goals(model, Path(work))
            for way in INPUT_WAYS:
                ways[way] += _other_input(model, way, Path(work))
            progress.advance(task)
            equality.append(asdict(check_equality(model)))
            seconds[model.name] = round(compile_seconds(model), 2)
            progress.advance(task)
    order = {model.name: number for number, model in enumerate(MODELS)}
    rows.sort(key=lambda row: order[row["model"]])
    goals.sort(key=lambda row: order[row["model"]])
    for found in ways.values():
        found.sort(key=lambda row: order[row["model"]])
    equality.sort(key=lambda row: order[row["model"]])
    return {
        "compiler": compiler_version(), "rows": rows, "goals": goals, **ways,
        "equality": equality, "compile_seconds": seconds,
    }  # fmt: skip


def measure_core(core: str, old: dict[str, Any]) -> dict[str, Any]:
    """The rows of one target anew, and all else as it was."""
    (target,) = [item for item in (*TARGETS, *MORE_TARGETS) if item.core == core]
    rows = {(row["model"], row["core"]): row for row in old["rows"]}
    with tempfile.TemporaryDirectory() as work:
        for model in MODELS:
            row = measure(model, target, Path(work)).to_json()
            rows[model.name, core] = row
            print(f"{model.name} {row['instructions']:,} instructions", file=sys.stderr)
    cores = [item.core for item in (*TARGETS, *MORE_TARGETS)]
    models = [model.name for model in MODELS]
    order = sorted(rows, key=lambda key: (models.index(key[0]), cores.index(key[1])))
    return {**old, "rows": [rows[key] for key in order]}


def _goals(model: Model, folder: Path) -> list[dict[str, Any]]:
    """The model on the first target, by what is asked for."""
    rows = []
    for goal, simplify in GOALS:
        row = measure(model, TARGETS[0], folder, goal, simplify).to_json()
        rows.append({"goal": goal, "simplify": simplify, **row})
    return rows


def _other_input(model: Model, way: str, folder: Path) -> list[dict[str, Any]]:
    """The same with its input pushed row by row or outside the arena, if it has rows."""
    goals = OTHER_INPUT_GOALS if model.input_of_rows else ()
    rows = [(goal, measure(model, TARGETS[0], folder, goal, way=way)) for goal in goals]
    return [{"goal": goal, **row.to_json()} for goal, row in rows]


def main() -> None:
    """Exit code 1 when anything differs from the oracle."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="comma-separated model names")
    parser.add_argument("--core", help="only the rows of this core")
    parser.add_argument("--compile-time", action="store_true", help="only time compilations")
    parser.add_argument("--page", action="store_true", help="only write results.md")
    options = parser.parse_args()
    old = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    if options.compile_time:
        old["compile_seconds"] = {
            model.name: round(compile_seconds(model), 2) for model in MODELS if model.path.is_file()
        }
    elif options.core:
        old = measure_core(options.core, old)
    elif not options.page:
        wanted = [name for name in options.only.split(",") if name]
        models = [model for model in MODELS if not wanted or model.name in wanted]
        for model in models:
            if not model.path.is_file():
                print(f"skipped {model.name}: {model.path.name} is not here", file=sys.stderr)
        old = measure_all([model for model in models if model.path.is_file()], old)
    RESULTS.write_text(json.dumps(old, indent=1) + "\n", encoding="utf-8")
    (REPO / "benchmarks" / "results.md").write_text(page(old), encoding="utf-8")
    subprocess.run([sys.executable, str(REPO / "scripts" / "update_readme.py")], check=True)
    if any(row["different"] for row in old["equality"]):
        sys.exit("some outputs differ from the oracle: see results.md")


if __name__ == "__main__":
    main()
