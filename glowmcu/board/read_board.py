"""TOML file -> Board. Every mistake of a file is reported at once, each with its key."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

from glowmcu.board.model import (
    Board,
    FlashTarget,
    Placement,
    QemuTarget,
    Region,
    RegisterWrite,
    RenodeTarget,
    SerialTarget,
)
from glowmcu.cores import core_names
from glowmcu.errors import GlowmcuError, Problem, error
from glowmcu.given_amount import bytes_of

# The standard library has the TOML reader since Python 3.11; `tomli` is the same code before that.
_TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
UART_KINDS = (
    "cmsdk", "nrf-uart", "nrf-uarte", "pl011", "ra8-sci", "stm32-usart-f4", "stm32-usart-f7",
)  # fmt: skip
#: Those whose driver receives, too.
SERIAL_KINDS = ("cmsdk", "nrf-uart", "pl011", "stm32-usart-f4", "stm32-usart-f7")
_KINDS = ("flash", "ram", "tcm")
_KEYS: dict[str, type] = {
    "name": str,
    "title": str,
    "mcu": str,
    "core": str,
    "clock_hz": int,
    "flash_wait_states": int,
    "memory": list,
    "placement": dict,
    "qemu": dict,
    "renode": dict,
    "serial": dict,
    "flash": dict,
}
_REQUIRED = ("name", "title", "mcu", "core")
_WORDS = {str: "a string", int: "an integer", list: "an array of tables", dict: "a table"}
_ADDRESS_SPACE = 1 << 32
_Section = TypeVar(
    "_Section",
    FlashTarget,
    Placement,
    QemuTarget,
    Region,
    RegisterWrite,
    RenodeTarget,
    SerialTarget,
)


def read_board(path: Path) -> Board:
    """The board described by the file at `path`.

    Raises GM702 (unknown key), GM703 (missing key), GM704 (wrong type or value), GM705 (regions
    overlap), GM706 (placement names no region), GM707 (not readable as TOML).
    """
    checks = _Checks(path)
    body = _read_toml(path)
    checks.keys(body, _KEYS, _REQUIRED, "")
    board = Board(
        name=checks.text(body, "name"),
        title=checks.text(body, "title"),
        mcu=checks.text(body, "mcu"),
        core=checks.one_of(body, "core", core_names(), ""),
        clock_hz=checks.optional_number(body, "clock_hz", 1),
        flash_wait_states=checks.optional_number(body, "flash_wait_states", 0),
        memory=_memory(checks, body),
        placement=checks.section(body, "placement", Placement),
        qemu=checks.section(body, "qemu", QemuTarget),
        renode=checks.section(body, "renode", RenodeTarget),
        serial=_serial(checks, body),
        flash=checks.section(body, "flash", FlashTarget),
        file=path,
    )
    if not checks.problems:
        _check_regions(checks, board)
        _check_placement(checks, board)
        _check_renode(checks, board)
    if checks.problems:
        raise GlowmcuError(checks.problems)
    return board


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        body: dict[str, Any] = _TOML.loads(path.read_text(encoding="utf-8"))
        return body
    except (OSError, ValueError, RecursionError) as cause:
        hint = "`boards/README.md` shows a complete file; `glowmcu boards` lists the built-in ones"
        raise error("GM707", f"cannot read the board file: {cause}", str(path), hint) from cause


@dataclass
class _Checks:
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
        if type(value) is int and not least <= value < _ADDRESS_SPACE:
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
                least = 1 if key in ("size_bytes", "divisor", "baud") else 0
                values[key] = self.number(table, key, least, where)
            elif key == "kind":
                values[key] = self.one_of(table, key, _KINDS, where)
            elif key == "uart_kind":
                values[key] = self.one_of(table, key, UART_KINDS, where)
            elif key in required or key in table:
                values[key] = self.text(table, key)
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


def _memory(checks: _Checks, body: dict[str, Any]) -> tuple[Region, ...]:
    return checks.tables(body.get("memory", []), "memory", Region)


def _serial(checks: _Checks, body: dict[str, Any]) -> SerialTarget | None:
    table = body.get("serial")
    if not isinstance(table, dict):
        return None
    rows = table.get("setup", [])
    if not isinstance(rows, list):
        checks.add("GM704", f"serial.setup is {rows!r}; it must be an array of tables")
    rest = {key: value for key, value in table.items() if key != "setup"}
    target = checks.table(rest, "serial.", SerialTarget)
    if target.uart_kind in UART_KINDS and target.uart_kind not in SERIAL_KINDS:
        known = ", ".join(SERIAL_KINDS)
        checks.add("GM704", f"serial.uart_kind {target.uart_kind!r} only sends", f"known: {known}")
    return replace(target, setup=checks.tables(rows, "serial.setup", RegisterWrite))


def _check_regions(checks: _Checks, board: Board) -> None:
    names = [region.name for region in board.memory]
    for name in sorted({name for name in names if names.count(name) > 1}):
        checks.add("GM704", f"two memory regions are called {name!r}")
    in_order = sorted(board.memory, key=lambda region: (region.origin, region.end))
    for region in in_order:
        if region.end > _ADDRESS_SPACE:
            checks.add("GM704", f"memory {region.name!r} ends behind 2^32")
    for low, high in combinations(in_order, 2):
        if low.end > high.origin:
            common = min(low.end, high.end) - high.origin
            message = f"memory {low.name!r} and {high.name!r} overlap by {common} bytes"
            ends = f"{low.name!r} ends at 0x{low.end:08X}, {high.name!r} starts at 0x"
            checks.add("GM705", message, ends + f"{high.origin:08X}")


def _check_placement(checks: _Checks, board: Board) -> None:
    if board.memory and board.placement is None:
        checks.add("GM703", "missing key 'placement'", "say where code, constants, data, arena go")
    if board.placement is None:
        return
    names = [region.name for region in board.memory]
    for key in (f.name for f in fields(Placement)):
        name = getattr(board.placement, key)
        if not name and key in ("fast_data", "fast_code"):
            continue
        if name not in names:
            known = ", ".join(names) or "none"
            checks.add(
                "GM706",
                f"placement.{key} is {name!r}, which is no memory region",
                f"regions: {known}",
            )
        elif key in ("data", "arena", "fast_data") and board.region(name).kind == "flash":
            checks.add("GM706", f"placement.{key} is {name!r}, which is flash", "name a RAM region")


def _check_renode(checks: _Checks, board: Board) -> None:
    """A platform of Renode's own is what can lack a region; ours has all of them."""
    if board.renode is None:
        return
    names = [region.name for region in board.memory]
    for name in board.renode.missing_regions:
        if name not in names:
            known = f"regions: {', '.join(names) or 'none'}"
            checks.add("GM704", f"renode.missing has {name!r}, which is no memory region", known)
    if board.renode.missing_regions and board.renode.platform is None:
        hint = "leave it out, or name the platform that lacks them"
        checks.add("GM704", "renode.missing is given without renode.platform", hint)
