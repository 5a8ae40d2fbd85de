"""Writes the table of operators in docs/onnx.md from the importers' own words.

    python scripts/onnx_operators.py [--check]

`--check` writes nothing and exits 1 when the page is stale.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from glowmcu.report.operators import operator_rows

REPO = Path(__file__).resolve().parents[1]
PAGE = REPO / "docs" / "onnx.md"
_SECTION = re.compile(r"(<!-- operators:begin -->\n).*?(<!-- operators:end -->)", re.DOTALL)


def table() -> str:
    """Operators with the same importer share a row; families in alphabetical order."""
    shared: dict[tuple[str, str], list[str]] = {}
    rows = [row for row in operator_rows() if row["format"] == "onnx"]
    for row in sorted(rows, key=lambda row: (row["family"], row["domain"], row["operator"])):
        domain = "" if row["domain"] == "ai.onnx" else f"{row['domain']}."
        name = f"`{domain}{row['operator']}`"
        shared.setdefault((row["family"], row["notes"]), []).append(name)
    lines = [f"{len(rows)} operators.", "", "| family | operators | notes |", "|---|---|---|"]
    for (family, notes), names in shared.items():
        text = notes.replace("|", "\\|")
        lines.append(f"| {family.replace('_', ' ')} | {', '.join(names)} | {text} |")
    return "\n".join(lines) + "\n"


def page(old: str) -> str:
    """The page with the table of today. Raises SystemExit where its markers are missing."""
    body = table()
    new, count = _SECTION.subn(lambda found: f"{found[1]}\n{body}\n{found[2]}", old)
    if count != 1:
        sys.exit(f"{PAGE.name}: expected one pair of operators:begin and operators:end")
    return new


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit 1 when the page is stale")
    check = parser.parse_args().check
    old = PAGE.read_text(encoding="utf-8")
    new = page(old)
    if check and new != old:
        sys.exit("docs/onnx.md is stale: run `python scripts/onnx_operators.py`")
    if not check:
        PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
