"""`glowmcu example`: a model with samples to try the other commands on."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import click

from glowmcu.cli.output import json_option, print_json
from glowmcu.examples import Example, examples, find_example, write_example
from glowmcu.shell_words import quoted


def _complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    return [name for name in examples() if name.startswith(begun)]


@click.command("example")
@click.argument("name", required=False, shell_complete=_complete)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path(),
    metavar="FOLDER",
    help="Where the files go (default: the current folder).",
)
@click.option("--force", is_flag=True, help="Replace other files of the same names.")
@json_option
def example_command(name: str | None, output: Path, force: bool, as_json: bool) -> None:
    """Write the example NAME here: a trained model and samples; without it, list all."""
    if name is None:
        _list_all(as_json)
        return
    example = find_example(name)
    written = write_example(example, output, force)
    if as_json:
        files = [path.as_posix() for path in written]
        print_json({**dataclasses.asdict(example), "files": files})
        return
    for path in written:
        click.echo(f"wrote {path}")
    click.echo("try:")
    for line in _typed(example, output):
        click.echo(f"  {line}")


def _list_all(as_json: bool) -> None:
    known = examples().values()
    if as_json:
        print_json([dataclasses.asdict(example) for example in known])
        return
    width = max(len(example.name) for example in known)
    for example in known:
        click.echo(f"{example.name:{width}}  {example.title}")


def _typed(example: Example, folder: Path) -> list[str]:
    """What to type next, from the folder where the user is."""
    if os.path.normpath(folder) == os.curdir:
        return list(example.commands)
    return [f"cd {quoted(str(folder))}", *example.commands]
