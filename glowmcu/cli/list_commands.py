"""`glowmcu inspect`, `glowmcu boards`, `glowmcu ops`."""

from __future__ import annotations

import dataclasses
import difflib
from pathlib import Path

import click

from glowmcu.board import board_names, find_board
from glowmcu.cli.input_arguments import input_options
from glowmcu.cli.output import console, json_option, print_json
from glowmcu.errors import error
from glowmcu.input_options import InputOptions
from glowmcu.report.tables import board_table


@click.command("inspect")
@click.argument("model", type=click.Path(path_type=Path))
@input_options
@json_option
def inspect_command(model: Path, inputs: InputOptions, as_json: bool) -> None:
    """Show what is in MODEL: tensors, operators, work, and what is not supported."""
    from glowmcu.api.inspection import inspect
    from glowmcu.report.inspection import inspection_lines

    found = inspect(
        model,
        input_shapes=inputs.given_shapes,
        define=inputs.define,
        bind=inputs.bind,
        states=inputs.states_given,
    )
    if as_json:
        print_json(found.json())
        return
    out = console()
    for line in inspection_lines(found):
        out.print(line)


@click.command("boards")
@json_option
def boards_command(as_json: bool) -> None:
    """List the boards: core, memory, emulators."""
    boards = [find_board(name) for name in board_names()]
    if as_json:
        rows = [dataclasses.asdict(board) for board in boards]
        print_json([{key: value for key, value in row.items() if key != "file"} for row in rows])
        return
    console().print(board_table(boards))


@click.command("ops")
@click.argument("word", required=False)
@json_option
def ops_command(word: str | None, as_json: bool) -> None:
    """List the operators that can be compiled; with WORD (conv, say) those that hold it."""
    from glowmcu.report.operators import operator_rows, operator_table

    known = operator_rows()
    rows = [row for row in known if (word or "").lower() in row["operator"].lower()]
    if not rows:
        near = difflib.get_close_matches(str(word), [row["operator"] for row in known], n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "`glowmcu ops` lists all"
        raise error("GM741", f"no operator has {word!r} in its name", hint=hint)
    if as_json:
        print_json(rows)
        return
    console().print(operator_table(rows))
