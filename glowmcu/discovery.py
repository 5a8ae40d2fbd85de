"""Sorted discovery: import every module of a package and the plug-ins that name the same group."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points


@cache
def import_members(package_name: str) -> None:
    """Import the modules directly inside `package_name` and its entry-point group, in name order.

    Importing is what registers: operators, importers, kernels and passes use decorators.
    """
    package = importlib.import_module(package_name)
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        importlib.import_module(f"{package_name}.{module.name}")
    for plugin in sorted(entry_points(group=package_name), key=lambda plugin: plugin.name):
        plugin.load()
