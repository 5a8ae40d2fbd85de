"""Commands that are shown can be typed."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
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


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
@pytest.mark.parametrize(
    "name", [b"b\xc3\xbcndel", b"\xff it's \\ $HOME", b"a\x1b[31m\nb", b"\xffab"]
)
def test_what_cannot_be_shown_is_read_by_a_shell_as_it_was(
    name: bytes, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding))
    line = shell_words.command_line(["printf", "%s", os.fsdecode(name)])
    assert line.encode(encoding).decode(encoding).isprintable()
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert done.stdout == name


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
