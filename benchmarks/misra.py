"""Bundles for every family of cores under cppcheck's MISRA C:2012 addon: benchmarks/misra.md.

    python -m benchmarks.misra [--bundle NAME] [--missing] [--page]

A finding of a Required rule without a deviation for its place (`glowmcu.emit_c.misra_record`) is
printed and fails the run, as does a deviation that no finding needs. `--page` records each bundle
in benchmarks/misra.json, so that `--missing` goes on where a run ended, and writes docs/misra.md,
too, which says the same of what is emitted.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks.ledger import read_ledger, write_ledger
from benchmarks.misra_bundles import bundles
from glowmcu.emit_c.assembly_text import assembly_strings
from glowmcu.emit_c.misra import category, disapplied_table, explains, places, table
from glowmcu.emit_c.misra_record import DEVIATIONS, DISAPPLIED
from glowmcu.resources import headers_in, resource_dir
from tests.support.misra import Finding, findings

REPO = Path(__file__).resolve().parents[1]
PAGE = Path(__file__).resolve().with_suffix(".md")
LEDGER = PAGE.with_suffix(".json")
DOCUMENT = REPO / "docs" / "misra.md"

#: Of a bundle: findings by rule, and by the deviation that explains them.
Record = dict[str, dict[str, int]]


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


def counted(ledger: Mapping[str, Record]) -> Counter[str]:
    """How many findings each deviation explains in all bundles, by its key."""
    counts = Counter[str]()
    for record in ledger.values():
        counts.update(record["deviations"])
    return counts


def page(ledger: Mapping[str, Record]) -> str:
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
    for name in (name for name in bundles() if name in ledger):
        rules = ledger[name]["rules"]
        required = {rule: n for rule, n in rules.items() if category(rule) != "Advisory"}
        text = ", ".join(f"{rule} ({n})" for rule, n in sorted(required.items(), key=_by_number))
        all_required = sum(required.values())
        lines.append(f"| {name} | {all_required} | {text} | {sum(rules.values()) - all_required} |")
    counts = counted(ledger)
    lines += ["", "| deviation | rule | findings |", "|---|---|--:|"]
    lines += [f"| {item.key} | {item.rule} | {counts[item.key]} |" for item in DEVIATIONS]
    return "\n".join([*lines, ""])


def _by_number(item: tuple[str, int]) -> tuple[int, ...]:
    return tuple(int(part) for part in item[0].split("."))


def main() -> None:
    """Exit code 1 when something is unexplained or, over all bundles, a deviation is stale."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.misra")
    parser.add_argument(
        "--bundle", action="append", choices=list(bundles()), metavar="NAME", help="repeatable"
    )
    parser.add_argument("--missing", action="store_true", help="only those not recorded yet")
    parser.add_argument("--page", action="store_true", help="record, and write the pages")
    given = parser.parse_args()
    recorded = read_ledger(LEDGER, {})
    ledger: dict[str, Record] = {name: recorded[name] for name in bundles() if name in recorded}
    left = [name for name in bundles() if name not in ledger]
    names = given.bundle or (left if given.missing else list(bundles()))
    wrong: dict[Finding, None] = {}
    for name in names:
        ledger[name], unexplained_here = _look_at(name)
        wrong |= dict.fromkeys(unexplained_here)
        if given.page and not unexplained_here:
            write_ledger(LEDGER, ledger, page(ledger))
    counts = counted(ledger)
    is_whole = set(ledger) == set(bundles())
    stale = [d.key for d in DEVIATIONS if is_whole and not d.newer and not counts[d.key]]
    for item in wrong:
        print(f"Rule {item.rule} at {item.file}: {item.code}")
    print(*(f"{key}: no finding needs it" for key in stale), sep="\n")
    if given.page:
        DOCUMENT.write_text(document(), encoding="utf-8")
    raise SystemExit(1 if wrong or stale else 0)


def _look_at(name: str) -> tuple[Record, list[Finding]]:
    """What is recorded of a bundle, and the findings that nothing explains."""
    with tempfile.TemporaryDirectory() as folder:
        found = findings(bundles()[name].write(Path(folder) / "net"), bundles()[name].core)
    wrong = unexplained(found)
    print(f"{name}: {len(found)} findings, {len(wrong)} unexplained", flush=True)
    rules = Counter(item.rule for item in found)
    return {"rules": dict(sorted(rules.items())), "deviations": dict(needed(found))}, wrong


if __name__ == "__main__":
    main()
