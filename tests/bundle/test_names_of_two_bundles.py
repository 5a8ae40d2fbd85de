"""Names of two bundles in one firmware: docs/memory.md lists the endings that make one of two."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import glowmcu
from tests.conftest import REPO
from tests.support.c_names import c_names

DIGITS = REPO / "examples" / "digits" / "digits_int8.tflite"
#: Whatever has names of its own in a bundle.
BUNDLES: tuple[dict[str, Any], ...] = (
    {"board": "rp2350", "cores": 2},
    {"board": "nrf52", "steps": True, "labels": list("0123456789")},
    {"board": "nrf52", "instrument": True},
    {"board": "nrf52", "stream_inputs": ["pixels"]},
    {"board": "nrf52", "weights": "pointer"},
    {"board": "nrf52", "train": "last=2"},
    {"board": "nucleo-h743zi", "place": {"auto": ""}},
    {"board": "nrf52", "model": REPO / "examples" / "wake_word" / "wake_word.toml"},
)
#: Numbers of layers, and names of tensors and regions.
_OPEN = re.compile(r"_(w\d+|input|output|dtcm|itcm)(_.*)?")


def endings(given: dict[str, Any], folder: Path) -> set[str]:
    """What follows the bundle's name in its identifiers."""
    folder = glowmcu.compile(**{"model": DIGITS, **given}, output=folder, name="mine").path
    own = [path for path in folder.rglob("*.[ch]") if not path.name.startswith("glowmcu_")]
    names = set[str]().union(*(c_names(path.read_text(encoding="utf-8")) for path in own))
    return {name[4:] for name in names if name.startswith(("mine_", "MINE_"))}


def test_docs_list_all_endings_by_which_two_bundles_names_make_one(tmp_path: Path) -> None:
    found = set[str]()
    for number, given in enumerate(BUNDLES):
        found |= endings(given, tmp_path / str(number))
    between = {
        longer.removesuffix(shorter).lower()
        for longer in found
        for shorter in found
        if longer != shorter and longer.endswith(shorter)
    }
    text = (REPO / "docs" / "memory.md").read_text(encoding="utf-8")
    said = text.partition("with one of these behind it:")[2].partition(";")[0]
    assert {ending for ending in between if not _OPEN.fullmatch(ending)} == set(
        re.findall(r"`(\w+)`", said)
    )
