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

from glowmcu.errors import error
from glowmcu.file_writing import write_text_file
from glowmcu.manifest import FILE_NAME as MANIFEST

FILE_NAME = "facts.json"
FORMAT_VERSION = 1
#: What the file holds, as JSON Schema.
SCHEMA_FILE = Path(__file__).with_name("facts.schema.json")

Facts = dict[str, Any]


def read_facts(folder: Path) -> Facts:
    """Bodies by section; empty if the bundle in `folder` has none, or only those of another.
    Raises GM672 for facts of a later version.
    """
    document = _document(folder)
    if document.get("format", FORMAT_VERSION) != FORMAT_VERSION:
        raise error(
            "GM672",
            f"facts.json has format {str(document['format'])[:20]}, this version reads "
            f"{FORMAT_VERSION}",
            str(folder / FILE_NAME),
            "use the version of glowmcu that wrote it, or compile the model again",
        )
    facts = document.get("facts")
    with suppress(OSError):
        if isinstance(facts, dict) and document.get("bundle") == _digest(folder):
            return facts
    return {}


def keep_facts(folder: Path, **sections: object) -> None:
    """Put them in place of those of the same names. A folder that cannot be written stays as it
    is, and so do this bundle's facts of a later version: facts are for reports, and no command
    fails for the want of them.
    """
    with suppress(OSError):
        known = _document(folder)
        is_later = known.get("format", FORMAT_VERSION) != FORMAT_VERSION
        if is_later and known.get("bundle") == _digest(folder):
            return
        facts = {**({} if is_later else read_facts(folder)), **sections}
        document = {"format": FORMAT_VERSION, "bundle": _digest(folder), "facts": facts}
        write_text_file(folder / FILE_NAME, json.dumps(document, indent=1) + "\n")


def _document(folder: Path) -> Facts:
    """The file's object; empty if there is none."""
    try:
        document = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _digest(folder: Path) -> str:
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
