"""benchmarks/int16.md is the page of its record, and layers take what they were asked to take."""

from __future__ import annotations

import json

import pytest

from benchmarks.int16 import CORES, COUNTED, FEW_INPUTS, LAYERS, PAGE, RECORD, page, wanted_of

RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))


def test_the_page_is_written_from_the_record() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(RECORDED), "python -m benchmarks.int16"


def test_every_layer_was_measured_on_every_core() -> None:
    assert set(RECORDED) == {f"{layer} on {core}" for layer in LAYERS for core in CORES}


@pytest.mark.parametrize("key", RECORDED)
def test_a_layer_has_a_kernel_of_its_core_and_no_larger_arena(key: str) -> None:
    row = RECORDED[key]
    assert row["kernel"].removesuffix(".lying").endswith(("dsp", "mve"))
    # Two pixels at once are read before the second one is written.
    one_pixel = 2 * row["layer"]["outputs"] if key.endswith(COUNTED) else 0
    assert row["arena_bytes"] <= row["portable_arena_bytes"] + one_pixel
    assert row["amount"] * 2 < row["portable_amount"]


@pytest.mark.parametrize("key", RECORDED)
def test_amounts_were_estimated_within_a_quarter(key: str) -> None:
    row = RECORDED[key]
    assert abs(row["estimated"] / row["amount"] - 1.0) < 0.25


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("layer", [name for name in LAYERS if name not in FEW_INPUTS])
def test_convolutions_and_matrix_products_take_what_was_asked_for(layer: str, core: str) -> None:
    row = RECORDED[f"{layer} on {core}"]
    assert row["amount"] / row["macs"] <= wanted_of(core)
