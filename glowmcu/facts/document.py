"""`facts.json` in a bundle's folder: what compile, verify, bench and tune found out about it.

Each command keeps what its `--json` prints, under its own name. The facts belong to the bundle
whose manifest has the digest that they name: those of another are forgotten.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from glowmcu.file_writing import write_text_file
from glowmcu.manifest import FILE_NAME as MANIFEST

FILE_NAME = "facts.json"
FORMAT_VERSION = 1

Facts = dict[str, Any]


def read_facts(folder: Path) -> Facts:
    """Bodies by section; empty where the bundle in `folder` has none, or only those of another."""
    try:
        document = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        is_ours = document["format"] == FORMAT_VERSION and document["bundle"] == _digest(folder)
        facts = document["facts"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return facts if is_ours and isinstance(facts, dict) else {}


def keep_facts(folder: Path, **sections: object) -> None:
    """Put them in place of those of the same names. A folder that cannot be written stays as it
    is: facts are for reports, and no command fails for the want of them.
    """
    with suppress(OSError):
        facts = {**read_facts(folder), **sections}
        document = {"format": FORMAT_VERSION, "bundle": _digest(folder), "facts": facts}
        write_text_file(folder / FILE_NAME, json.dumps(document, indent=1) + "\n")


def _digest(folder: Path) -> str:
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
