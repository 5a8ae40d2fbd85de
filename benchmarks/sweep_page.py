"""sweep.json and sweep.md: what random sweeps found, by core and family; nothing is typed by hand.

A sweep takes the place of the one of the same core and family before it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RECORD = Path(__file__).resolve().parent / "sweep.json"
PAGE = RECORD.with_suffix(".md")

_HEAD = """# Random layers

Written by `python -m benchmarks.sweep --record` from `sweep.json`; do not edit. Layers of random
shape, stride, padding, zero points, scales, weights (-128 too) and biases run on the modelled core
and are compared, byte for byte, with what the operator means (`glowmcu/ops`): on random inputs, all
lowest, all highest and all at the zero point. Each batch prefers one variant; a layer that it does
not accept goes to another one.
"""


def record(core_name: str, family: str, entry: Mapping[str, Any]) -> None:
    """Put one sweep into the record and write the page again."""
    found = stored()
    found.setdefault(core_name, {})[family] = dict(entry)
    RECORD.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(page(found), encoding="utf-8")


def stored() -> dict[str, Any]:
    """What is recorded: core, family, then the entry."""
    if not RECORD.is_file():
        return {}
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def page(found: Mapping[str, Any]) -> str:
    """The whole file."""
    lines = [
        _HEAD,
        "| core | family | layers | wrong | first seed | layers by variant |",
        "|---|---|---:|---:|---:|---|",
    ]
    for core_name in sorted(found):
        for family, entry in sorted(found[core_name].items()):
            variants = ", ".join(f"`{name}` {many}" for name, many in entry["variants"].items())
            cells = (core_name, family, entry["layers"], entry["wrong"], entry["seed"], variants)
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"
