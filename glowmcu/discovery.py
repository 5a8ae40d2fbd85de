"""Sorted discovery: import every module of a package and the plug-ins that name the same group.

A plug-in is an entry point of an installed package in one of `GROUPS`. What it does wrong is said
with its package and entry point: another interface (GM750), an error while it is loaded (GM751), an
object of another type (GM752), a name that is taken (GM753).
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import field
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, TypeGuard, TypeVar

from glowmcu.errors import GlowmcuError, Problem
from glowmcu.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_K = TypeVar("_K")
_V = TypeVar("_V")

#: What plug-ins may rely on. A change that breaks one of them raises it; additions do not.
INTERFACE_VERSION = 1
#: A package names the interfaces that it is written for by entry points called `1`, `2`, … here.
INTERFACE_GROUP = "glowmcu.interface"
#: What a package can add, by group of entry points.
GROUPS = {
    "glowmcu.back_ends": "back ends of accelerators",
    "glowmcu.boards": "boards",
    "glowmcu.cores": "cores",
    "glowmcu.emit_c.packages": "build systems",
    "glowmcu.executors": "executors",
    "glowmcu.formats": "model formats",
    "glowmcu.frontend.onnx": "importers of ONNX operators",
    "glowmcu.frontend.tflite": "importers of TensorFlow Lite operators",
    "glowmcu.kernels": "kernels",
    "glowmcu.libjit": "C headers",
    "glowmcu.ops": "operators",
    "glowmcu.passes": "passes",
    "glowmcu.report_sections": "sections of the report",
    "glowmcu.templates": "templates of C",
}


@dataclass(frozen=True)
class Plugin:
    """An entry point: `value` is what it names in Python, `package` whose it is.

    `interfaces` are those that the package says it is written for; none if it says nothing, which
    means 1.
    """

    group: str
    name: str
    value: str
    package: str
    package_version: str
    interfaces: tuple[str, ...] = ()
    entry: EntryPoint | None = field(default=None, compare=False, repr=False)

    @property
    def place(self) -> str:
        """For messages."""
        return (
            f"{self.package} {self.package_version}, entry point "
            f'"{self.name} = {self.value}" of {self.group}'
        )

    @property
    def fits(self) -> bool:
        """Whether it is written for this interface."""
        return str(INTERFACE_VERSION) in (self.interfaces or ("1",))

    def problem(self, code: str, message: str, hint: str = "") -> Problem:
        """A finding about it."""
        remedy = f"report it to the package's authors; `pip uninstall {self.package}` removes it"
        return Problem(code, message, self.place, hint or remedy)


class NameTaken(AssertionError):
    """Two register one name: a bug of ours, unless a plug-in did it."""


def enter(table: dict[_K, _V], key: _K, item: _V, what: str) -> None:
    """Register `item`, a class, a function or the only object of its class.

    Raises NameTaken if something else has the key; the same one again (a module that is imported
    anew) replaces itself.
    """
    if key in table and _origin(table[key]) != _origin(item):
        shown = getattr(key, "__name__", None) or repr(key)
        raise NameTaken(f"{what} {shown} is there already: {'.'.join(_origin(table[key]))}")
    table[key] = item


def _origin(item: object) -> tuple[str, str]:
    """Module and name of a class or function, or of an object's class."""
    named = item if hasattr(item, "__qualname__") else type(item)
    return str(getattr(named, "__module__", "")), str(getattr(named, "__qualname__", ""))


@cache
def import_members(
    package_name: str, is_wanted: Callable[[ModuleType], bool] | None = None
) -> None:
    """Import the modules in `package_name`, its folders' too (those that are wanted), and its
    entry-point group, by name.

    Importing is what registers: operators, importers, kernels and build systems use decorators.
    Raises GM750, GM751, GM753 with all plug-ins of the group that do not load.
    """
    _import_modules(importlib.import_module(package_name), is_wanted)
    load_plugins(package_name, _is_anything, "a module")


def _import_modules(
    package: ModuleType, is_wanted: Callable[[ModuleType], bool] | None = None
) -> None:
    for inner in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        module = importlib.import_module(f"{package.__name__}.{inner.name}")
        if inner.ispkg and (is_wanted is None or is_wanted(module)):
            _import_modules(module, is_wanted)


def load_plugins(
    group: str, fits: Callable[[object], TypeGuard[_V]], expected: str
) -> list[tuple[Plugin, _V]]:
    """What the plug-ins of a group give, by name.

    Raises GM750 to GM753 with all that do not load, or give something that is not `expected`.
    """
    given: list[tuple[Plugin, _V]] = []
    problems: list[Problem] = []
    for plugin in plugins(group):
        found = loaded(plugin)
        if isinstance(found, Problem):
            problems.append(found)
        elif not fits(found):
            problems.append(wrong_type(plugin, found, expected))
        else:
            given.append((plugin, found))
    if problems:
        raise GlowmcuError(problems)
    return given


def wrong_type(plugin: Plugin, found: object, expected: str) -> Problem:
    """GM752."""
    kind = type(found).__name__
    return plugin.problem("GM752", f"a plug-in gives an object of type {kind}, expected {expected}")


def name_taken(plugin: Plugin, message: str) -> Problem:
    """GM753."""
    hint = f"another name is needed: report it to the authors of {plugin.package}"
    return plugin.problem("GM753", f"a plug-in takes a name that is taken: {message}", hint)


def _is_anything(_: object) -> TypeGuard[object]:
    return True


@cache
def loaded(plugin: Plugin) -> object:
    """What the plug-in's entry point names, or the `Problem` with it: each is loaded once, so that
    what a broken one registered before it broke is not found to be taken the next time.
    """
    if not plugin.fits:
        return _other_interface(plugin)
    assert plugin.entry is not None, "only tests make plug-ins without an entry point"
    try:
        return plugin.entry.load()
    except NameTaken as cause:
        return name_taken(plugin, str(cause))
    except GlowmcuError as cause:
        return plugin.problem("GM751", f"a plug-in does not load: {cause.problems[0].message}")
    except (Exception, SystemExit) as cause:  # noqa: BLE001 - whatever it is, it is not our bug
        return plugin.problem("GM751", f"a plug-in does not load: {said(cause)}")


def said(cause: BaseException) -> str:
    """An exception on one line."""
    text = " ".join(str(cause).split())[:300]
    return f"{type(cause).__name__}: {text}" if text else type(cause).__name__


def _other_interface(plugin: Plugin) -> Problem:
    """GM750: the older of both is to be renewed."""
    numbers = [int(name) for name in plugin.interfaces if name.isdecimal()]
    newer = bool(numbers) and min(numbers) > INTERFACE_VERSION
    package = "glowmcu" if newer else plugin.package
    stated = ", ".join(plugin.interfaces)
    return plugin.problem(
        "GM750",
        f"a plug-in is written for interface {stated} of plug-ins, and this is interface "
        f"{INTERFACE_VERSION}",
        f"`pip install --upgrade {package}`, or `pip uninstall {plugin.package}`; the package says "
        f"what it is written for in its entry points of {INTERFACE_GROUP}",
    )


def plugin_behind(cause: BaseException) -> Plugin | None:
    """Whose code an exception came out of: the innermost frame of a plug-in's package."""
    owners = {_root(plugin.value.partition(":")[0]): plugin for plugin in all_plugins()}
    owners.pop("glowmcu", None)
    found, trace = None, cause.__traceback__
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        found = owners.get(_root(module), found)
        trace = trace.tb_next
    return found


def _root(module: str) -> str:
    """The package that a module is in."""
    return module.partition(".")[0]


def plugins(group: str) -> list[Plugin]:
    """What installed packages offer in `group`, by name."""
    return list(_plugins(group, tuple(sys.path)))


def all_plugins() -> list[Plugin]:
    """What installed packages offer in groups of this package, known or not."""
    groups = sorted(
        {entry.group for entry in _all_entries() if entry.group.startswith("glowmcu.")}
        - {INTERFACE_GROUP}
    )
    return [plugin for group in groups for plugin in plugins(group)]


def _all_entries() -> Iterator[EntryPoint]:
    found = _entry_points(tuple(sys.path))
    for group in sorted(found.groups):
        yield from found.select(group=group)


@cache
def _plugins(group: str, search_path: tuple[str, ...]) -> tuple[Plugin, ...]:
    """Every look for a template, a header or a board asks; once a search path is enough."""
    entries = _entry_points(search_path)
    stated = list(entries.select(group=INTERFACE_GROUP))
    found = []
    for entry in entries.select(group=group):
        package, version = _package(entry)
        interfaces = tuple(sorted(each.name for each in stated if _package(each)[0] == package))
        found.append(Plugin(group, entry.name, entry.value, package, version, interfaces, entry))
    return tuple(sorted(found, key=lambda plugin: (plugin.name, plugin.package)))


def _package(entry: EntryPoint) -> tuple[str, str]:
    """Name and version of the package that an entry point comes from."""
    if entry.dist is None:
        return "an unknown package", "?"
    return str(entry.dist.metadata["Name"]), str(entry.dist.version)


class _Selectable(Protocol):
    """What `entry_points()` gives; Python 3.10 and later call its type differently."""

    @property
    def groups(self) -> AbstractSet[str]: ...

    def select(self, *, group: str) -> Iterable[EntryPoint]: ...


class _NoEntries:
    """Of an installation where no package adds to this one."""

    groups = frozenset[str]()

    def select(self, *, group: str) -> Iterable[EntryPoint]:
        return ()


@cache
def _entry_points(search_path: tuple[str, ...]) -> _Selectable:
    """Reading every installed package's metadata takes long; once a search path is enough."""
    from glowmcu.installed_packages import may_add_to

    if not may_add_to("glowmcu", search_path):
        return _NoEntries()
    from importlib.metadata import entry_points

    return entry_points()
