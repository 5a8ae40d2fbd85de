"""What a package is: the bundle's own folder, with the files that one build system looks for.

Nothing is copied: a folder can be a package of several systems at once, and its C is that of the
plain bundle, byte for byte.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from glowmcu.discovery import enter, import_members
from glowmcu.emit_c.packages.details import PackageDetails
from glowmcu.emit_c.rendering import render
from glowmcu.emit_c.views import BundleView
from glowmcu.errors import error
from glowmcu.lazy_dataclass import dataclass

#: Packages of every bundle.
ALWAYS = ("cmake",)
_CMAKE_TARGETS = frozenset({
    "all", "all_build", "clean", "edit_cache", "help", "install", "list_install_components",
    "package", "package_source", "preinstall", "rebuild_cache", "run_tests", "test", "zero_check",
})  # fmt: skip
_RUST_TYPES = {
    "int8_t": "i8", "uint8_t": "u8", "int16_t": "i16", "uint16_t": "u16", "int32_t": "i32",
    "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64", "float": "f32",
}  # fmt: skip


@dataclass(frozen=True)
class Packaging:
    """The build systems that a bundle is a package of, and what it says about itself there."""

    names: tuple[str, ...] = ALWAYS
    details: PackageDetails = field(default_factory=PackageDetails)


@dataclass(frozen=True)
class PackageView:
    """What package templates read. `sources` is the network, `model_sources` its description for
    generic runners; `headers` are all public and private ones of the bundle's top folder.
    """

    m: BundleView
    packaging: Packaging
    headers: tuple[str, ...]

    @property
    def details(self) -> PackageDetails:
        return self.packaging.details

    @property
    def sources(self) -> tuple[str, ...]:
        return (f"{self.m.name}.c", f"{self.m.name}_weights.c")

    @property
    def model_sources(self) -> tuple[str, ...]:
        return (f"{self.m.name}_model.c",)

    @property
    def selftest_source(self) -> str:
        return f"selftest/{self.m.name}_selftest.c"

    @property
    def sentence(self) -> str:
        """One line about the bundle in printable ASCII."""
        m = self.m
        return (
            f"Neural network {m.model_file} as C99: {m.arena_bytes} B of RAM, "
            f"{m.weights_bytes} B of constants"
        )

    @property
    def cmake_target(self) -> str:
        """The bundle's name, unless CMake keeps that for itself."""
        name = self.m.name
        return f"{name}_network" if name.lower() in _CMAKE_TARGETS else name

    @property
    def registry_name(self) -> str:
        """The bundle's name where a registry allows 32 characters and reserves words."""
        name = re.sub("arduino", "mcu", self.m.name, flags=re.IGNORECASE)
        name = re.sub("library", "lib", name, flags=re.IGNORECASE)
        if len(name) <= 32:
            return name
        return f"{name[:23]}_{hashlib.sha256(self.m.name.encode()).hexdigest()[:8]}"

    def text(self, template: str) -> str:
        """The template of `templates/packages/` with this view as `p`, the bundle as `m`."""
        return render(f"packages/{template}", p=self, m=self.m, rust=_RUST_TYPES.__getitem__)


Files = Callable[[PackageView], Mapping[str, str]]


@dataclass(frozen=True)
class Package:
    """`files` by name relative to the bundle's folder; `use` says in a line what to do with it."""

    name: str
    main_file: str
    use: str
    files: Files


_PACKAGES: dict[str, Package] = {}
_FUNCTIONS: dict[str, Files] = {}


def package(name: str, main_file: str, use: str) -> Callable[[Files], Files]:
    """Register what makes a package of the system `name`.

    `main_file` and `use` are its row in the bundle's README; `{name}` in both is the bundle's.
    """

    def register(files: Files) -> Files:
        enter(_FUNCTIONS, name, files, "a build system")
        _PACKAGES[name] = Package(name, main_file, use, files)
        return files

    return register


def all_packages() -> dict[str, Package]:
    """Every package there is, by name."""
    import_members("glowmcu.emit_c.packages")
    return dict(sorted(_PACKAGES.items()))


def package_names(wanted: str | Iterable[str]) -> tuple[str, ...]:
    """`wanted` (names, or text with commas) by name, each once, with those of every bundle.

    Raises GM520 for an unknown one.
    """
    if isinstance(wanted, str):
        wanted = tuple(name for word in wanted.split(",") if (name := word.strip()))
    known = all_packages()
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise error(
                "GM520",
                f"there is no package for {name!r}",
                hint=f"{f'did you mean {near[0]}? ' if near else ''}known: {', '.join(known)}",
            )
    return tuple(sorted({*ALWAYS, *wanted}))


def package_files(view: PackageView) -> dict[str, str]:
    """The files of all of the view's packages."""
    known = all_packages()
    files: dict[str, str] = {}
    for name in view.packaging.names:
        for file, text in known[name].files(view).items():
            assert file not in files, f"{file} is of two packages"
            files[file] = text
    return files


def package_rows(packages: tuple[str, ...], name: str) -> tuple[tuple[str, str], ...]:
    """(file, what to do with it) for the README of the bundle `name`."""
    known = all_packages()
    return tuple(
        (known[item].main_file.format(name=name), known[item].use.format(name=name))
        for item in packages
    )
