"""`--emit` and `--package`: the bundle as a package of build systems."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from glowmcu.cli.completion import complete_package
from glowmcu.cli.given_words import not_empty

_F = TypeVar("_F", bound=Callable[..., object])


def package_options(function: _F) -> _F:
    """The two options, as `emit` and `package`."""
    emit = click.option(
        "--emit",
        default="",
        callback=not_empty,
        metavar="NAME,…",
        shell_complete=complete_package,
        help="Add the files of build systems: make, arduino, platformio, zephyr, esp-idf, "
        "cmsis-pack, csolution, rust; renode: a test in the emulator; serial: the test firmware "
        "for a board. CMake's are always there.",
    )
    package = click.option(
        "--package",
        multiple=True,
        metavar="KEY=VALUE",
        help="What these files say: version, vendor, url or license of the package.",
    )
    return emit(package(function))
