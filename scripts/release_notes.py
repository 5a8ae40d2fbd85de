"""What a release says of itself: `python -m scripts.release_notes v1.2.3` prints its changelog.

Refused where tag, version, citation and changelog do not agree, or entries are still unreleased.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def release_notes(tag: str, changelog: str, version: str, citation: str) -> str:
    """Raises ValueError with what has to be mended first."""
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag}, glowmcu/version.py says {version}")
    if not re.search(rf"^version: {re.escape(version)}$", citation, re.MULTILINE):
        raise ValueError(f"CITATION.cff does not name version {version}")
    parts = dict(re.findall(r"^## (\S+).*\n((?:(?!## ).*\n?)*)", changelog, re.MULTILINE))
    if parts.get("Unreleased", "").strip():
        raise ValueError("CHANGELOG.md has entries under Unreleased: put them under the version")
    if not parts.get(version, "").strip():
        raise ValueError(f"CHANGELOG.md has nothing under ## {version}")
    return f"{parts[version].strip()}\n"


def main() -> int:
    """Exit code 1 where something does not agree."""
    version = re.findall(r'"(\d[^"]*)"', (ROOT / "glowmcu" / "version.py").read_text())[0]
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff")]
    try:
        print(release_notes(sys.argv[1], texts[0], version, texts[1]), end="")
    except ValueError as cause:
        print(cause, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
