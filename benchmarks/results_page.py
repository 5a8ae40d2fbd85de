"""results.md from results.json: nothing in it is typed by hand."""

from __future__ import annotations

from typing import Any

from benchmarks.models import INPUT_WAYS, MODELS, MORE_TARGETS, TARGETS, TFLM_CMSIS_NN
from glowmcu.report.tables import count

HEAD = """# Results

Written by `python -m benchmarks` from `results.json`; do not edit. Instructions and cycles are of
one inference and do not depend on the machine that measured: executed by Unicorn, on the M55 by
QEMU, with a cycle model of the core (zero wait states; M7, M33 and M55 approximate). `hazard3` is
the RISC-V core of the RP2350, compiled by riscv64-unknown-elf-gcc. Code is `.text` of the bundle at
the board's flags and -O2, with the parameters of its layers; constants are all that the bundle
keeps in flash beside these. The arena is everything: inputs, outputs, scratch.
"""


def thousands_of(value: int) -> str:
    """Millions with three digits, as the reference figures are given."""
    return f"{value / 1e6:.3f}"


def page(results: dict[str, Any]) -> str:
    """The whole file."""
    rows = results["rows"]
    parts = [HEAD, f"Compiler: {results['compiler']}.\n"]
    parts += ["<!-- readme:begin -->", *_headline(rows), "<!-- readme:end -->\n"]
    for target in (*TARGETS, *MORE_TARGETS):
        parts += [
            f"## {target.core} ({target.board}, {target.executor})\n",
            *_target(rows, target.core),
        ]
    parts += _goals(results["goals"])
    for way in INPUT_WAYS:
        parts += _other_input(way, results.get(way, []), results["goals"])
    parts += _equality(results["equality"])
    parts += _compile_time(results["compile_seconds"])
    return "\n".join(parts)


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return ["| " + " | ".join(line) + " |" for line in (head, rule, *rows)] + [""]


def _headline(rows: list[dict[str, Any]]) -> list[str]:
    """Cortex-M4, one line a model, with what TFLM needs for it beside ours."""
    head = [
        "Cortex-M4", "M cycles", "M instructions", "TFLM + CMSIS-NN", "arena B", "TFLM",
        "code B", "constants B",
    ]  # fmt: skip
    body = []
    for row in rows:
        if row["core"] == "cortex-m4":
            reference, arena = _reference(row)
            body.append([
                row["model"], thousands_of(row["cycles"]), thousands_of(row["instructions"]),
                f"{reference:.3f}" if reference else "-",
                count(row["arena_bytes"]), count(arena),
                count(row["code_bytes"]), count(row["weights_bytes"]),
            ])  # fmt: skip
    return _table(head, body)


def _reference(row: dict[str, Any]) -> tuple[float | None, int | None]:
    """Million instructions of TFLM with CMSIS-NN on the row's core, and its arena, where known."""
    instructions, arena = TFLM_CMSIS_NN.get(row["model"], ({}, None))
    return instructions.get(row["core"]), arena


def _target(rows: list[dict[str, Any]], core: str) -> list[str]:
    head = [
        "model", "M instructions", "TFLM + CMSIS-NN", "ratio", "M cycles", "cycles/MAC", "stack B",
        "arena B", "lower bound B", "code B", "constants B",
    ]  # fmt: skip
    return _table(head, [_target_row(row) for row in rows if row["core"] == core])


def _target_row(row: dict[str, Any]) -> list[str]:
    reference, _ = _reference(row)
    millions = row["instructions"] / 1e6
    cycles = row["cycles"]
    return [
        row["model"], f"{millions:.3f}", f"{reference:.3f}" if reference else "-",
        f"{millions / reference:.2f}" if reference else "-",
        "-" if cycles is None else thousands_of(cycles),
        "-" if cycles is None else f"{cycles / row['macs']:.2f}",
        count(row["stack_bytes"]), count(row["arena_bytes"]),
        count(row["arena_lower_bound_bytes"]) + (" (reached)" if row["arena_optimal"] else ""),
        count(row["code_bytes"]), count(row["weights_bytes"]),
    ]  # fmt: skip


def _goals(rows: list[dict[str, Any]]) -> list[str]:
    """One line a model and goal; without simplification only where that changes anything."""
    head = ["model", "--optimize", "M instructions", "M cycles", "arena B", "code B", "constants B"]
    simplified = {(row["model"], row["goal"]): row for row in rows if row["simplify"]}
    body = []
    for row in rows:
        with_it = simplified[row["model"], row["goal"]]
        if not row["simplify"] and row["instructions"] == with_it["instructions"]:
            continue
        how = row["goal"] + ("" if row["simplify"] else " --no-simplify")
        body.append([
            row["model"], how, thousands_of(row["instructions"]), thousands_of(row["cycles"]),
            count(row["arena_bytes"]), count(row["code_bytes"]), count(row["weights_bytes"]),
        ])  # fmt: skip
    return [f"## {TARGETS[0].core} by goal\n", *_table(head, body)]


#: What is said of each of `INPUT_WAYS`.
_WAYS = {
    "streamed": (
        "with a streamed input",
        "`--stream-input`: the application pushes rows of the input, which never is whole.",
    ),
    "outside": (
        "with the input outside the arena",
        "`--outside-input`: the input is read where it lies, more than once where strips pay.",
    ),
}


def _other_input(way: str, rows: list[dict[str, Any]], whole: list[dict[str, Any]]) -> list[str]:
    """One line a model and goal, beside arena, cycles and MACs with the input in the arena."""
    if not rows:
        return []
    head = ["model", "--optimize", "M cycles", "with the input whole", "arena B",
            "with the input whole", "more MACs", "stack B", "code B"]  # fmt: skip
    known = {(row["model"], row["goal"]): row for row in whole if row["simplify"]}
    body = []
    for row in rows:
        whole_row = known[row["model"], row["goal"]]
        body.append([
            row["model"], row["goal"],
            thousands_of(row["cycles"]), thousands_of(whole_row["cycles"]),
            count(row["arena_bytes"]), count(whole_row["arena_bytes"]),
            f"{100 * (row['macs'] / whole_row['macs'] - 1):.1f} %",
            count(row["stack_bytes"]), count(row["code_bytes"]),
        ])  # fmt: skip
    title, text = _WAYS[way]
    return [f"## {TARGETS[0].core} {title}\n", f"{text}\n", *_table(head, body)]


def _equality(rows: list[dict[str, Any]]) -> list[str]:
    head = ["model", "oracle", "inputs", "of them in Python too", "different"]
    body = [
        [
            row["model"],
            row["oracle"],
            str(row["inputs"]),
            str(row["python_inputs"]),
            str(row["different"]),
        ]
        for row in rows
    ]
    text = "Random inputs, then only -128, only 127 and only the zero point; every output byte.\n"
    return ["## Equality\n", text, *_table(head, body)]


def _compile_time(seconds: dict[str, float]) -> list[str]:
    """The only figures that depend on the machine."""
    body = [[model.name, f"{seconds[model.name]:.2f}"] for model in MODELS if model.name in seconds]
    text = "Seconds of Python with interpreter start, best of three; they depend on the machine.\n"
    return ["## Compile time\n", text, *_table(["model", "s"], body)]
