"""Copies the figures of benchmarks/results.md into README.md.

What stands in results.md between `<!-- readme:begin -->` and `<!-- readme:end -->` goes between
README's `<!-- results:begin -->` and `<!-- results:end -->`. `--check` writes nothing and exits 1
when README is stale.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
README = REPO / "README.md"
RESULTS = REPO / "benchmarks" / "results.md"
NOT_MEASURED = "No figures yet: `benchmarks/results.md` has not been generated."


def section(text: str, name: str, where: Path) -> tuple[int, int]:
    """Start and end of what lies between the markers of section `name`."""
    found = re.search(rf"<!-- {name}:begin -->\n(.*?)<!-- {name}:end -->", text, re.DOTALL)
    if found is None:
        sys.exit(f"{where}: no section <!-- {name}:begin --> … <!-- {name}:end -->")
    return found.span(1)


def figures() -> str:
    if not RESULTS.is_file():
        return NOT_MEASURED + "\n"
    text = RESULTS.read_text(encoding="utf-8")
    begin, end = section(text, "readme", RESULTS)
    return text[begin:end]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit 1 when README.md is stale")
    check = parser.parse_args().check

    old = README.read_text(encoding="utf-8")
    begin, end = section(old, "results", README)
    new = old[:begin] + figures() + old[end:]
    if check and new != old:
        sys.exit("README.md is stale: run `python scripts/update_readme.py`")
    if not check:
        README.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
