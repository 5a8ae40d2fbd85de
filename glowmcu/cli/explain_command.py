"""`glowmcu explain`: what an error code means and what to do."""

from __future__ import annotations

import dataclasses

import click

from glowmcu.cli.output import json_option, print_json
from glowmcu.error_codes import code_of, exit_codes, explanations, near_codes
from glowmcu.errors import GlowmcuError, error


def _complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    return [code for code in explanations() if code.startswith(begun.upper())]


@click.command("explain")
@click.argument("code", required=False, shell_complete=_complete)
@json_option
def explain_command(code: str | None, as_json: bool) -> None:
    """Say what an error CODE (GM409) or exit code means and what to do; without it, list all."""
    known = explanations()
    if code is None:
        if as_json:
            print_json([dataclasses.asdict(entry) for entry in known.values()])
        else:
            click.echo("\n".join(f"{entry.code}  {entry.title}" for entry in known.values()))
            click.echo("\n".join(f"exit {n:<3}  {text}" for n, text in exit_codes().items()))
        return
    wanted = code_of(code)
    if code.isdecimal() and int(code) in exit_codes():
        text = exit_codes()[int(code)]
        if as_json:
            print_json({"exit_code": int(code), "meaning": text})
            return
        click.echo(f"exit code {int(code)}: {text}")
        if wanted not in known:
            return
        click.echo()  # 130 is a code of a message, too
    if wanted not in known:
        raise _unknown(code, wanted)
    if as_json:
        print_json(dataclasses.asdict(known[wanted]))
        return
    click.echo(click.wrap_text(known[wanted].text(), width=78, preserve_paragraphs=True))


def _unknown(text: str, code: str | None) -> GlowmcuError:
    if code is None:
        hint = "give it as in the message: glowmcu explain GM409; without a code all are listed"
        return error("GM740", f"{text!r} is no error code", hint=hint)
    known = explanations()
    near = "; ".join(f"{other} is {known[other].title!r}" for other in near_codes(code))
    return error("GM740", f"there is no error code {code}", hint=f"near it: {near}")
