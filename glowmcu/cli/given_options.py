"""Options that a command was given although they have no meaning beside the others."""

from __future__ import annotations

from collections.abc import Collection

import click
from click.core import ParameterSource


def refuse_given(context: click.Context, names: Collection[str], why: str) -> None:
    """A usage error for the first of the parameters `names` that is not left at its default."""
    for option in context.command.params:
        if option.name in names:
            source = context.get_parameter_source(option.name)
            if source is not None and source is not ParameterSource.DEFAULT:
                raise click.UsageError(f"{option.opts[-1]} {why}", context)
