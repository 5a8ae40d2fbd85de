"""The part of docs/conformance.md that another script writes than the rest."""

from __future__ import annotations

BEGIN = "<!-- by benchmarks/onnx_backend_tests.py -->\n"
END = "<!-- end -->\n"


def stored_section(document: str) -> str:
    """The part between the marks, marks included; empty where there is none."""
    start, end = document.find(BEGIN), document.find(END)
    return document[start : end + len(END)] if 0 <= start < end else ""


def replace_section(document: str, section: str) -> str:
    """`document` with `section` in the place of the stored one, or at its end."""
    fresh = f"{BEGIN}\n{section}\n{END}"
    old = stored_section(document)
    return document.replace(old, fresh) if old else f"{document.rstrip()}\n\n{fresh}"
