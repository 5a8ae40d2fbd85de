"""sweep.json and sweep.md: what random sweeps found, a variant at a time; nothing is typed by hand.

A sweep takes the place of the one of the same core, family and variant before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

RECORD = Path(__file__).resolve().parent / "sweep.json"
PAGE = RECORD.with_suffix(".md")

_HEAD = """# Random layers

Written by `python -m benchmarks.sweep --record` from `sweep.json`; do not edit. Layers of random
shape, stride, padding, zero points, scales, weights (-128 too) and biases run on the modelled core
(Helium: QEMU) and, the very same bundle, on this computer, where portable branches compute them.
Every output is compared, byte for byte, with what the operator means (`glowmcu/ops`): on random
inputs, all lowest, all highest and all at the zero point.

Layers are drawn until each variant has accepted its share, which it then computes. Of these some
are computed a second time, *by rows*: in random ranges of rows, in any order, as memory planning
may call them. Some have their result where it *overlaps* with an operand, as near as the kernel
allows. `python -m benchmarks.sweep --stale` sweeps what has changed again.
"""


@dataclass(frozen=True)
class Entry:
    """Layers of a family that a variant computed on a core, and how many outputs were wrong.

    `code` is a digest of the C of the layers `first` of the seed: another one calls for another
    sweep.
    """

    core: str
    family: str
    variant: str
    layers: int
    by_rows: int
    overlapping: int
    wrong: int
    seed: int
    first: Sequence[int]
    code: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is about."""
        return self.core, self.family, self.variant


def record(entry: Entry) -> None:
    """Put a variant's sweep into the record and write the page again."""
    _store({known.key: known for known in stored()} | {entry.key: entry})


def forget(entry: Entry) -> None:
    """Take out the sweep of a variant that there is no more."""
    _store({known.key: known for known in stored() if known.key != entry.key})


def _store(found: Mapping[tuple[str, str, str], Entry]) -> None:
    entries = [found[key] for key in sorted(found)]
    lines = ",\n".join(f" {json.dumps(asdict(known))}" for known in entries)
    RECORD.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    PAGE.write_text(page(entries), encoding="utf-8")


def stored() -> list[Entry]:
    """What is recorded."""
    if not RECORD.is_file():
        return []
    return [Entry(**entry) for entry in json.loads(RECORD.read_text(encoding="utf-8"))]


def page(entries: Sequence[Entry]) -> str:
    """The whole file."""
    cores = sorted({entry.core for entry in entries})
    families = sorted({entry.family for entry in entries})
    lines = [_HEAD]
    lines += _table(("core", "family", "layers", "wrong", "by rows", "overlapping"), 2)
    for core in cores:
        for family in families:
            found = [entry for entry in entries if (entry.core, entry.family) == (core, family)]
            if found:
                lines.append(_row((core, family, *_sums(found))))
    lines += ["", "Layers by variant:", ""]
    lines += _table(("family", "variant", *cores), 2)
    for family, variant in sorted({(entry.family, entry.variant) for entry in entries}):
        found = [entry for entry in entries if (entry.family, entry.variant) == (family, variant)]
        layers = {entry.core: entry.layers for entry in found}
        lines.append(_row((family, f"`{variant}`", *(layers.get(core, "") for core in cores))))
    return "\n".join(lines) + "\n"


def _sums(found: Sequence[Entry]) -> tuple[int, ...]:
    parts = zip(*((e.layers, e.wrong, e.by_rows, e.overlapping) for e in found), strict=True)
    return tuple(map(sum, parts))


def _table(titles: Sequence[str], texts: int) -> list[str]:
    rule = ["---" if column < texts else "---:" for column in range(len(titles))]
    return [_row(titles), f"|{'|'.join(rule)}|"]


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
