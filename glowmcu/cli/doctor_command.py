"""`glowmcu doctor`: what of the tools is installed here, and what is missing for which command."""

from __future__ import annotations

import click

from glowmcu.cli.output import console, json_option, print_json
from glowmcu.errors import ExitCode
from glowmcu.report.doctor import doctor_json, doctor_table, uses


@click.command("doctor")
@click.argument(
    "command",
    required=False,
    type=click.Choice(["bench", "compile", "export", "flash", "profile", "run", "tune", "verify"]),
)
@json_option
def doctor_command(command: str | None, as_json: bool) -> int:
    """Say which tools are installed here, and what to install for what is not.

    With COMMAND: only what that command can use; exit code 2 where some of it is missing.
    """
    found = [use for use in uses() if command is None or command in use.commands]
    if as_json:
        print_json(doctor_json(found))
    else:
        console().print(doctor_table(found))
    lacks = command is not None and any(use.missing is not None for use in found)
    return int(ExitCode.USAGE if lacks else ExitCode.OK)
