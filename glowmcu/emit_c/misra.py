"""What MISRA C:2012 rules the C of a bundle deviates from, and where: the record, as data and text.

A place is a form of code: a pattern that a line matches, in files of a name. The same patterns
explain what a checker finds (`explains`), and say in a bundle which of its files have such lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache

from glowmcu.lazy_dataclass import dataclass

#: Where a bundle has its record.
RECORD_FILE = "MISRA.md"
#: Categories of MISRA C:2012 with Amendment 1; what is in neither set is Required.
#: Source: the tables in Polyspace's and MPLAB X's documentation of the rules that they support.
ADVISORY = frozenset(
    (
        "1.2", "2.3", "2.4", "2.5", "2.6", "2.7", "4.2", "5.9", "8.7", "8.9", "8.11", "8.13",
        "10.5", "11.4", "11.5", "12.1", "12.3", "12.4", "13.3", "13.4", "15.1", "15.4", "15.5",
        "17.5", "17.8", "18.4", "18.5", "19.2", "20.1", "20.5", "20.10", "21.12",
    )
)  # fmt: skip
MANDATORY = frozenset(
    (
        "9.1", "12.5", "13.6", "17.3", "17.4", "17.6", "19.1", "21.13", "21.17", "21.18",
        "21.19", "21.20", "22.2", "22.4", "22.5", "22.6",
    )
)  # fmt: skip


def category(rule: str) -> str:
    """Mandatory, Required or Advisory."""
    if rule in MANDATORY:
        return "Mandatory"
    return "Advisory" if rule in ADVISORY else "Required"


@dataclass(frozen=True)
class Deviation:
    """Lines of `files` (patterns of names) that match `code` may break `rule`: `why` that is right,
    and what protects `instead`. `tool`: the code keeps the rule, only cppcheck thinks otherwise.
    `newer`: the release of cppcheck that the record names does not look, later ones do.
    """

    key: str
    rule: str
    code: str
    why: str
    instead: str
    files: tuple[str, ...] = ("*",)
    tool: bool = False
    newer: bool = False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Of lines; what matches a line matches a text that has it."""
        return re.compile(self.code, re.MULTILINE)

    def is_at(self, file: str, line: str) -> bool:
        """Whether the line is one of its places; `file` is a path in a bundle."""
        return self.covers(file) and self.pattern.search(line) is not None

    def covers(self, file: str) -> bool:
        """Whether it speaks of the file."""
        return any(fnmatchcase(file.rpartition("/")[2], pattern) for pattern in self.files)


@dataclass(frozen=True)
class Disapplied:
    """An Advisory rule that is not followed, as MISRA Compliance:2020 allows."""

    rule: str
    about: str
    why: str


def explains(
    deviations: Iterable[Deviation], rule: str, file: str, line: str
) -> tuple[Deviation, ...]:
    """The deviations for a finding of that rule at that line."""
    return tuple(item for item in deviations if item.rule == rule and item.is_at(file, line))


def places(
    deviations: Iterable[Deviation], files: Mapping[str, str]
) -> dict[Deviation, tuple[str, ...]]:
    """Each deviation that C among `files` needs, with the files that have such lines."""
    asked = tuple(deviations)
    code = {file: text for file, text in sorted(files.items()) if file.endswith((".c", ".h"))}
    needed = {file: _needed(asked, file, text) for file, text in code.items()}
    found = {item: tuple(file for file in code if item in needed[file]) for item in asked}
    return {item: at for item, at in found.items() if at}


@lru_cache(maxsize=512)
def _needed(asked: tuple[Deviation, ...], file: str, text: str) -> frozenset[Deviation]:
    """Those that lines of the file need; most files of a bundle are the same in the next one."""
    return frozenset(item for item in asked if item.covers(file) and _is_in(item.pattern, text))


def _is_in(pattern: re.Pattern[str], text: str) -> bool:
    """Whether a line of the text matches; a match of the text may go over several."""
    found = pattern.search(text)
    if found is None or "\n" not in found[0]:
        return found is not None
    return any(map(pattern.search, text.splitlines()))


def table(found: Mapping[Deviation, tuple[str, ...]]) -> str:
    """Markdown: one section a deviation."""
    parts = []
    for item, files in found.items():
        kind = "finding of the tool only" if item.tool else "deviation"
        kind += ", found by later releases" if item.newer else ""
        parts.append(
            f"### {item.key}: Rule {item.rule} ({category(item.rule)}), {kind}\n\n"
            f"Where: lines that match `{item.code}` in {_listed(files)}.\n\n"
            f"{item.why} {item.instead}\n"
        )
    return "\n".join(parts)


def disapplied_table(rules: Iterable[Disapplied]) -> str:
    """Markdown: one row a rule."""
    rows = [f"| {item.rule} | {item.about} | {item.why} |" for item in rules]
    return "\n".join(["| rule | what it asks for | why not here |", "|---|---|---|", *rows, ""])


def _listed(files: tuple[str, ...]) -> str:
    return ", ".join(f"`{file}`" for file in files)
