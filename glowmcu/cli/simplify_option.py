"""`--no-simplify`, the same for every command that compiles."""

from __future__ import annotations

import click

simplify_option = click.option(
    "--simplify/--no-simplify",
    default=True,
    help="Leave out what no input can change, bit for bit. Default: yes.",
)
