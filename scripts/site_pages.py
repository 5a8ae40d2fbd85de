"""Pages of the documentation site that the code writes: commands, Python, operators, boards."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import groupby

import click

import glowmcu
from glowmcu.board import board_names, find_board
from glowmcu.cli.help_groups import GroupedCommand
from glowmcu.cli.main import COMMANDS, GROUPS, group
from glowmcu.report.operators import operator_rows

_MADE = "<!-- Written from the code by scripts/site_pages.py. -->"
#: Public names by what they are for; those in no list come last.
API = {
    "Compile and run": ("compile", "load", "Bundle", "Report"),
    "Float models": ("profile", "Profile", "Quantization", "export", "tune", "tune_kernels"),
    "Errors and limits": ("GlowmcuError", "Problem", "ExitCode", "memory_limit"),
}


def _cell(text: object) -> str:
    """Of a table, where `|` and `<` are Markdown's outside of code and plain text in it."""
    parts = re.split(r"(`[^`]*`)", " ".join(str(text).split()))
    code = slice(1, None, 2)
    escaped = [html.escape(part, quote=False).replace("|", "&#124;") for part in parts]
    escaped[code] = parts[code]
    return "".join(escaped)


def _table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"
    yield ""


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    """A table a group of options, as `--help` groups them."""
    records = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            records[max(parameter.opts, key=len)] = (f"`{record[0]}`", record[1])
    groups = dict(command.groups) if isinstance(command, GroupedCommand) else {}
    shown = {name for names in groups.values() for name in names}
    groups["More" if groups else ""] = [name for name in records if name not in shown]
    for title, names in groups.items():
        rows: list[tuple[object, ...]] = [records[name] for name in names if name in records]
        if rows:
            yield from (["", f"**{title}**"] if title else [])
            yield from _table(("option", "what"), rows)


def commands() -> str:
    """The command line, from what click knows of it."""
    lines = ["# Commands", "", _MADE, "", "What `glowmcu COMMAND --help` shows.", ""]
    for title, names in GROUPS.items():
        lines += [f"## {title}", ""]
        for name in names:
            found = group.get_command(click.Context(group), name)
            assert found is not None, f"{name} of {COMMANDS} is no command"
            # Options of help are made once, and are the group's.
            parent = click.Context(group, info_name="glowmcu", **group.context_settings)
            context = click.Context(found, info_name=name, parent=parent)
            usage = " ".join(found.collect_usage_pieces(context))
            lines += [f"### glowmcu {name}", "", "```text", f"glowmcu {name} {usage}", "```", ""]
            lines += [*(found.help or "").replace("\b\n", "").splitlines(), ""]
            lines += _options(found, context)
    return "\n".join(lines) + "\n"


def api() -> str:
    """The names of `glowmcu`, each with its docstring by mkdocstrings."""
    public = [name for name in glowmcu.__all__ if not name.startswith("__")]
    listed = {name for names in API.values() for name in names}
    sections = {**API, "More": tuple(name for name in public if name not in listed)}
    lines = ["# Python", "", _MADE, "", "Everything that `import glowmcu` offers.", ""]
    for title, names in sections.items():
        present = [name for name in names if name in public]
        lines += [f"## {title}", ""] if present else []
        for name in present:
            # Where it is defined; all are imported as `glowmcu.NAME`.
            home = getattr(glowmcu, name).__module__
            lines += [f"::: {home}.{name}", ""]
    return "\n".join(lines) + "\n"


def operators() -> str:
    """What `glowmcu ops` lists."""
    rows = operator_rows()
    lines = ["# Operators", "", _MADE, ""]
    lines += [f"{len(rows)} operators can be compiled. `glowmcu ops conv` lists those with conv in "
              "their name; [onnx.md](../onnx.md) says more of ONNX.", ""]  # fmt: skip
    titles = {"tflite": "TensorFlow Lite", "onnx": "ONNX"}
    for file_format, found in groupby(rows, key=lambda row: row["format"]):
        lines += [f"## {titles.get(file_format, file_format)}"]
        lines += _table(
            ("operator", "family", "notes"),
            [
                (f"`{'.'.join(filter(None, (row['domain'], row['operator'])))}`",
                 row["family"], row["notes"])
                for row in found
            ],
        )  # fmt: skip
    return "\n".join(lines) + "\n"


def boards() -> str:
    """What `glowmcu boards` lists, with the memories."""
    lines = ["# Boards", "", _MADE, ""]
    lines += ["`--board NAME` takes one of these, or a file of your own: "
              "[a board of your own](../boards/index.md#a-board-of-your-own).", ""]  # fmt: skip
    rows: list[tuple[object, ...]] = []
    for name in board_names():
        board = find_board(name)
        memory = ", ".join(
            f"{region.name} {region.size_bytes // 1024} KiB" for region in board.memory
        )
        clock = f"{board.clock_hz / 1e6:g} MHz" if board.clock_hz else ""
        serial = "yes" if board.serial is not None else ""
        rows.append((f"`{name}`", board.title, board.core, clock, memory, serial))
    lines += _table(("board", "what", "core", "clock", "memory", "test firmware"), rows)
    return "\n".join(lines) + "\n"


PAGES = {
    "reference/api.md": api,
    "reference/boards.md": boards,
    "reference/commands.md": commands,
    "reference/operators.md": operators,
}
