"""docs/comparison.md: every row has a source, and says why where another tool is ahead."""

from __future__ import annotations

import re

from tests.conftest import REPO

TEXT = (REPO / "docs" / "comparison.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith("| what you want")
]
TOOLS = ("ST", "Edge Impulse", "TFLM", "Vela", "onnx2c", "ExecuTorch")


def test_every_statement_about_another_tool_has_a_source_that_is_given() -> None:
    given = dict(re.findall(r"^\[\^([\w-]+)\]: (.+)$", TEXT, re.MULTILINE))
    assert all("https://" in source or "README" in source for source in given.values())
    table = TEXT[: TEXT.index("\n[^")]
    assert set(re.findall(r"\[\^([\w-]+)\]", table)) == set(given)
    for _, _, others, _ in ROWS:
        for statement in re.split(r"\. (?=[A-Zo])", others):
            assert re.search(r"\[\^[\w-]+\]$", statement.rstrip(".")), statement


def test_a_row_where_another_is_ahead_says_why() -> None:
    assert len(ROWS) >= 10
    for what, _, _, ahead in ROWS:
        reason = re.sub(r"^[\w ,2]+?[.:,] ?", "", ahead)
        assert ahead == "nobody" or len(reason.split()) >= 8, what


def test_every_tool_is_compared() -> None:
    for tool in TOOLS:
        assert sum(f"{tool}:" in others for _, _, others, _ in ROWS) >= 2, tool
