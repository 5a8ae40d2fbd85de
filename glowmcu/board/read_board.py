"""TOML file -> Board. Every mistake of a file is reported at once, each with its key."""

from __future__ import annotations

import importlib
import sys
from dataclasses import fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from glowmcu.board.checks import ADDRESS_SPACE, UART_KINDS, Checks
from glowmcu.board.model import (
    Board,
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
from glowmcu.board.read_timing import read_timing
from glowmcu.cores import core, core_names
from glowmcu.errors import GlowmcuError, error

# The standard library has the TOML reader since Python 3.11; `tomli` is the same code before that.
_TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
#: Those whose driver receives, too.
SERIAL_KINDS = ("cmsdk", "nrf-uart", "pl011", "stm32-usart-f4", "stm32-usart-f7")
_KEYS: dict[str, type] = {
    "name": str,
    "title": str,
    "mcu": str,
    "core": str,
    "clock_hz": int,
    "flash_wait_states": int,
    "cores": int,
    "accelerators": list,
    "memory": list,
    "timing": list,
    "placement": dict,
    "qemu": dict,
    "renode": dict,
    "serial": dict,
    "flash": dict,
    "power": dict,
    "second_core": dict,
}
#: Of caches' lines.
_LEAST_LINE, _MOST_LINE = 16, 256
_REQUIRED = ("name", "title", "mcu", "core")


def read_board(path: Path) -> Board:
    """The board described by the file at `path`.

    Raises GM702 (unknown key), GM703 (missing key), GM704 (wrong type or value), GM705 (regions
    overlap), GM706 (placement names no region), GM707 (not readable as TOML).
    """
    checks = Checks(path)
    body = _read_toml(path)
    checks.keys(body, _KEYS, _REQUIRED, "")
    memory = _memory(checks, body)
    board = Board(
        name=checks.text(body, "name"),
        title=checks.text(body, "title"),
        mcu=checks.text(body, "mcu"),
        core=checks.one_of(body, "core", core_names(), ""),
        clock_hz=checks.optional_number(body, "clock_hz", 1),
        flash_wait_states=checks.optional_number(body, "flash_wait_states", 0),
        cores=checks.optional_number(body, "cores", 1) or (2 if "second_core" in body else 1),
        accelerators=_accelerators(checks, body),
        memory=memory,
        timing=read_timing(checks, body.get("timing", []), [region.name for region in memory]),
        placement=checks.section(body, "placement", Placement),
        qemu=checks.section(body, "qemu", QemuTarget),
        renode=checks.section(body, "renode", RenodeTarget),
        serial=_serial(checks, body),
        flash=checks.section(body, "flash", FlashTarget),
        power=checks.section(body, "power", Power),
        second_core=checks.section(body, "second_core", SecondCore),
        file=path,
    )
    if not checks.problems:
        _check_regions(checks, board)
        _check_placement(checks, board)
        _check_renode(checks, board)
        _check_second_core(checks, board)
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


def _accelerators(checks: Checks, body: dict[str, Any]) -> tuple[str, ...]:
    names = body.get("accelerators", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        checks.add("GM704", f"accelerators is {names!r}; it must be a list of names")
        return ()
    return tuple(names)


def _memory(checks: Checks, body: dict[str, Any]) -> tuple[Region, ...]:
    return checks.tables(body.get("memory", []), "memory", Region)


def _serial(checks: Checks, body: dict[str, Any]) -> SerialTarget | None:
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


def _check_regions(checks: Checks, board: Board) -> None:
    names = [region.name for region in board.memory]
    for name in sorted({name for name in names if names.count(name) > 1}):
        checks.add("GM704", f"two memory regions are called {name!r}")
    in_order = sorted(board.memory, key=lambda region: (region.origin, region.end))
    for region in in_order:
        if region.end > ADDRESS_SPACE:
            checks.add("GM704", f"memory {region.name!r} ends behind 2^32")
    for low, high in combinations(in_order, 2):
        if low.end > high.origin:
            common = min(low.end, high.end) - high.origin
            message = f"memory {low.name!r} and {high.name!r} overlap by {common} bytes"
            ends = f"{low.name!r} ends at 0x{low.end:08X}, {high.name!r} starts at 0x"
            checks.add("GM705", message, ends + f"{high.origin:08X}")


def _check_placement(checks: Checks, board: Board) -> None:
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


def _check_renode(checks: Checks, board: Board) -> None:
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


def _check_second_core(checks: Checks, board: Board) -> None:
    """Both cores run the same C, and reach the arena."""
    second = board.second_core
    if second is None:
        return
    if second.core not in core_names():
        known = "known: " + ", ".join(core_names())
        checks.add("GM704", f"second_core.core is {second.core!r}", known)
    elif core(second.core).architecture != core(board.core).architecture:
        checks.add(
            "GM704",
            f"second_core.core {second.core!r} has other instructions than {board.core!r}",
            "two cores share runs by the same kernels: leave [second_core] out",
        )
    if board.clock_hz is None:
        checks.add("GM703", "missing key 'clock_hz'", "shares follow from the speeds of both cores")
    if board.cores != 2:
        checks.add(
            "GM704", f"cores is {board.cores}, and there is a second_core", "leave out cores"
        )
    lines = second.cache_line_bytes
    if lines and (lines & (lines - 1) or not _LEAST_LINE <= lines <= _MOST_LINE):
        wanted = f"it is a power of two from {_LEAST_LINE} to {_MOST_LINE}, or 0"
        checks.add("GM704", f"second_core.cache_line_bytes is {lines}", wanted)
    usual = board.placement
    for key in ("arena", "fast_data") if usual is not None else ():
        name = getattr(usual, key)
        if name and board.region(name).kind == "tcm":
            checks.add(
                "GM706",
                f"placement.{key} is {name!r}, which one core alone reaches",
                "name RAM that both of them do",
            )
