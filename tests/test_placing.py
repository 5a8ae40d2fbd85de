"""Which region what goes to: the board's defaults, the user's rules, `auto`, and every mistake."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from glowmcu.board import Board, PlacementRequest, Places, find_board, place, read_board
from glowmcu.board.capacity import PLACED, check_regions, does_not_fit
from glowmcu.board.placing_auto import LayerFacts
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.resources import resource_dir

H7 = find_board("nucleo-h743zi")
KB = 1024
LAYERS = (
    LayerFacts(0, "net/conv_1/Relu", "conv_2d.rows_dsp", 1_000_000, 4 * KB),
    LayerFacts(1, "net/depthwise_1/Relu", "depthwise.row", 100_000, 1 * KB),
    LayerFacts(2, "net/depthwise_2/Relu", "depthwise.row", 50_000, 1 * KB),
    LayerFacts(3, "net/dense/MatMul", "fully_connected.portable", 60 * KB, 60 * KB),
    LayerFacts(4, "Identity", "softmax.table", 0, 0),
)


def placed(rules: Mapping[str, str], arena_bytes: int = 8 * KB, board: Board = H7) -> Places:
    return place(PlacementRequest(board, rules), LAYERS, arena_bytes, 6 * KB)


def test_without_a_board_nothing_is_placed() -> None:
    assert place(PlacementRequest(), LAYERS, 8 * KB, 6 * KB) == Places("", "", ("",) * 5, ("",) * 5)


def test_the_arena_goes_to_the_fast_region_where_it_fits() -> None:
    assert placed({}, 128 * KB).arena == "dtcm"
    assert placed({}, 128 * KB + 16).arena == ""
    assert placed({"arena": "ram"}).arena == "", "the user's word counts"
    assert placed({}, board=find_board("nrf52")).arena == ""


def test_the_stack_keeps_its_room_where_it_lies_beside_the_arena(tmp_path: Path) -> None:
    text = (resource_dir("boards") / "nucleo-h743zi.toml").read_text()
    assert text.count('data = "ram"') == 1
    file = tmp_path / "nucleo-h743zi.toml"
    file.write_text(text.replace('data = "ram"', 'data = "dtcm"'))
    board = read_board(file)
    assert placed({}, 127 * KB, board).arena == "dtcm"
    assert placed({}, 127 * KB + 16, board).arena == ""


def test_a_layer_is_known_by_number_name_part_of_the_name_and_kernel() -> None:
    for word, layers in {
        "1": (1,),
        "net/dense/MatMul": (3,),
        "dense": (3,),
        "depthwise_2": (2,),
        "depthwise.row": (1, 2),
    }.items():
        weights = placed({f"weights:{word}": "itcm"}).weights
        assert tuple(i for i, region in enumerate(weights) if region == "itcm") == layers, word


def test_a_layer_s_rule_counts_more_than_that_for_all() -> None:
    places = placed({"weights": "sram1", "weights:0": "flash", "code:3": "itcm", "code": "ram"})
    assert places.weights == ("", "sram1", "sram1", "sram1", "sram1")
    assert (places.code, places.layer_code[2:4]) == ("ram", ("ram", "itcm"))


def test_auto_puts_what_is_read_most_often_into_fast_memory_as_far_as_it_goes() -> None:
    places = placed({"auto": "auto"}, 120 * KB)
    assert (places.arena, places.code) == ("dtcm", "itcm")
    # dtcm has 8 KiB left, itcm 64 less 7.5; dense is read least and has no room.
    assert places.weights == ("dtcm", "dtcm", "dtcm", "", "")


def test_auto_reads_weights_from_ram_where_flash_waits_and_leaves_the_application_some() -> None:
    nrf52 = find_board("nrf52")
    assert placed({"auto": "auto"}, board=nrf52).weights == ("ram",) * 4 + ("",)
    # 256 KiB less the arena and the stack: three quarters of 72 KiB have no room for dense.
    places = placed({"auto": "auto"}, 183 * KB, nrf52)
    assert (places.arena, places.code, places.weights[2:4]) == ("", "", ("ram", ""))
    assert placed({"auto": "auto"}, 250 * KB, nrf52).weights[:2] == ("", "ram")


def test_auto_gives_code_and_weights_memories_of_their_own() -> None:
    l4 = find_board("nucleo-l4r5zi")
    places = placed({"auto": "auto"}, board=l4)
    assert (places.code, places.weights[:4]) == ("sram2", ("ram",) * 4)


def test_weights_go_where_no_code_can_run_from() -> None:
    f4 = find_board("stm32f4-discovery")
    assert placed({"auto": "auto"}, board=f4).weights == ("ccm", "ccm", "ccm", "ram", "")


def test_auto_leaves_alone_what_the_user_placed() -> None:
    places = placed({"auto": "auto", "weights:0": "sram4", "code": "ram", "arena": "ram"})
    assert (places.arena, places.code) == ("", "ram")
    assert places.weights == ("sram4", "dtcm", "dtcm", "dtcm", "")


@pytest.mark.parametrize(
    ("board", "rules", "code", "said"),
    [
        (None, {"arena": "dtcm"}, "GM404", "no board has no memory regions"),
        ("generic", {"arena": "dtcm"}, "GM404", "generic has no memory regions"),
        ("nucleo-h743zi", {"arena": "dctm"}, "GM404", "did you mean 'dtcm'"),
        ("nucleo-h743zi", {"weights": "sdram"}, "GM404", "itcm (tcm, 64 KiB)"),
        ("nucleo-h743zi", {"weigths": "itcm"}, "GM405", "did you mean 'weights'"),
        ("nucleo-h743zi", {"arena:3": "dtcm"}, "GM405", "'arena:3' cannot be placed"),
        ("nucleo-h743zi", {"arena": "flash"}, "GM406", "region 'flash' is flash"),
        ("microbit", {"auto": "auto"}, "GM406", "microbit has no memory that is quicker"),
        ("nucleo-h743zi", {"weights:depthwise_3": "itcm"}, "GM407", "did you mean 'depthwise_"),
        ("nucleo-h743zi", {"code:5": "itcm"}, "GM407", "0 to 4"),
        ("nucleo-h743zi", {"code:Relu": "itcm"}, "GM407", "part of the names of 3 layers"),
    ],
)
def test_a_mistake_is_explained(
    board: str | None, rules: dict[str, str], code: str, said: str
) -> None:
    request = PlacementRequest(find_board(board) if board else None, rules)
    with pytest.raises(GlowmcuError) as found:
        place(request, LAYERS, 8 * KB, 6 * KB)
    assert [problem.code for problem in found.value.problems] == [code]
    assert said in str(found.value)
    assert found.value.exit_code is ExitCode.USAGE


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(GlowmcuError) as found:
        placed({"arena": "flash", "weights:no": "itcm", "code": "rom"})
    assert [problem.code for problem in found.value.problems] == ["GM406", "GM407", "GM404"]


def test_what_goes_to_one_region_adds_up() -> None:
    demands = [("flash", "flash", 100), ("RAM", "dtcm", 100 * KB), (PLACED, "dtcm", 28 * KB)]
    assert check_regions(H7, demands).fits
    too_much = check_regions(H7, [*demands, (PLACED, "dtcm", 1), (PLACED, "itcm", 65 * KB)])
    assert not too_much.fits
    error = does_not_fit(too_much)
    assert error.exit_code is ExitCode.DOES_NOT_FIT
    ram, itcm = error.problems
    assert "131 073 B of RAM needed, nucleo-h743zi has 131 072 B, 1 B too much" in ram.message
    assert "--place arena=ram" in ram.hint
    assert "66 560 B of placed code and weights needed" in itcm.message
    assert "place less there with --place" in itcm.hint


def test_a_board_file_with_a_wrong_fast_region_is_refused(tmp_path: Path) -> None:
    text = (resource_dir("boards") / "nucleo-h743zi.toml").read_text()
    file = tmp_path / "nucleo-h743zi.toml"
    for wrong, said in (("dctm", "no memory region"), ("flash", "is flash")):
        file.write_text(text.replace('fast_data = "dtcm"', f'fast_data = "{wrong}"'))
        with pytest.raises(GlowmcuError, match=said):
            read_board(file)


def test_an_external_flash_has_wait_states_of_its_own(tmp_path: Path) -> None:
    text = (resource_dir("boards") / "nrf52.toml").read_text()
    external = """
[[memory]]
name = "qspi"
kind = "flash"
origin = 0x12000000
size_bytes = 8388608
wait_states = 9
"""
    head, qemu, tail = text.partition("[qemu]")
    file = tmp_path / "nrf52.toml"
    file.write_text(head + external + qemu + tail)
    board = read_board(file)
    assert board.wait_states_by_region(2) == {"flash": 2, "ram": 0, "qspi": 9}
    assert board.wait_states_by_region(0) == {}
