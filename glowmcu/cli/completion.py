"""What the shell offers behind an option: boards, executors, build systems, regions.

`docs/command_line.md` says how it is switched on.
"""

from __future__ import annotations

from collections.abc import Iterable

import click

from glowmcu.cli.package_names import BUILD_SYSTEMS


def _listed(known: Iterable[str], begun: str) -> list[str]:
    """Completions of the last word of a list with commas."""
    before, comma, last = begun.rpartition(",")
    given = set(before.split(","))
    return [before + comma + name for name in known if name.startswith(last) and name not in given]


def complete_board(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Names of boards."""
    from glowmcu.board import board_names

    return [name for name in board_names() if name.startswith(begun)]


def complete_executor(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Names of executors, in a list."""
    from glowmcu.verify.executors import executor_names

    return _listed(executor_names(), begun)


def complete_bench_executor(
    _context: click.Context, _option: click.Parameter, begun: str
) -> list[str]:
    """The model of a core, or a board."""
    return [name for name in ("cortex-m", "riscv", "serial:") if name.startswith(begun)]


def complete_core(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Names of cores."""
    from glowmcu.cores import core_names

    return [name for name in core_names() if name.startswith(begun)]


def complete_package(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Names of build systems, in a list."""
    return _listed(BUILD_SYSTEMS, begun)


def complete_place(context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """`arena=`, then the regions of the board that was named before."""
    from glowmcu.board import find_board
    from glowmcu.errors import GlowmcuError

    what, equals, region = begun.partition("=")
    if not equals:
        words = ("auto", "arena=", "weights=", "code=", "weights:", "code:")
        return [word for word in words if word.startswith(begun)]
    try:
        board = find_board(str(context.params.get("board") or "generic"))
    except GlowmcuError:
        return []
    return [f"{what}={item.name}" for item in board.memory if item.name.startswith(region)]
