"""Printing: rich text to stdout, JSON when asked."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from glowmcu.errors import error
from glowmcu.file_writing import write_text_file

if TYPE_CHECKING:
    from rich.console import Console

    from glowmcu.bundle import Bundle

_ANY_WIDTH = 100_000
_F = TypeVar("_F", bound=Callable[..., object])


def console() -> Console:
    """Where tables go. Where stdout is no terminal nothing is shortened or wrapped."""
    from glowmcu.cli.safe_console import SafeConsole

    if not sys.stdout.isatty():
        return SafeConsole(file=sys.stdout, width=_ANY_WIDTH, highlight=False)
    if os.environ.get("TERM", "").lower() not in ("dumb", "unknown"):
        return SafeConsole(file=sys.stdout, highlight=False)
    # rich takes a terminal without cursor movements (an editor's) for 80 columns wide.
    width, height = shutil.get_terminal_size()
    return SafeConsole(file=sys.stdout, width=width, height=height, highlight=False)


def print_json(body: object) -> None:
    """One JSON object on stdout."""
    click.echo(json.dumps(body, indent=2))


def write_text(path: Path, text: str) -> None:
    """A report's file. Raises GM718."""
    try:
        write_text_file(path, text)
    except OSError as cause:
        raise error("GM718", f"cannot write the report: {cause.strerror}", str(path)) from cause


def json_option(function: _F) -> _F:
    """The `--json` flag, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(function)


def report_option(function: _F) -> _F:
    """`--report FILE.html`, as `report`."""
    return click.option(
        "--report",
        type=click.Path(path_type=Path),
        metavar="FILE.html",
        help="Write the report: all that is known of the bundle, as a page.",
    )(function)


def write_report(path: Path, bundle: Bundle) -> None:
    """Of the bundle and the facts in its folder. Raises GM671, GM718."""
    from glowmcu.report.page_file import report

    report(bundle, path)
