"""Records of long runs: JSON that a script adds to, and the page that it makes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read_ledger(file: Path, empty: Mapping[str, Any]) -> dict[str, Any]:
    """What is recorded; `empty` where nothing is yet."""
    if not file.is_file():
        return dict(empty)
    body: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return body


def write_ledger(file: Path, body: Mapping[str, Any], page: str) -> None:
    """The record, and the page beside it."""
    file.write_text(json.dumps(body, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    file.with_suffix(".md").write_text(page, encoding="utf-8")
