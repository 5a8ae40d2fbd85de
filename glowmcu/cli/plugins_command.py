"""`glowmcu plugins`: what installed packages add, and what is wrong with it."""

from __future__ import annotations

import click

from glowmcu.cli.output import console, json_option, print_json
from glowmcu.errors import GlowmcuError


@click.command("plugins")
@json_option
def plugins_command(as_json: bool) -> None:
    """List what installed packages add to glowmcu, and what is wrong with it.

    Exit code 2 where a plug-in does not work: docs/plugins.md says what each has to give.
    """
    from glowmcu.plugin_states import plugin_states
    from glowmcu.report.plugins import plugin_table

    states = plugin_states()
    if as_json:
        print_json([state.json() for state in states])
    elif states:
        console().print(plugin_table(states))
    else:
        console().print("no installed package adds anything; docs/plugins.md says how one does")
    problems = [state.problem for state in states if state.problem is not None]
    if problems:
        raise GlowmcuError(problems)
