"""Constants and custom options that lie behind the flatbuffer, as in files of 2 GB and more."""

from __future__ import annotations

from typing import Any

import flatbuffers
import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite import writer
from glowmcu.frontend.tflite.container import read_container
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.frontend.tflite.writer import ModelBuilder

DATA = np.arange(40, dtype=np.int8)
OPTIONS = b"four"
#: Behind the flatbuffer of the model below.
PLACE = 4096


def _buffers(offset: int, size_bytes: int, inside: bytes) -> Any:
    """What writes buffer 0, and one that says where its data lies."""

    def write(builder: flatbuffers.Builder, tensors: Any) -> list[int]:
        vector = builder.CreateByteVector(inside) if inside else 0
        tflite.BufferStart(builder)
        empty = tflite.BufferEnd(builder)
        tflite.BufferStart(builder)
        if inside:
            tflite.BufferAddData(builder, vector)
        tflite.BufferAddOffset(builder, offset)
        tflite.BufferAddSize(builder, size_bytes)
        return [empty, tflite.BufferEnd(builder)]

    return write


def model(
    monkeypatch: pytest.MonkeyPatch, offset: int, size_bytes: int = 40, inside: bytes = b""
) -> bytes:
    """A constant, and a custom operator with options, both of which begin at `offset`."""
    end = tflite.OperatorEnd

    def write_end(builder: flatbuffers.Builder) -> Any:
        tflite.OperatorAddLargeCustomOptionsOffset(builder, offset)
        tflite.OperatorAddLargeCustomOptionsSize(builder, min(size_bytes, len(OPTIONS)))
        return end(builder)

    monkeypatch.setattr(writer, "write_buffers", _buffers(offset, size_bytes, inside))
    monkeypatch.setattr(tflite, "OperatorEnd", write_end)
    built = ModelBuilder()
    c, y = built.constant("c", DATA, 1.0), built.tensor("y", (40,), "int8", 1.0)
    built.custom_op("Own", [c], [y], inside)
    built.output(y)
    data = built.finish()
    assert len(data) < PLACE
    return data.ljust(PLACE, b"\0") + OPTIONS + DATA[len(OPTIONS) :].tobytes()


def found(data: bytes) -> tuple[bytes | None, bytes]:
    record = read_container(data, "m.tflite")
    stored = record.tensors[0].data
    return None if stored is None else bytes(stored), record.operators[0].custom_options


def test_data_is_read_from_behind_the_flatbuffer(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = OPTIONS + DATA[len(OPTIONS) :].tobytes()
    assert found(model(monkeypatch, PLACE)) == (expected, OPTIONS)


@pytest.mark.parametrize(("offset", "size_bytes"), [(0, 40), (1, 40), (PLACE, 0)])
def test_the_first_two_places_and_no_bytes_are_no_data(
    offset: int, size_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(model(monkeypatch, offset, size_bytes)) == (None, b"")


def test_data_in_the_flatbuffer_goes_before(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(model(monkeypatch, PLACE, inside=b"here")) == (b"here", b"here")


@pytest.mark.parametrize(
    ("offset", "size_bytes"), [(PLACE + 1, 40), (PLACE, 41), (2**64 - 1, 40), (2, 2**64 - 1)]
)
def test_data_beyond_the_file_is_damage(
    offset: int, size_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(GlowmcuError) as caught:
        read_container(model(monkeypatch, offset, size_bytes), "m.tflite")
    said = f"it has {PLACE + 40} bytes, and {size_bytes} from byte {offset} on are referred to"
    assert caught.value.code == "GM101"
    assert caught.value.problems[0].message == f"the file is damaged: {said}"
