"""Commands that are shown can be typed."""

from __future__ import annotations

import shlex
from types import SimpleNamespace

import pytest

from glowmcu import shell_words


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_words, "os", SimpleNamespace(name="nt"))


@pytest.mark.parametrize("word", ["build/kws", "my models/kws", "it's", "", "a$b", "x=1x49"])
def test_a_shell_reads_what_was_meant(word: str) -> None:
    line = shell_words.command_line(["glowmcu", word])
    assert shlex.split(line) == ["glowmcu", word]


# cmd knows no single quotes; where there is a space, programs see a backslash as it is but before a
# quotation mark.
@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("build\\kws", "build\\kws"),
        ("C:\\models\\kws.tflite", "C:\\models\\kws.tflite"),
        ("host,cortex-m", "host,cortex-m"),
        ("my models\\kws", '"my models\\kws"'),
        ("my models\\", '"my models\\\\"'),
        ('a "b"', '"a \\"b\\""'),
        ("it's", '"it\'s"'),
        ("a&b", '"a&b"'),
        ("", '""'),
    ],
)
@pytest.mark.usefixtures("windows")
def test_windows_takes_double_quotes_where_any_are_needed(word: str, line: str) -> None:
    assert shell_words.quoted(word) == line
