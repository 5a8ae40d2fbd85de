"""What a page of Markdown has to be typed: its fenced blocks, and the commands in its sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import REPO

#: Where commands stand: what a user reads.
PAGES = sorted(
    {
        REPO / "README.md",
        REPO / "CONTRIBUTING.md",
        *(REPO / "docs").rglob("*.md"),
        *(REPO / "examples").rglob("README.md"),
        *(REPO / "firmware_examples").rglob("README.md"),
        REPO / "boards" / "README.md",
    }
)
SHELL = ("sh", "bash", "console")
_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S
)
_COMMENT = re.compile(r"<!--.*?-->", re.S)


@dataclass(frozen=True)
class Block:
    """`line` is the line of the page that its text begins in; `title` is the file that a reader
    saves it as.
    """

    language: str
    line: int
    text: str
    title: str = ""


@dataclass(frozen=True)
class Typed:
    """A command as somebody types it, continued lines as one."""

    line: int
    text: str


def name_of(page: Path) -> str:
    return page.relative_to(REPO).as_posix()


def blocks(text: str) -> Iterator[Block]:
    for found in _FENCE.finditer(text):
        indent = len(found["indent"])
        lines = [line[indent:] for line in found["text"].splitlines()]
        line = text.count("\n", 0, found.start("text")) + 1
        language, _, rest = found["language"].strip().partition(" ")
        title = re.fullmatch(r'title="([\w.]+)"', rest)
        yield Block(language, line, "\n".join(lines) + "\n", title[1] if title else "")


def typed_lines(text: str) -> Iterator[Typed]:
    """The commands of all blocks for a shell; of a `console` those behind its `$`."""
    for block in blocks(text):
        if block.language not in SHELL:
            continue
        whole = block.text.replace("\\\n", "\0")
        line = block.line
        for written in whole.splitlines():
            command = written.replace("\0", " ")
            if block.language == "console":
                command = command.removeprefix("$ ") if command.startswith("$ ") else ""
            if command.strip() and not command.startswith("#"):
                yield Typed(line, command)
            line += 1 + written.count("\0")


def spoken_commands(text: str) -> Iterator[Typed]:
    """`glowmcu …` in code spans of sentences and tables, which may leave words open (BUNDLE, …)."""
    prose = _FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    prose = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), prose)
    for found in re.finditer(r"(`+)(?P<code>.+?)\1", prose, re.S):
        code = " ".join(found["code"].split())
        # The firmware of Renode's test prints `glowmcu exit`.
        if code.startswith("glowmcu ") and code != "glowmcu exit":
            yield Typed(prose.count("\n", 0, found.start()) + 1, code)
