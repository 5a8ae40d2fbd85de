"""`--place` on the command line: what is printed, what `--json` lists, exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from glowmcu.resources import resource_dir
from tests.cli.conftest import Run

H7 = ("compile", "digits.tflite", "--board", "nucleo-h743zi", "-o", "out")


@pytest.mark.arm
def test_json_lists_what_lies_where(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli(*H7, "--json", "--place", "weights:0=itcm", "--place", "code:0=itcm")
    assert ended.exit_code == 0, ended.err
    body = json.loads(ended.out)
    rows = {(row["what"], row["region"]): row for row in body["placement"]}
    assert set(rows) == {
        ("arena", "dtcm"),
        ("weights", "itcm"),
        ("weights", "flash"),
        ("code", "itcm"),
        ("code", "flash"),
    }
    assert rows["arena", "dtcm"]["bytes"] == body["arena_bytes"]
    weights = [row for (what, _), row in rows.items() if what == "weights"]
    assert sum(row["bytes"] for row in weights) == body["weights_bytes"]
    assert rows["weights", "itcm"]["bytes"] == body["layers"][0]["weights_bytes"]
    assert rows["weights", "itcm"]["layers"] == rows["code", "itcm"]["layers"] == [0]
    assert rows["weights", "itcm"]["image_region"] == "flash"
    code = [row["bytes"] for (what, _), row in rows.items() if what == "code"]
    assert sum(code) == body["code_bytes"]
    assert min(code) > 100
    assert body["options"]["place"] == "weights:0=itcm,code:0=itcm"


def test_the_report_says_what_lies_where(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli(*H7, "--place", "weights:0=itcm", "--report", "report.html")
    assert ended.exit_code == 0, ended.err
    page = Path("report.html").read_text()
    assert "of dtcm (128 KiB)" in page
    assert re.search(r"placed: weights \d+ B in itcm \(steps 0\)", page)
    assert "placed   weights" in ended.out


def test_a_board_without_regions_has_no_placement(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("compile", "digits.tflite", "-o", "out", "--json")
    assert json.loads(ended.out)["placement"] == []


def test_a_region_that_is_too_small_ends_with_4_and_the_numbers(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("compile", "digits.tflite", "--board", small_board(), "-o", "out",
                        "--place", "weights=itcm")  # fmt: skip
    assert ended.exit_code == 4
    assert "6 124 B of placed code and weights needed, small has 4 096 B, 2 028 B too much" in (
        " ".join(ended.err.split())
    )
    assert "place less there with --place" in ended.err


@pytest.mark.slow
def test_the_plan_shrinks_where_the_arena_s_region_is_too_small(glowmcu_cli: Run) -> None:
    usual = json.loads(glowmcu_cli(*H7, "--json").out)["arena_bytes"]
    board = small_board(dtcm_bytes=usual - 16)
    elsewhere = json.loads(
        glowmcu_cli("compile", "digits.tflite", "--board", board, "-o", "out", "--json").out
    )
    assert elsewhere["placement"][0]["region"] == "ram"
    assert elsewhere["arena_bytes"] == usual
    forced = json.loads(
        glowmcu_cli("compile", "digits.tflite", "--board", board, "-o", "out", "--json", "--place",
                    "arena=dtcm").out
    )  # fmt: skip
    assert forced["placement"][0]["region"] == "dtcm"
    assert forced["arena_bytes"] < usual
    assert any("needs an arena of" in note for note in forced["notes"])


@pytest.mark.parametrize(
    ("places", "said"),
    [
        (["arena"], "GM721"),
        (["=dtcm"], "GM721"),
        (["arena=dtcm", "arena=ram"], "GM154"),
        (["arena=dctm"], "did you mean 'dtcm'"),
        (["weights:convolution=itcm"], "GM407"),
    ],
)
def test_a_mistake_ends_with_2(glowmcu_cli: Run, places: list[str], said: str) -> None:
    ended = glowmcu_cli(*H7, *(word for place in places for word in ("--place", place)))
    assert ended.exit_code == 2
    assert said in ended.err


def small_board(dtcm_bytes: int = 131072) -> str:
    """The file of an H7 with 4 KiB of ITCM."""
    text = (resource_dir("boards") / "nucleo-h743zi.toml").read_text()
    head, itcm, tail = text.partition('name = "itcm"')
    tail = tail.replace("size_bytes = 65536", "size_bytes = 4096", 1)
    text = (head + itcm + tail).replace('name = "nucleo-h743zi"', 'name = "small"', 1)
    head, dtcm, tail = text.partition('name = "dtcm"')
    tail = tail.replace("size_bytes = 131072", f"size_bytes = {dtcm_bytes}", 1)
    Path("small.toml").write_text(head + dtcm + tail)
    return "small.toml"
