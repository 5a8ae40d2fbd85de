"""Frames, requests and names of serial lines, without a board."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glowmcu.board import find_board
from glowmcu.errors import GlowmcuError
from glowmcu.verify.executors import executor
from glowmcu.verify.serial import SerialBoard, serial_place
from glowmcu.verify.serial.frames import Decoder, Frame
from glowmcu.verify.serial.link import Link

FRAMES = st.builds(Frame, st.sampled_from("HBNDhkw"), st.integers(0, 255), st.binary(max_size=240))


@given(st.lists(FRAMES), st.integers(1, 7))
def test_frames_come_out_as_they_went_in_whatever_the_pieces(
    frames: list[Frame], piece: int
) -> None:
    sent = b"".join(frame.encoded() for frame in frames)
    decoder = Decoder()
    pieces = [sent[at : at + piece] for at in range(0, len(sent), piece)]
    assert [frame for part in pieces for frame in decoder.feed(part)] == frames
    assert decoder.bytes_of_no_frame == 0


@given(FRAMES, st.data())
def test_a_damaged_frame_is_passed_over_and_the_next_one_is_not(
    frame: Frame, data: st.DataObject
) -> None:
    sent = bytearray(frame.encoded())
    at = data.draw(st.integers(0, len(sent) - 1))
    sent[at] ^= 1 << data.draw(st.integers(0, 7))
    after = Frame("N", 7, b"after")
    assert Decoder().feed(bytes(sent) + after.encoded()) == [after]


def test_bytes_of_another_program_are_counted_and_not_kept() -> None:
    decoder = Decoder()
    assert decoder.feed(b"x" * 5000) == []
    assert decoder.bytes_of_no_frame == 5000
    assert decoder.feed(b"~" + Frame("k", 1).encoded()) == [Frame("k", 1)]


def test_a_frame_is_what_the_firmware_says() -> None:
    """The check value of CRC-32 is that of "123456789"; flags and escapes are escaped."""
    sent = Frame("1", ord("2"), b"3456789").encoded()
    assert sent == b"~123456789" + bytes.fromhex("2639f4cb") + b"~"
    assert Frame("N", 0x7E, b"}").encoded().startswith(b"~N\x7d\x5e\x7d\x5d")


class Board:
    """A line whose time passes as it is read; `answers` are what comes for each request."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[float, bytes]] = []
        self.now = 0.0
        self._waiting = b""

    def write(self, data: bytes) -> None:
        self.sent.append((self.now, data))
        self._waiting += self.answers.pop(0) if self.answers else b""

    def read(self, seconds: float) -> bytes:
        came, self._waiting = self._waiting, b""
        self.now += 0.001 if came else seconds
        return came

    def link(self) -> Link:
        return Link(self, 115_200, "serial:x", lambda: self.now)


def test_a_request_is_repeated_ever_less_often_until_its_time_is_up() -> None:
    board = Board()
    with pytest.raises(GlowmcuError) as caught:
        board.link().request("N", b"", "t", 10.0)
    assert caught.value.code == "GM186"
    times = [when for when, _ in board.sent]
    pauses = [b - a for a, b in itertools.pairwise(times)]
    assert all(0.3 <= pause < 2.5 for pause in pauses)
    assert pauses == pytest.approx(sorted(pauses))
    assert len({data for _, data in board.sent}) == 1
    assert 10.0 <= board.now < 11.0


def test_answers_to_others_are_passed_over() -> None:
    late = Frame("t", 0, b"late").encoded()
    board = Board(late, late + Frame("x", 1).encoded() + Frame("t", 1, b"mine").encoded())
    assert board.link().request("N", b"", "t", 10.0) == Frame("t", 1, b"mine")
    assert len(board.sent) == 2


@pytest.mark.parametrize(("kind", "code"), [("r", "GM184"), ("u", "GM186")])
def test_a_reset_or_a_lost_step_is_told_at_once(kind: str, code: str) -> None:
    board = Board(Frame(kind, 1).encoded())
    with pytest.raises(GlowmcuError) as caught:
        board.link().request("N", b"", "t", 10.0)
    assert caught.value.code == code
    assert len(board.sent) == 1


@pytest.mark.parametrize(
    ("text", "port", "baud", "shown"),
    [
        ("serial:/dev/ttyACM0", "/dev/ttyACM0", 115_200, "serial:/dev/ttyACM0"),
        ("serial:COM3:9600", "COM3", 9600, "serial:COM3:9600"),
        ("serial:/dev/cu.usb:1", "/dev/cu.usb:1", None, ""),
        ("serial:/dev/by-path/pci-0:3:1.0", "/dev/by-path/pci-0:3:1.0", 115_200, "="),
        ("serial:", "", None, ""),
        ("serial::9600", "", None, ""),
        ("serial:COM3:99999999999", "", None, ""),
    ],
)
def test_a_line_is_named_by_port_and_baud_rate(
    text: str, port: str, baud: int | None, shown: str
) -> None:
    if baud is None:
        with pytest.raises(GlowmcuError) as caught:
            serial_place(text)
        assert caught.value.code == "GM606"
        return
    place = serial_place(text)
    assert (place.port, place.baud) == (port, baud)
    assert place.name == (text if shown == "=" else shown)


def test_the_executor_takes_the_baud_rate_of_the_board() -> None:
    found = executor("serial:COM3", find_board("nrf52"))
    assert isinstance(found, SerialBoard)
    assert found.place.baud == 115_200
