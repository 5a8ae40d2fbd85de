"""`glowmcu inspect`, `glowmcu boards`, `glowmcu ops`."""

from __future__ import annotations

import dataclasses
import difflib
from pathlib import Path

import click

from glowmcu.board import board_names, find_board
from glowmcu.cli.completion import complete_board
from glowmcu.cli.input_arguments import input_options
from glowmcu.cli.output import console, json_option, print_json
from glowmcu.errors import error
from glowmcu.input_options import InputOptions
from glowmcu.report.one_board import board_lines
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
        custom=inputs.custom,
        states=inputs.states_given,
    )
    if as_json:
        print_json(found.json())
        return
    out = console()
    for line in inspection_lines(found):
        out.print(line)


@click.command("boards")
@click.argument("name", required=False, shell_complete=complete_board)
@json_option
def boards_command(name: str | None, as_json: bool) -> None:
    """List the boards: core, memory, emulators.

    With NAME, or a board's file, all that it says, the timing of its memories included.
    """
    boards = [find_board(one) for one in (board_names() if name is None else (name,))]
    if as_json:
        rows = [dataclasses.asdict(board) for board in boards]
        print_json([{key: value for key, value in row.items() if key != "file"} for row in rows])
        return
    out = console()
    if name is None:
        out.print(board_table(boards))
        return
    for line in board_lines(boards[0]):
        out.print(line, markup=False, soft_wrap=True)


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
