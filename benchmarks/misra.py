"""Bundles for every family of cores under cppcheck's MISRA C:2012 addon: benchmarks/misra.md.

    python -m benchmarks.misra [--bundle NAME] [--page]

A finding of a Required rule without a deviation for its place (`glowmcu.emit_c.misra_record`) is
printed and fails the run, as does a deviation that no finding needs. `--page` also writes
docs/misra.md, which says the same of what is emitted.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks.misra_bundles import bundles
from glowmcu.emit_c.assembly_text import assembly_strings
from glowmcu.emit_c.misra import category, disapplied_table, explains, places, table
from glowmcu.emit_c.misra_record import DEVIATIONS, DISAPPLIED
from glowmcu.resources import headers_in, resource_dir
from tests.support.misra import Finding, findings

REPO = Path(__file__).resolve().parents[1]
PAGE = Path(__file__).resolve().with_suffix(".md")
DOCUMENT = REPO / "docs" / "misra.md"


def unexplained(found: Iterable[Finding]) -> list[Finding]:
    """Findings of rules that are not Advisory without a deviation for their place, and Advisory
    ones of a rule that is not disapplied.
    """
    disapplied = {item.rule for item in DISAPPLIED}
    return [
        item
        for item in found
        if item.rule not in disapplied and not explains(DEVIATIONS, item.rule, item.file, item.code)
    ]


def needed(found: Iterable[Finding]) -> Counter[str]:
    """How many findings each deviation explains, by its key."""
    keys = Counter[str]()
    for item in found:
        keys.update(d.key for d in explains(DEVIATIONS, item.rule, item.file, item.code))
    return keys


def emitted() -> dict[str, str]:
    """All C that can be emitted: headers, and templates under the names of what they make."""
    code = {
        name: path.read_text("utf-8") for name, path in headers_in(resource_dir("libjit")).items()
    }
    templates = resource_dir("templates")
    for path in sorted((*templates.glob("kernels/**/*.j2"), *templates.glob("bundle/*.j2"))):
        code[path.name.removesuffix(".j2")] = path.read_text("utf-8")
    code["assembly.c"] = assembly_strings(("ldr r2, [r1, \\x]",))  # what macros in all of them have
    return code


def document() -> str:
    """docs/misra.md: where deviations stand."""
    head = (REPO / "docs" / "misra_head.md").read_text("utf-8")
    found = places(DEVIATIONS, emitted())
    return (
        f"{head}\n## Deviations\n\n{table(found)}\n"
        f"## Advisory rules that are disapplied\n\n{disapplied_table(DISAPPLIED)}"
    )


def page(rows: Mapping[str, Counter[str]], counts: Counter[str]) -> str:
    """benchmarks/misra.md."""
    lines = [
        "# MISRA C:2012 findings in bundles",
        "",
        "By cppcheck's addon, as `python -m benchmarks.misra --page` ran it; the deviations are in",
        "[docs/misra.md](../docs/misra.md). Every finding that is not Advisory has one.",
        "",
        "| bundle | Required | by rule | Advisory |",
        "|---|--:|---|--:|",
    ]
    for name, rules in rows.items():
        required = {rule: n for rule, n in rules.items() if category(rule) != "Advisory"}
        text = ", ".join(f"{rule} ({n})" for rule, n in sorted(required.items(), key=_by_number))
        all_required = sum(required.values())
        lines.append(f"| {name} | {all_required} | {text} | {rules.total() - all_required} |")
    lines += ["", "| deviation | rule | findings |", "|---|---|--:|"]
    lines += [f"| {item.key} | {item.rule} | {counts[item.key]} |" for item in DEVIATIONS]
    return "\n".join([*lines, ""])


def _by_number(item: tuple[str, int]) -> tuple[int, ...]:
    return tuple(int(part) for part in item[0].split("."))


def main() -> None:
    """Exit code 1 when something is unexplained or, over all bundles, a deviation is stale."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.misra")
    parser.add_argument("--bundle", action="append", choices=list(bundles()))
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    rows: dict[str, Counter[str]] = {}
    counts: Counter[str] = Counter()
    wrong: list[Finding] = []
    for name in given.bundle or bundles():
        with tempfile.TemporaryDirectory() as folder:
            found = findings(bundles()[name].write(Path(folder) / "net"), bundles()[name].core)
        rows[name] = Counter(item.rule for item in found)
        counts += needed(found)
        wrong += unexplained(found)
        print(f"{name}: {len(found)} findings, {len(unexplained(found))} unexplained", flush=True)
    looked_for = [] if given.bundle else [item for item in DEVIATIONS if not item.newer]
    stale = [item.key for item in looked_for if not counts[item.key]]
    for item in dict.fromkeys(wrong):
        print(f"Rule {item.rule} at {item.file}: {item.code}")
    print(*(f"{key}: no finding needs it" for key in stale), sep="\n")
    if given.page:
        PAGE.write_text(page(rows, counts), encoding="utf-8")
        DOCUMENT.write_text(document(), encoding="utf-8")
    raise SystemExit(1 if wrong or stale else 0)


if __name__ == "__main__":
    main()
