"""What `glowmcu plugins` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rich.markup import escape
from rich.table import Table

from glowmcu.discovery import INTERFACE_VERSION, Plugin
from glowmcu.errors import Problem
from glowmcu.report.tables import plain_table


class State(Protocol):
    """A plug-in, and what is wrong with it."""

    @property
    def plugin(self) -> Plugin: ...

    @property
    def problem(self) -> Problem | None: ...


def plugin_table(states: Sequence[State]) -> Table:
    """A row an entry point, in the order given."""
    packages = {state.plugin.package for state in states}
    table = plain_table(
        f"{len(states)} plug-ins of {len(packages)} "
        f"package{'s' if len(packages) > 1 else ''}; this is interface {INTERFACE_VERSION}",
        ("group", "n"), ("name", "n"), ("module", "l"), ("interface", "r"), ("package", "l"),
        ("state", "n"), dispensable=["module"],
    )  # fmt: skip
    for state in states:
        plugin, problem = state.plugin, state.problem
        cells = (
            plugin.group, plugin.name, plugin.value, ", ".join(plugin.interfaces) or "1",
            f"{plugin.package} {plugin.package_version}",
        )  # fmt: skip
        table.add_row(*map(escape, cells), "works" if problem is None else problem.code)
    return table
