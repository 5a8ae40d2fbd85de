"""What a person sees in a terminal of 60, 80 or 120 columns: numbers are whole, names give way."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

import glowmcu
from glowmcu.board import board_names, find_board
from glowmcu.cli import main
from glowmcu.cli.output import console
from glowmcu.cli.safe_console import SafeConsole
from glowmcu.quant.profile import Profile, TensorProfile
from glowmcu.report.doctor import Use, doctor_table
from glowmcu.report.fitting_table import FittingTable
from glowmcu.report.profiles import profile_table
from glowmcu.report.short_names import middle_cut, short_names
from glowmcu.report.tables import bench_table, count, plain_table
from glowmcu.verify.measurement import LayerCost, Measurement
from tests.bundle.models import digits

FUSED = [
    f"net/relu_{i}/Relu;net/batch_normalization_{i}/FusedBatchNormV3;net/conv2d_{i}/BiasAdd;"
    f"net/conv2d_{i}/Conv2D;net/conv2d/Conv2D"
    for i in range(1, 5)
]
NUMBERS = [f"{10 ** (i + 4) + 234_567:,}".replace(",", " ") for i in range(4)]
WIDTHS = (60, 80, 120)


def shown(table: object, width: int) -> str:
    stream = io.StringIO()
    SafeConsole(file=stream, width=width, highlight=False).print(table)
    return stream.getvalue()


def layers() -> FittingTable:
    table = plain_table(
        "", ("step", "r"), ("operator", "l"), ("kernel", "l"), ("weights B", "r"),
        ("cycles/MAC", "r"), ("layer", "l"), dispensable=["operator"],
    )  # fmt: skip
    for index, name in enumerate(FUSED):
        kernel = f"depthwise_conv_2d.planes_{index}_unrolled_dsp"
        table.add_row(str(index), "depthwise_conv_2d", kernel, NUMBERS[index], "1.2345", name)
    return table


@pytest.mark.parametrize("width", [*range(50, 130, 7), *WIDTHS])
def test_numbers_are_whole_and_rows_are_one_line(width: int) -> None:
    lines = shown(layers(), width).splitlines()
    rows = lines[-len(FUSED) :]
    for number, row in zip(NUMBERS, rows, strict=True):
        assert number in row
        assert "1.2345" in row
        assert len(row) <= width
    assert not re.search(r"\d…|…\s*\d", re.sub(r"\S*[a-z/]\S*", "", "\n".join(rows)))


@pytest.mark.parametrize("width", WIDTHS)
def test_layers_are_told_apart_at_every_width(width: int) -> None:
    rows = shown(layers(), width).splitlines()[-len(FUSED) :]
    for index, row in enumerate(rows, 1):
        assert re.search(rf"conv2d_{index}\b", row), row


def test_a_column_that_can_be_spared_goes_before_names_are_cut_to_nothing() -> None:
    assert "operator" not in shown(layers(), 60)
    assert "operator" in shown(layers(), 120)


def test_where_nothing_is_narrow_all_is_shown() -> None:
    text = shown(layers(), 100_000)
    assert all(name in text for name in FUSED)
    assert "…" not in text


def test_headings_fold_where_numbers_are_short() -> None:
    assert "cycles/MAC" in shown(layers(), 300)
    narrow = shown(layers(), 60).splitlines()
    heads = narrow[: -len(FUSED)]
    assert any("/MAC" in line for line in heads)
    assert not any("cycles/MAC" in line for line in heads)


def test_texts_wrap_between_words_and_not_in_numbers() -> None:
    table = plain_table("", ("#", "r"), ("said", "t"))
    table.add_row(
        "1", "12 345 678 B of RAM, 1 234 567 cycles of 64 MHz at 99.5 %, scale 0.5 zp -12"
    )
    for width in range(30, 60):
        text = shown(table, width)
        for whole in (
            "12 345 678 B",
            "1 234 567 cycles",
            "64 MHz",
            "99.5 %",
            "scale 0.5",
            "zp -12",
        ):
            assert whole in text, text


@pytest.mark.parametrize("width", range(34, 90, 5))
def test_a_line_of_a_summary_wraps_below_its_first_word(width: int) -> None:
    line = "  proved   1 650 channels never change: 3 762 351 MACs and 179 046 B of weights less"
    lines = shown(line, width).splitlines()
    assert max(map(len, lines)) <= width
    assert all(other.startswith(" " * 11) for other in lines[1:])
    for whole in ("1 650", "3 762 351 MACs", "179 046 B"):
        assert any(whole in other for other in lines), lines
    assert " ".join(" ".join(lines).split()) == " ".join(line.split())


@pytest.mark.parametrize(
    ("names", "width", "wanted"),
    [
        (FUSED[:2], 12, ["…/conv2d_1", "…/conv2d_2"]),
        (FUSED[:2], 25, ["net/conv2d_1/Conv2D;…", "net/conv2d_2/Conv2D;…"]),
        (["/features.0/conv/Conv", "/features.1/conv/Conv"], 14, ["features.0", "features.1"]),
        (["dense", "softmax"], 10, ["dense", "softmax"]),
        (["a_very_long_name_1", "a_very_long_name_2"], 9, []),
        (["", "x"], 5, ["", "x"]),
    ],
)
def test_what_tells_names_apart_stays(names: list[str], width: int, wanted: list[str]) -> None:
    found = short_names(names, width)
    assert all(len(text) <= width for text in found)
    if "_very_" in names[0]:
        assert len(set(found)) == 2
        assert all(text.endswith(str(i)) for i, text in enumerate(found, 1))
        return
    assert found == wanted


def test_a_cut_keeps_both_ends() -> None:
    for width in range(3, 12):
        text = middle_cut("abcdefghijkl", width)
        assert len(text) == width
        assert "…" in text
    assert middle_cut("abcdefghijkl", 7) == "abc…jkl"
    assert middle_cut("abc", 3) == "abc"


def test_a_title_longer_than_its_table_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    table = plain_table("against golden vectors, host C for random inputs", ("a", "r"), ("b", "l"))
    table.add_row("1", "x")
    console().print(table)
    lines = capsys.readouterr().out.splitlines()
    assert [line.rstrip() for line in lines] == [table.title, "a  b", "1  x"]


@pytest.mark.parametrize("terminal", ["xterm", "dumb"])
@pytest.mark.parametrize("width", WIDTHS)
def test_boards_fit_a_terminal_with_names_that_can_be_typed(
    width: int, terminal: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["boards"]) == 0
    piped = capsys.readouterr().out.splitlines()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", terminal)
    assert main(["boards"]) == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= width
    rows = {line.split()[0]: line for line in lines}
    for board in map(find_board, board_names()):
        assert board.core in rows[board.name]
        flash = sum(region.size_bytes for region in board.memory if region.kind == "flash") // 1024
        assert f" {count(flash)} " in rows[board.name] or not flash
    assert "…" not in "".join(piped)


@pytest.mark.parametrize("width", WIDTHS)
def test_what_the_doctor_looked_for_is_said_in_full(width: int) -> None:
    found = [
        Use(f"run in QEMU, {core} (--on qemu)", ("run", "verify"), ("gcc 12.2", "QEMU 7.2"), None)
        for core in ("Arm", "RISC-V")
    ]
    found.append(Use("cycles on the modelled core", ("bench", "tune"), (), "install " + "x " * 60))
    lines = shown(doctor_table(found), width).splitlines()
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    assert "…" not in text
    for core in ("Arm", "RISC-V"):
        assert f"QEMU, {core}" in text


def test_a_narrow_bench_names_layers_rather_than_counting_their_work(tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(digits())
    manifest = glowmcu.compile(tmp_path / "net.tflite", output=tmp_path / "net").manifest
    costs = tuple(LayerCost(layer.index, layer.name, 9_876, 23_456) for layer in manifest.layers)
    measured = Measurement((), 90_000, 200_000, layers=costs)
    rows = shown(bench_table(manifest, measured), 80).splitlines()
    for layer, row in zip(manifest.layers, rows[2:], strict=False):
        assert row.rstrip().endswith(layer.name[-4:])
    assert rows[1].rstrip().endswith("layer")
    assert "MACs" not in rows[1]


def test_what_no_layer_takes_is_the_call_or_where_the_shipped_code_lies(tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(digits())
    manifest = glowmcu.compile(tmp_path / "net.tflite", output=tmp_path / "net").manifest
    costs = (LayerCost(0, manifest.layers[0].name, 900, 2_000),)
    for is_other, cycles, row in (
        (False, 2_010, "(call, return) 4 10"),
        (True, 2_800, "(other layout) 4 800"),
        (True, 1_900, "(other layout) 4 -100"),
    ):
        measured = Measurement((), 904, cycles, layers=costs, is_laid_out_otherwise=is_other)
        rows = shown(bench_table(manifest, measured), 120).splitlines()
        assert row in [" ".join(each.split()) for each in rows]


def test_a_narrow_profile_leaves_out_numbers_before_names() -> None:
    one = TensorProfile((1, 8, 8, 16), 1024, -12.345, 6.789, 1.2345, 3.4567)
    profile = Profile("", "", 1, {f"block_{i}/expand/Conv2D": one for i in range(9)})
    rows = shown(profile_table(profile), 60).splitlines()[-9:]
    for index, row in enumerate(rows):
        assert f"block_{index}" in row
        assert "-12.35" in row
