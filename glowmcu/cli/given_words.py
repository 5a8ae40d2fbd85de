"""Options that have to say something: an unset variable of a script says nothing."""

from __future__ import annotations

import os

import click


def not_empty(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """The value as it is: a callback of options, which refuses an empty one that was typed."""
    source = context.get_parameter_source(option.name or "")
    if value == "" and source is not click.core.ParameterSource.DEFAULT:
        raise click.BadParameter("it is empty; leave the option out", context, option)
    return value


class NamedPath(click.Path):
    """A path; an empty one would be the current folder."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """As click does it."""
        if value == "":
            self.fail("it is empty; leave the option out", param, ctx)
        return super().convert(value, param, ctx)
