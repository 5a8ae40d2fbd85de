"""What the tests know of Renode, compared with a Renode folder.

It is the one of `renode-test` on PATH, or `RENODE_ROOT`: a portable archive's, or a checkout.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from glowmcu.board import find_board
from glowmcu.verify.renode.files import _DOWNLOADING, _UART_MODELS
from tests.verify.fake_renode import fake_renode
from tests.verify.repl import parse_repl, read_platform
from tests.verify.test_renode_files import SHIPPED, THEIRS, check_no_overlap, files_for


def renode_root() -> Path:
    """A folder with Renode's `platforms/`: of the installed one, or as RENODE_ROOT says."""
    places = [os.environ.get("RENODE_ROOT") or ""]
    program = shutil.which("renode-test")
    if program:
        places.insert(0, str(Path(program).resolve().parent))
    for place in places:
        if place and (Path(place) / "platforms" / "cpus").is_dir():
            return Path(place)
    pytest.skip("NOT COMPARED WITH RENODE: no renode-test on PATH, and RENODE_ROOT is not set")


@pytest.mark.parametrize("path", SHIPPED)
def test_the_facts_about_a_shipped_platform_are_those_of_the_renode_at_hand(path: str) -> None:
    shipped = SHIPPED[path]
    platform = read_platform(path, renode_root())
    assert platform.entries["cpu"].properties["cpuType"] == f'"{shipped.core}"'
    for name, (kind, origin) in shipped.uarts.items():
        uart = platform.entries[name]
        assert uart.type == _UART_MODELS[kind][0]
        assert uart.places[0][0] == origin
    ranges = [pair for entry in platform.memories.values() for pair in entry.ranges]
    assert {(origin, origin + size) for origin, size in shipped.memories} <= set(ranges)


def test_platforms_that_download_are_known() -> None:
    """By the Renode at hand; one that was not known would need the network."""
    root = renode_root()
    for path in SHIPPED:
        text = (root / path).read_text(encoding="utf-8-sig")
        assert "ApplySVD" not in text or path in _DOWNLOADING, path


@pytest.mark.parametrize("name", THEIRS)
def test_what_is_added_to_a_platform_is_not_there_yet(name: str) -> None:
    board = find_board(name)
    assert board.renode is not None
    there = read_platform(board.renode.platform or "", renode_root())
    ours = parse_repl(files_for(name)[0])
    common = set(ours.entries) & set(there.entries)
    assert common <= {"sysbus"}, "a name that the platform has, too"
    every = [*there.memories.values(), *ours.memories.values()]
    check_no_overlap([pair for entry in every for pair in entry.ranges])


def test_the_played_keywords_are_those_of_the_renode_at_hand() -> None:
    sources = sorted((renode_root() / "src/Renode/RobotFrameworkEngine").glob("*.cs"))
    if not sources:
        pytest.skip("NOT COMPARED WITH RENODE: a packaged one has no sources of its keywords")
    text = "\n".join(path.read_text(encoding="utf-8-sig") for path in sources)
    for name, method in vars(fake_renode).items():
        if name.startswith("_") or not callable(method):
            continue
        camel = "".join(word.capitalize() for word in name.split("_"))
        found = re.search(
            rf"RobotFrameworkKeyword[^\n]*\n\s+public \S+ {camel}\(([^{{]*)\)\s", text
        )
        assert found is not None, f"Renode has no keyword {camel}"
        theirs = [part.split("=")[0].split()[-1] for part in found[1].split(",") if part.strip()]
        code = method.__code__
        mine = code.co_varnames[1 : code.co_argcount]
        assert set(mine) <= set(theirs), f"{camel} has no such argument"
