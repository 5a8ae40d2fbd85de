"""`glowmcu report`: everything that is known of a bundle, as one page."""

from __future__ import annotations

from pathlib import Path

import click

from glowmcu.bundle import load
from glowmcu.cli.completion import complete_board
from glowmcu.cli.output import write_report


@click.command("report")
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--board",
    help="Another board than the bundle was compiled for.",
    shell_complete=complete_board,
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Default: <bundle>.report.html beside the bundle's folder.",
)
def report_command(bundle: Path, board: str | None, output: Path | None) -> None:
    """Write all that compile, verify and bench found out about BUNDLE as one HTML file.

    It needs no network: network, layers and their kernels, arena over time, verification, API.
    """
    loaded = load(bundle, board)
    folder = bundle.resolve()
    file = folder.with_name(f"{folder.name}.report.html") if output is None else output
    write_report(file, loaded)
    click.echo(f"report: {file}")
