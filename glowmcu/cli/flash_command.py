"""`glowmcu flash`: a bundle's test firmware onto a board."""

from __future__ import annotations

from pathlib import Path

import click

from glowmcu.bundle import load
from glowmcu.cli.completion import complete_board
from glowmcu.cli.output import console
from glowmcu.errors import error
from glowmcu.given_paths import as_argument, is_file
from glowmcu.shell_words import quoted
from glowmcu.verify.flash import TOOL_NAMES, build_test_firmware, flashing, write_to_board
from glowmcu.verify.flash.flashing import check_board, image_of


@click.command("flash")
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--board", shell_complete=complete_board, help="Another board than the bundle was compiled for."
)
@click.option(
    "--tool", type=click.Choice(TOOL_NAMES), help="Write by this one, not the first that is here."
)
@click.option(
    "--probe",
    default="",
    metavar="ID",
    help="Which of several probes or boards, as the tool names it: a serial number, a port.",
)
@click.option(
    "--image",
    type=click.Path(path_type=Path),
    metavar="FILE.elf",
    help="Write this program of yours, in which serial_serve runs, not the test firmware.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Where the firmware is built.  [default: BUNDLE/firmware]",
)
@click.option("--dry-run", is_flag=True, help="Only print the command lines.")
def flash_command(
    bundle: Path, board: str | None, tool: str | None, probe: str, image: Path | None,
    output: Path | None, dry_run: bool,
) -> None:  # fmt: skip
    """Build the test firmware of BUNDLE and write it to a connected board.

    Then run, verify and bench take --on serial:PORT. Written by the first of probe-rs, pyocd,
    openocd, picotool and esptool that is installed and that knows the board.
    """
    loaded = load(bundle, board)
    folder = output or bundle / "firmware"
    if image is None:
        check_board(loaded.board)
    elif not is_file(image):
        raise error("GM187", "there is no such program", str(image), "give the linked ELF file")
    plan = flashing(loaded.board, image or image_of(bundle, folder), tool, probe, dry_run)
    out = console()
    if not dry_run and image is None:
        build_test_firmware(bundle, loaded.board, folder)
    for line in plan.lines():
        out.print(line, markup=False, soft_wrap=True)
    if dry_run:
        return
    write_to_board(plan)
    if loaded.board.serial is not None:
        out.print(f"connect  {loaded.board.serial.connect}", markup=False, soft_wrap=True)
    named = f" --board {quoted(board)}" if board else ""
    out.print(
        f"next     glowmcu verify {quoted(as_argument(bundle))}{named} --on host,serial:PORT",
        markup=False, soft_wrap=True,
    )  # fmt: skip
