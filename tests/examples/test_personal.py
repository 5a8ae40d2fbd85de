"""The example that learns: its figures, and that learning does what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from examples.personal.measure import HERE, WAYS, measured


def results() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    return found


def test_pages_show_the_figures_of_the_results() -> None:
    pages = [HERE / "README.md", HERE.parents[1] / "docs" / "learning.md"]
    found = results()
    assert list(found) == list(WAYS)
    for name, row in found.items():
        share = f"{100 * row['after'] / row['windows']:.1f} %"
        for page in pages:
            (line,) = (
                line
                for line in page.read_text(encoding="utf-8").splitlines()
                if line.startswith(f"| {name} |")
            )
            assert share in line, f"{page.name}: {line}"


def test_the_readme_of_the_repository_has_three_of_them() -> None:
    (line,) = (
        line
        for line in (HERE.parents[1] / "README.md").read_text(encoding="utf-8").splitlines()
        if "of later ones right" in line
    )
    real, fixed = results()["all layers"], results()["all layers, fixed point"]
    for right in (real["before"], real["after"], fixed["after"]):
        assert f"{100 * right / real['windows']:.1f} %" in line


def test_every_way_of_learning_helps_people_whom_nobody_trained_on() -> None:
    for row in results().values():
        assert row["after"] > 1.03 * row["before"]


def test_people_are_shown_and_judged_by_different_windows() -> None:
    data = np.load(HERE / "people.npz")
    assert set(data["persons"].tolist()) == {7, 8, 9, 10}
    shown, judged = data["inputs"][data["shown"]], data["inputs"][~data["shown"]]
    assert not {x.tobytes() for x in shown} & {x.tobytes() for x in judged}


def test_fixed_point_learns_as_well_as_real_numbers() -> None:
    found = results()
    for real, fixed in (
        ("last layer", "last layer, fixed point"),
        ("biases of all layers", "biases, fixed point"),
        ("all layers", "all layers, fixed point"),
    ):
        assert found[fixed]["after"] > found[real]["after"] - 0.01 * found[real]["windows"]
        assert found[fixed]["arena_bytes"] < found[real]["arena_bytes"]


@pytest.mark.parametrize("name", ["prototypes", "last layer"])
def test_learning_again_gives_about_what_is_recorded(name: str, tmp_path: Path) -> None:
    """Another version of numpy or of a compiler may decide a few windows otherwise."""
    bundle = glowmcu.compile(
        HERE / "model_float.tflite", "nrf52", tmp_path / "net", "net",
        samples=HERE / "calibration.npz", io="float", **WAYS[name],
    )  # fmt: skip
    turns = 1 if name == "prototypes" else 3
    right = [sum(row) for row in zip(*measured(bundle, turns).values(), strict=True)]
    want = results()[name]
    assert abs(right[0] - want["before"]) <= 6
    assert right[1] >= want["after"] - 20
    assert right[2] == want["windows"]
