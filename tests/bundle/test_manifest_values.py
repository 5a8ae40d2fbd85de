"""A manifest may come from anywhere: each of its values is believed only if it can be."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.manifest import read_manifest
from glowmcu.report.tables import summary_lines
from tests.bundle.conftest import BundleOf
from tests.bundle.models import model_bytes

WRONG = (None, {}, [], "x", 1.5, -1, 2**62, 10**400)
Place = tuple[str | int, ...]


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Of all values in it, of lists the first two."""
    if isinstance(value, dict | list):
        keys = value if isinstance(value, dict) else range(min(len(value), 2))
        for key in keys:
            yield from places(value[key], (*place, key))
    if place:
        yield place


def put(folder: Path, body: Any, place: Place, value: object) -> None:
    changed = at = copy.deepcopy(body)
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    (folder / "manifest.json").write_text(json.dumps(changed), encoding="utf-8")


@pytest.fixture
def copied(bundle_of: BundleOf, tmp_path: Path) -> Path:
    """A bundle that may be changed."""
    return Path(shutil.copytree(bundle_of("digits"), tmp_path / "copied"))


def test_any_wrong_value_is_read_or_refused(copied: Path) -> None:
    body = json.loads((copied / "manifest.json").read_text(encoding="utf-8"))
    codes = []
    for place in places(body):
        for value in WRONG:
            put(copied, body, place, value)
            try:
                read_manifest(copied)
            except GlowmcuError as cause:
                codes.append(cause.code)
    assert set(codes) == {"GM601"}
    assert len(codes) > 800


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("inputs", 0, "outside_align"), {}),
        (("headers", 1), 1),
        (("inputs", 0, "shape", 0), 1.5),
        (("inputs", 0, "shape", 2), "x"),
        (("inputs", 0, "bytes"), 2**62),
        (("outputs", 0, "dtype"), []),
        (("outputs", 0, "dtype"), "x"),
        (("outputs", 0, "shape", 1), 2**62),
        (("outputs", 0, "offset"), -1),
        (("outputs", 0, "offset"), None),
        (("layers", 2, "index"), [None]),
        (("arena_bytes",), 0),
        (("arena_align",), 2**62),
        (("name",), "x"),
    ],
    ids=str,
)
def test_commands_refuse_a_bundle_with_a_value_that_cannot_be(
    place: Place, value: object, copied: Path
) -> None:
    put(copied, json.loads((copied / "manifest.json").read_text()), place, value)
    for command in (
        lambda: glowmcu.load(copied).run([np.zeros((1, 8, 8, 1), np.int8)]),
        lambda: glowmcu.bench(copied),
        lambda: glowmcu.report(copied),
    ):
        with pytest.raises(GlowmcuError) as caught:
            command()
        assert caught.value.code == "GM601"


@pytest.mark.parametrize("board", [None, "stm32h745"])
def test_a_report_bears_regions_that_a_board_does_not_have(
    board: str | None, tmp_path: Path
) -> None:
    model, bundle = tmp_path / "net.tflite", tmp_path / "out"
    model.write_bytes(model_bytes("digits"))
    glowmcu.compile(model, board="rp2040", output=bundle)
    body = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    for changes in ({}, {"region": "nowhere"}, {"region": "nowhere", "section": ".nowhere"}):
        put(bundle, body, ("placement", 0), {**body["placement"][0], **changes})
        assert "fits" in "\n".join(summary_lines(glowmcu.load(bundle, board)))
        assert glowmcu.report(bundle, board=board).html
