"""`--help` in groups, most wanted first, on click's own formatter.

rich-click and cloup do this too, but import every command for its line in `glowmcu --help`:
docs/by_hand.md has the measures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

Groups = Mapping[str, Sequence[str]]
_MORE = "More"


class GroupedCommand(click.Command):
    """A command whose options stand under headings: `groups` has their long names, in order."""

    def __init__(self, *arguments: object, groups: Groups, **others: object) -> None:
        super().__init__(*arguments, **others)  # type: ignore[arg-type]
        self.groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A section a group; what is in none stands at the end, with --help."""
        records: dict[str, tuple[str, str]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                name = max((*parameter.opts, *parameter.secondary_opts), key=len)
                records[parameter.opts[0] if name not in _names(self.groups) else name] = record
        write_groups(formatter, self.groups, records)


def write_groups(
    formatter: click.HelpFormatter, groups: Groups, records: Mapping[str, tuple[str, str]]
) -> None:
    """The records under the headings of the groups."""
    grouped = {
        title: [records[name] for name in names if name in records]
        for title, names in groups.items()
    }
    rest = [record for name, record in records.items() if name not in _names(groups)]
    for title, rows in (*grouped.items(), (_MORE, rest)):
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


def _names(groups: Groups) -> set[str]:
    return {name for names in groups.values() for name in names}
