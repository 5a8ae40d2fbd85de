"""What ops/README.md promises of a new operator: five files, no list, no record that is stale."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import kernel_sources

ROOT = Path(__file__).parents[2]
#: What the compiler is made of, and its pages.
FOLDERS = ("glowmcu", "libjit", "templates", "docs")
PAGE = "glowmcu/ops/README.md"


def files_of_the_example() -> list[str]:
    """The first column of the page's table."""
    section = (ROOT / PAGE).read_text().split("## Adding an operator")[1]
    return re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)


def test_the_example_takes_five_files() -> None:
    files = files_of_the_example()
    assert len(files) == 5
    assert [name for name in files if "atan2" not in (ROOT / name).read_text().lower()] == []


def test_no_other_file_knows_the_example() -> None:
    texts = (
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".h", ".j2", ".md", ".toml", ".json")
    )
    found = {str(path.relative_to(ROOT)) for path in texts if "atan2" in path.read_text().lower()}
    assert found - {PAGE, *_written()} == {*files_of_the_example()} - {"tests/ops/test_angle.py"}


def _written() -> set[str]:
    """Pages that programs write."""
    return {"docs/misra.md", "docs/conformance.md"}


def test_a_new_header_makes_no_record_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    now = kernel_sources.kernel_sources()
    assert "glowmcu_atan2f.h" in now
    before = {name: digest for name, digest in now.items() if name != "glowmcu_atan2f.h"}
    monkeypatch.setattr(kernel_sources, "_states", lambda: {"before": before, "now": now})
    assert kernel_sources.is_of_today("before")
    changed = {**before, "glowmcu_atanf.h": "another"}
    monkeypatch.setattr(kernel_sources, "_states", lambda: {"before": changed})
    assert not kernel_sources.is_of_today("before")
