"""Sorted discovery: import every module of a package and the plug-ins that name the same group."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def import_members(package_name: str) -> None:
    """Import the modules in `package_name`, its folders' too, and its entry-point group, by name.

    Importing is what registers: operators, importers, kernels and passes use decorators.
    """
    _import_modules(package_name)
    for plugin in plugins(package_name):
        plugin.load()


def _import_modules(package_name: str) -> None:
    package = importlib.import_module(package_name)
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        name = f"{package_name}.{module.name}"
        _import_modules(name) if module.ispkg else importlib.import_module(name)


def plugins(group: str) -> list[EntryPoint]:
    """What installed packages offer in `group`, by name."""
    return list(_plugins(group, tuple(sys.path)))


@cache
def _plugins(group: str, search_path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Every look for a template, a header or a board asks; once a search path is enough."""
    found = _entry_points(search_path).select(group=group)
    return tuple(sorted(found, key=lambda plugin: plugin.name))


class _Selectable(Protocol):
    """What `entry_points()` gives; Python 3.10 and later call its type differently."""

    def select(self, *, group: str) -> Iterable[EntryPoint]: ...


@cache
def _entry_points(search_path: tuple[str, ...]) -> _Selectable:
    """Reading every installed package's metadata takes long; once a search path is enough."""
    from importlib.metadata import entry_points

    return entry_points()
