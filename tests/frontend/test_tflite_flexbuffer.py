"""Options of custom operators: read as written, and damage of every byte is an error."""

from __future__ import annotations

import numpy as np
import pytest
from flatbuffers import flexbuffers

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.flexbuffer import _Reader, read_numbers
from glowmcu.frontend.tflite.reader import read_tflite
from tests.support.signal_models import flexbuffer, signal_model
from tests.support.single_op import Tensor

MAPS = {
    "small": {"a": 1, "b": -1},
    "wide": {"a": 2**62, "small": 3, "zero": 0},
    "all widths": {"x": 200, "y": -30000, "z": 2**31, "w": -(2**40)},
    "truth": {"is": True, "is_not": False, "n": 70000},
    "long names": {"alternate_one_minus_smoothing": 15401, "alternate_smoothing": 983},
    "one": {"shift": 12},
    "nothing": {},
}


@pytest.mark.parametrize("options", MAPS.values(), ids=MAPS)
def test_numbers_are_read_as_written(options: dict[str, int]) -> None:
    assert read_numbers(flexbuffer(options)) == options


def test_no_bytes_are_no_options() -> None:
    assert read_numbers(b"") == {}


def test_real_numbers_and_numbers_kept_elsewhere_are_read() -> None:
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Key("half")
        builder.Float(0.5)
        builder.Key("indirect")
        builder.IndirectInt(-77777)
        builder.Key("indirect_real")
        builder.IndirectFloat(0.25)
        builder.Key("unsigned")
        builder.UInt(2**63)
    assert read_numbers(bytes(builder.Finish())) == {
        "half": 0.5, "indirect": -77777, "indirect_real": 0.25, "unsigned": 2**63,
    }  # fmt: skip


def test_text_is_no_option() -> None:
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Key("name")
        builder.String("value")
    with pytest.raises(ValueError, match=r"FlexBuffer type 5 .* no number"):
        read_numbers(bytes(builder.Finish()))


def test_what_is_no_map_is_refused() -> None:
    with pytest.raises(ValueError, match="type 1, not a map"):
        read_numbers(bytes(flexbuffers.Dumps(7)))


def test_damage_of_any_byte_is_numbers_or_a_value_error() -> None:
    generator = np.random.default_rng(0)
    for options in MAPS.values():
        whole = flexbuffer(options)
        for at in range(len(whole)):
            for value in (0, 1, 127, 255, int(generator.integers(256))):
                damaged = whole[:at] + bytes([value]) + whole[at + 1 :]
                for data in (damaged, damaged[at:], damaged[: at + 1]):
                    try:
                        read_numbers(data)
                    except ValueError:
                        continue


def test_a_million_options_are_refused_before_they_are_read() -> None:
    data = b"\xff\xff\x0f\x00" * 4 + b"\x04\x00\x00\x00" + bytes([9 << 2 | 2, 4])
    with pytest.raises(ValueError, match="it has 1048575 options"):
        read_numbers(data)


WINDOW = [Tensor((4,), "int16"), np.ones(4, np.int16)], [Tensor((4,), "int16")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "has the options none; expected shift"),
        ({"shift": 1, "extra": 2}, "has the options extra, shift; expected shift"),
        ({"Shift": 1}, "has the options Shift; expected shift"),
    ],
    ids=["missing", "unknown", "misspelt"],
)
def test_options_that_an_operator_does_not_have_are_refused(options, words: str) -> None:
    with pytest.raises(GlowmcuError, match=words) as caught:
        read_tflite(signal_model("SignalWindow", *WINDOW, options), "m.tflite")
    assert caught.value.code == "GM128"
    assert "node 0" in str(caught.value)


def test_an_option_that_is_not_whole_is_refused() -> None:
    with pytest.raises(GlowmcuError, match=r"shift is 1.5, not a whole number") as caught:
        read_tflite(signal_model("SignalWindow", *WINDOW, {"shift": 1.5}), "m.tflite")
    assert caught.value.code == "GM128"


@pytest.mark.parametrize(
    ("at", "count", "found"),
    [(0, 2, b"ab"), (1, 1, b"b"), (2, 0, b""), (-1, 1, None), (1, 2, None), (3, 0, None)],
)
def test_no_byte_outside_is_read(at: int, count: int, found: bytes | None) -> None:
    reader = _Reader(b"ab")
    if found is not None:
        assert reader.part(at, count) == found
        return
    with pytest.raises(ValueError, match=f"its options of 2 bytes refer to byte {at}"):
        reader.part(at, count)


@pytest.mark.parametrize("width", ["W8", "W16", "W32", "W64"])
def test_numbers_of_every_width_are_read(width: str) -> None:
    builder = flexbuffers.Builder(force_min_bit_width=getattr(flexbuffers.BitWidth, width))
    with builder.Map():
        builder.Key("one")
        builder.Int(1)
        builder.Key("two")
        builder.Int(-2)
    assert read_numbers(bytes(builder.Finish())) == {"one": 1, "two": -2}
