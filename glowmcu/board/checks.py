"""Problems of a board's file, collected: all mistakes are reported at once, each by key."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import MISSING, field, fields
from pathlib import Path
from typing import Any, TypeVar

from glowmcu.board.memory_timing import REPLACEMENTS, CacheGeometry, SlowMemory
from glowmcu.board.model import (
    FlashTarget,
    Placement,
    Power,
    QemuTarget,
    Region,
    RegisterWrite,
    RenodeTarget,
    SecondCore,
    SerialTarget,
)
from glowmcu.errors import Problem
from glowmcu.given_amount import bytes_of
from glowmcu.lazy_dataclass import dataclass

UART_KINDS = (
    "cmsdk", "nrf-uart", "nrf-uarte", "pl011", "ra8-sci", "stm32-usart-f4", "stm32-usart-f7",
)  # fmt: skip
ADDRESS_SPACE = 1 << 32
_WORDS = {str: "a string", int: "an integer", list: "an array of tables", dict: "a table"}
#: Strings that are one of a few words, by their key.
_ONE_OF = {
    "kind": ("flash", "ram", "tcm"), "uart_kind": UART_KINDS, "replacement": REPLACEMENTS,
}  # fmt: skip
_FROM_ONE = (
    "size_bytes", "divisor", "baud", "active_microamperes", "supply_millivolts", "clock_hz",
)  # fmt: skip
_Section = TypeVar(
    "_Section",
    CacheGeometry,
    FlashTarget,
    Power,
    Placement,
    QemuTarget,
    Region,
    RegisterWrite,
    RenodeTarget,
    SecondCore,
    SerialTarget,
    SlowMemory,
)


@dataclass
class Checks:
    """Collects problems; every getter gives a harmless value when it has found one."""

    path: Path
    problems: list[Problem] = field(default_factory=list)

    def add(self, code: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(code, message, str(self.path), hint))

    def keys(
        self, body: dict[str, Any], known: Mapping[str, type], required: tuple[str, ...], where: str
    ) -> None:
        """Unknown keys, missing keys and wrong types of one table."""
        for key in body:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else "known: " + ", ".join(known)
                self.add("GM702", f"unknown key {where + key!r}", hint)
        for key in required:
            if key not in body:
                self.add("GM703", f"missing key {where + key!r}", f"it is {_WORDS[known[key]]}")
        for key, kind in known.items():
            if key in body and (type(body[key]) is not kind):
                self.add("GM704", f"{where}{key} is {body[key]!r}; it must be {_WORDS[kind]}")

    def text(self, body: dict[str, Any], key: str) -> str:
        value = body.get(key, "")
        return value if isinstance(value, str) else ""

    def one_of(self, body: dict[str, Any], key: str, allowed: tuple[str, ...], where: str) -> str:
        value = body.get(key)
        if isinstance(value, str) and value not in allowed:
            near = difflib.get_close_matches(value, allowed, n=1, cutoff=0.5)
            hint = (f"did you mean {near[0]!r}? " if near else "") + "known: " + ", ".join(allowed)
            self.add("GM704", f"{where}{key} is {value!r}", hint)
        return self.text(body, key)

    def number(self, body: dict[str, Any], key: str, least: int, where: str) -> int:
        value = body.get(key)
        if type(value) is int and not least <= value < ADDRESS_SPACE:
            self.add("GM704", f"{where}{key} is {value}; it must be {least} to 2^32 - 1")
        return value if type(value) is int else least

    def optional_number(self, body: dict[str, Any], key: str, least: int) -> int | None:
        return self.number(body, key, least, "") if key in body else None

    def section(self, body: dict[str, Any], key: str, section: type[_Section]) -> _Section | None:
        """An optional table of its own."""
        table = body.get(key)
        return self.table(table, f"{key}.", section) if isinstance(table, dict) else None

    def with_sizes(self, table: dict[str, Any], where: str) -> dict[str, Any]:
        """`size_bytes = "256K"` as the number that it stands for."""
        text = table.get("size_bytes")
        if not isinstance(text, str):
            return table
        try:
            return {**table, "size_bytes": bytes_of(text)}
        except ValueError as cause:
            self.add("GM704", f"{where}size_bytes is {text!r}", str(cause))
            return {**table, "size_bytes": 1}

    def table(self, table: dict[str, Any], where: str, section: type[_Section]) -> _Section:
        """A table whose keys are the fields of the dataclass `section`."""
        table = self.with_sizes(table, where)
        of_table = [f for f in fields(section) if "tuple" not in str(f.type)]
        known = {f.name: int if "int" in str(f.type) else str for f in of_table}
        required = tuple(
            f.name for f in of_table if f.default is MISSING and "None" not in str(f.type)
        )
        self.keys(table, known, required, where)
        values: dict[str, Any] = {}
        for key, kind in known.items():
            if kind is int and key not in required and key not in table:
                continue
            if kind is int:
                least = 1 if key in _FROM_ONE else 0
                values[key] = self.number(table, key, least, where)
            elif key in _ONE_OF and (key in required or key in table):
                values[key] = self.one_of(table, key, _ONE_OF[key], where)
            elif key in required or key in table:
                values[key] = self.text(table, key)
            elif key in _ONE_OF:
                continue
            else:
                values[key] = None if key == "platform" else ""
        return section(**values)

    def tables(self, rows: object, where: str, section: type[_Section]) -> tuple[_Section, ...]:
        """An array of tables, as `table` takes each."""
        found = []
        for number, row in enumerate(rows if isinstance(rows, list) else []):
            if isinstance(row, dict):
                found.append(self.table(row, f"{where}[{number}].", section))
            else:
                self.add("GM704", f"{where}[{number}] is {row!r}; it must be a [[{where}]] table")
        return tuple(found)
