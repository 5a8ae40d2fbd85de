"""Renode's platform descriptions (`.repl`), as far as addresses and sizes need them.

    name: Type @ sysbus 0x1000          an entry, whose indented lines are its properties
        size: 0x400
        IRQ -> nvic@3

A line that is no entry, property or connection is an error: what we write must be read by Renode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_USING = re.compile(r'using "([^"]+)"')
_ENTRY = re.compile(r"(\w+)\s*:(?:\s*([\w.]+))?(?:\s*@\s*(.+))?", re.DOTALL)
_SCRIPT = re.compile(r"'''(.*?)'''", re.DOTALL)
_PROPERTY = re.compile(r"(\w+)\s*:\s*(\S.*)", re.DOTALL)
_CONNECTION = re.compile(r"(?:\[[^\]]+\]|\w+)?\s*->\s*\S.*", re.DOTALL)
_PLACE = re.compile(
    r"sysbus\s+<\s*(\w+)\s*,\s*\+\s*(\w+)\s*>"
    r"|sysbus\s+(0x\w+)"
    r"|sysbus\s+new\s+Bus\.BusPointRegistration\s*\{\s*address:\s*(\w+)"
)


class ReplError(Exception):
    """Text that is not a platform description."""


@dataclass(frozen=True)
class Entry:
    """A peripheral: its places on the bus (origin, size or None), `key: value` properties."""

    name: str
    type: str
    places: tuple[tuple[int, int | None], ...] = ()
    properties: dict[str, str] = field(default_factory=dict)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """[origin, end) of a memory, once for each place where it is to be seen."""
        size = int(self.properties["size"].replace("_", ""), 0)
        return [(origin, origin + size) for origin, _ in self.places]


@dataclass(frozen=True)
class Platform:
    """`entries` by name; `usings` are files that it continues."""

    usings: tuple[str, ...]
    entries: dict[str, Entry]

    @property
    def memories(self) -> dict[str, Entry]:
        """Memories that programs can be in."""
        return {
            name: entry
            for name, entry in self.entries.items()
            if entry.type == "Memory.MappedMemory"
        }


def read_platform(path: str, root: Path) -> Platform:
    """A file of a Renode folder with all that it continues."""
    own = parse_repl((root / path).read_text(encoding="utf-8-sig"))
    entries: dict[str, Entry] = {}
    for using in own.usings:
        entries.update(read_platform(using, root).entries)
    for name, entry in own.entries.items():
        if entry.type:
            entries[name] = entry
        else:  # without a type it changes the one that is there
            old = entries.get(name, entry)  # the bus itself has no entry
            entries[name] = replace(old, properties={**old.properties, **entry.properties})
    return Platform(own.usings, entries)


def parse_repl(text: str) -> Platform:
    """The entries of one file. Raises ReplError."""
    usings: list[str] = []
    entries: dict[str, Entry] = {}
    scripts: list[str] = []
    for head, body in _blocks(_COMMENT.sub("", _without_scripts(text, scripts))):
        using = _USING.fullmatch(head)
        if using:
            usings.append(using[1])
            continue
        entry = _entry(head, body)
        entry = replace(entry, properties=_with_scripts(entry.properties, scripts))
        if entry.type and entry.name in entries:
            raise ReplError(f"two entries {entry.name}")
        old = entries.get(entry.name)
        if old is not None:
            entry = replace(old, properties={**old.properties, **entry.properties})
        entries[entry.name] = entry
    return Platform(tuple(usings), entries)


def _without_scripts(text: str, scripts: list[str]) -> str:
    """A mark in place of each text of several lines, which is Python; the texts into `scripts`."""

    def take(found: re.Match[str]) -> str:
        scripts.append(found[1])
        return f'"script {len(scripts) - 1}"'

    marked = _SCRIPT.sub(take, text)
    if "'''" in marked:
        raise ReplError("a script of several lines is open")
    return marked


def _with_scripts(properties: dict[str, str], scripts: list[str]) -> dict[str, str]:
    def text_of(value: str) -> str:
        found = re.fullmatch(r'"script (\d+)"', value)
        return scripts[int(found[1])] if found else value

    return {key: text_of(value) for key, value in properties.items()}


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each unindented statement with the statements indented below it; braces join lines."""
    head: str | None = None
    body: list[str] = []
    for line in _statements(text):
        if not line[0].isspace():
            if head is not None:
                yield head, body
            head, body = line.strip(), []
        elif head is None:
            raise ReplError(f"indented without an entry: {line!r}")
        else:
            if (len(line) - len(line.lstrip(" "))) % 4 != 0:
                raise ReplError(f"indented by other than four spaces: {line!r}")
            body.append(line.rstrip())
    if head is not None:
        yield head, body


def _statements(text: str) -> Iterator[str]:
    pending = ""
    for line in text.splitlines():
        if not line.strip():
            continue
        pending += ("\n" if pending else "") + line
        if pending.count("{") > pending.count("}"):
            continue
        yield pending
        pending = ""
    if pending:
        raise ReplError(f"a brace is open: {pending!r}")


def _entry(head: str, body: list[str]) -> Entry:
    found = _ENTRY.fullmatch(head)
    if found is None:
        raise ReplError(f"no entry: {head!r}")
    name, kind, where = found.groups()
    properties = {}
    for line in _own_lines(body):
        pair = _PROPERTY.fullmatch(line)
        if pair:
            properties[pair[1]] = pair[2]
        elif not _CONNECTION.fullmatch(line):
            raise ReplError(f"no property of {name}: {line!r}")
    return Entry(name, kind or "", tuple(_places(where or "")), properties)


def _own_lines(body: list[str]) -> Iterator[str]:
    """Without `init:` and the monitor's commands below it."""
    for line in body:
        stripped = line.strip()
        if line.startswith(" " * 5) or re.fullmatch(r"(?:pre)?init(?: add)?:", stripped):
            continue
        yield stripped


def _places(where: str) -> Iterator[tuple[int, int | None]]:
    for match in _PLACE.finditer(where):
        sized, size, plain, point = match.groups()
        yield int(sized or plain or point, 0), int(size, 0) if size else None
