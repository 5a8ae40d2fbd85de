"""`python -m glowmcu.ci` runs the job, `python -m glowmcu.ci packages` says what it lacks."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from glowmcu.ci.job import run_job
from glowmcu.ci.service import service
from glowmcu.ci.settings import Settings, setting_options
from glowmcu.ci.tools import missing_packages
from glowmcu.errors import GlowmcuError


@click.command()
@click.argument("what", type=click.Choice(["check", "packages"]), default="check")
@setting_options
def job(what: str, settings: Settings) -> None:
    """Compile a model as it is and as it was, verify it, and comment what changed.

    packages: print the Debian packages that this needs and that are not here, one a line.
    """
    if what == "packages":
        for name in missing_packages(settings):
            click.echo(name)
        return
    click.get_current_context().exit(run_job(settings, service()))


def main() -> NoReturn:
    """Ends the process."""
    try:
        job(prog_name="python -m glowmcu.ci")
    except GlowmcuError as cause:
        service().fail(cause.for_shell)
        sys.exit(int(cause.exit_code))
    raise AssertionError("click ends the process")


if __name__ == "__main__":
    main()
