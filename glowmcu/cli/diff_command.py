"""`glowmcu diff`: what changed between two bundles, and whether it is too much."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import click

from glowmcu.cli.amount_types import byte_count, cycle_count
from glowmcu.cli.output import console, json_option, print_json
from glowmcu.errors import ExitCode
from glowmcu.facts.bundle_diff import diff_bundles
from glowmcu.facts.growth import NAMES, GrowthLimit, check_growth
from glowmcu.report.bundle_diff import diff_lines, diff_markdown, diff_tables


def growth_limit(text: str) -> GrowthLimit:
    """5%, arena=0, flash=2K, cycles=2.5%, as an option's type."""
    name, equals, amount = text.rpartition("=")
    if equals and name not in NAMES:
        raise click.BadParameter(f"expected one of {', '.join(NAMES)} before =, got {name!r}")
    if percent := re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)%", amount, re.ASCII):
        return GrowthLimit(text, name, Fraction(percent[1]))
    if not equals:
        raise click.BadParameter(f"expected 5%, arena=0, flash=2K or the like, got {text!r}")
    if re.fullmatch(r"0{1,12}", amount):
        return GrowthLimit(text, name)
    read = cycle_count if name in ("cycles", "instructions") else byte_count
    return GrowthLimit(text, name, most=read(amount))


@click.command("diff")
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option(
    "--max-growth",
    "limits",
    type=growth_limit,
    multiple=True,
    metavar="[NAME=]LIMIT",
    help="Exit code 4 where AFTER takes more: 5% (arena, stack, flash and cycles each), arena=0, "
    "flash=2K, cycles=2% or 10K. Can be repeated.",
)
@click.option("--exit-code", is_flag=True, help="Exit code 1 where anything differs.")
@click.option("--markdown", is_flag=True, help="Print a comment for a pull request.")
@json_option
def diff_command(
    before: Path,
    after: Path,
    limits: tuple[GrowthLimit, ...],
    exit_code: bool,
    markdown: bool,
    as_json: bool,
) -> int:
    """Compare the bundles BEFORE and AFTER: memory, cycles, layers, interface, options.

    They are folders that `glowmcu compile` wrote. What `glowmcu bench` measured of both is
    compared; what it did not measure is compared by its estimates.
    """
    if markdown and as_json:
        raise click.UsageError("--markdown and --json do not go together: call twice")
    names = [limit.name for limit in limits]
    if len(set(names)) < len(names):
        raise click.UsageError("--max-growth was given twice for the same: keep one of them")
    found = diff_bundles(before, after)
    if as_json:
        print_json(found.json())
    elif markdown:
        click.echo(diff_markdown(found), nl=False)
    else:
        out = console()
        for table in diff_tables(found):
            out.print(table)
        for line in diff_lines(found):
            out.print(line)
    check_growth(found, limits)
    return int(ExitCode.MISMATCH if exit_code and found.differs else ExitCode.OK)
