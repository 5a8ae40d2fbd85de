"""forests.md from forests.json: no figure in it is typed by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

RECORD, PAGE = (Path(__file__).with_name(f"forests.{kind}") for kind in ("json", "md"))
OURS = "GlowMCU"

_HEAD = """# Forests

Written by `python -m benchmarks.forests` from `forests.json`; do not edit. scikit-learn's
RandomForestClassifier on its digits (64 pixels of 0 to 16, ten classes), trees grown until leaves
are pure, as C by GlowMCU, [emlearn](https://emlearn.org),
[m2cgen](https://github.com/BayesWitnesses/m2cgen) and
[micromlgen](https://github.com/eloquentarduino/micromlgen). All have the same forest, the same
compiler ({compiler}) with the same flags, `-O2` or `-Os`, and the same core, modelled, without
wait states. Cycles are the mean of the first {samples} test samples, the class alone; features are
in the smallest type that each takes: bytes, int16 (emlearn), float (micromlgen), double (m2cgen).
*Flash* is the linked program, its constants and all that it calls; *RAM* is variables, arena and
the deepest stack, without the caller's features where they are not in the arena. *Same* are samples
with scikit-learn's class. m2cgen is left out of 100 trees: of the 4.4 MB of C that it makes of
them, one function, gcc makes assembly in minutes whose branches reach too far for Thumb
("conditional branch out of range"), and Python has to be allowed to recurse as deep as the trees
add up.

{versions}.
"""


@dataclass(frozen=True)
class Row:
    """Bytes of flash, of variables with the arena, and of stack; means of a prediction."""

    trees: int
    core: str
    engine: str
    level: str
    flash_bytes: int
    fixed_bytes: int
    stack_bytes: int
    instructions: int
    cycles: int
    same: int


@dataclass(frozen=True)
class Forest:
    """A forest, and the share of all test samples that scikit-learn gets right."""

    trees: int
    nodes: int
    accuracy: float


@dataclass(frozen=True)
class Record:
    """What a run found, with the versions of the others and of the compiler; `kernels` is the
    digest of ours.
    """

    rows: tuple[Row, ...]
    forests: tuple[Forest, ...]
    versions: dict[str, str]
    compiler: str
    samples: int
    kernels: str


def record() -> Record:
    """What forests.json holds."""
    data = json.loads(RECORD.read_text(encoding="utf-8"))
    rows = tuple(Row(**row) for row in data.pop("rows"))
    forests = tuple(Forest(**forest) for forest in data.pop("forests"))
    return Record(rows, forests, **data)


def page() -> str:
    """The page."""
    found = record()
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    lines = [_HEAD.format(compiler=found.compiler, samples=found.samples, versions=versions)]
    for forest in found.forests:
        lines.append(
            f"## {forest.trees} trees, {forest.nodes:,} nodes, {forest.accuracy:.1%} right\n"
        )
        for core in dict.fromkeys(row.core for row in found.rows):
            lines += _table(
                core, [r for r in found.rows if (r.trees, r.core) == (forest.trees, core)]
            )
    return "\n".join(lines).rstrip() + "\n"


def _table(core: str, rows: list[Row]) -> list[str]:
    lines = [
        f"### {core}\n",
        "| | | flash B | RAM B | instructions | cycles | same |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        ram = row.fixed_bytes + row.stack_bytes
        lines.append(
            f"| {row.engine} | {row.level} | {row.flash_bytes:,} | {ram:,} | "
            f"{row.instructions:,} | {row.cycles:,} | {row.same} |"
        )
    return [*lines, ""]
