"""Requests to the firmware and its answers: what is lost is asked for again, until a time is up."""

from __future__ import annotations

import time
from collections.abc import Callable

from glowmcu.errors import GlowmcuError, error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.serial.frames import Decoder, Frame
from glowmcu.verify.serial.line import Line

VERSION = 1
_IDENTITY_BYTES = 8
#: Before a request is sent again: at first, and at most, as each time is longer than the last.
_FIRST_SECONDS, _MOST_SECONDS, _LONGER = 0.3, 2.0, 1.5
_BITS_A_BYTE = 10
#: Of an answer with a full payload, every byte of it stuffed, and its request.
_FRAME_BYTES = 600
_CONNECT_SECONDS = 8.0
_NUMBERS = 256


@dataclass(frozen=True)
class Greeting:
    """What a firmware says of itself."""

    identity: bytes
    payload_bytes: int


class Link:
    """One conversation with a board over `line`.

    `where` is the line's name for messages. The first request is numbered by `clock`, so that late
    answers to another program's requests are not taken for this one's.
    """

    def __init__(
        self, line: Line, baud: int, where: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._line = line
        self._clock = clock
        self._where = where
        self._decoder = Decoder()
        self._number = int(clock() * 1000) % _NUMBERS
        self._frame_seconds = _FRAME_BYTES * _BITS_A_BYTE / baud

    def greet(self) -> Greeting:
        """Who is there. Raises GM182 when nobody is, GM183 when it speaks another version."""
        try:
            payload = self.ask("H", b"", "h", _CONNECT_SECONDS).payload
        except _SilenceError as cause:
            raise self._nobody() from cause
        if len(payload) != 2 + _IDENTITY_BYTES or payload[0] != VERSION:
            raise error(
                "GM183",
                "the board has the test firmware of another version of GlowMCU",
                self._where,
                "flash it again: glowmcu flash BUNDLE --board BOARD",
            )
        return Greeting(payload[1:-1], payload[-1])

    def request(self, kind: str, payload: bytes, answers: str, seconds: float) -> Frame:
        """The answer, of a kind in `answers`, which may take `seconds`.

        Raises GM184 after a reset, GM186 when no answer comes or one that makes no sense.
        """
        try:
            return self.ask(kind, payload, answers + "ru", seconds)
        except _SilenceError as cause:
            raise error(
                "GM186",
                f"the board stopped answering: nothing for {seconds:.0f} s",
                self._where,
                "does the line lose bytes (length, ground, baud rate), or does the program hang? "
                "press reset and try again",
            ) from cause

    def ask(self, kind: str, payload: bytes, answers: str, seconds: float) -> Frame:
        """The answer, whatever it is."""
        self._number = (self._number + 1) % _NUMBERS
        sent = Frame(kind, self._number, payload).encoded()
        now = self._clock()
        end, wait = now + seconds + 2 * self._frame_seconds, _FIRST_SECONDS
        while now < end:
            self._line.write(sent)
            again = min(end, now + wait + 2 * self._frame_seconds)
            while (now := self._clock()) < again:
                for frame in self._decoder.feed(self._line.read(again - now)):
                    if frame.number == self._number and frame.kind in answers:
                        return self._checked(frame)
            wait = min(_LONGER * wait, _MOST_SECONDS)
        raise _SilenceError

    def _checked(self, frame: Frame) -> Frame:
        if frame.kind == "r":
            raise error(
                "GM184",
                "the board was reset in the middle of a run",
                self._where,
                "was it the button, the supply, a watchdog or a debugger? try again; if it happens "
                "each time, the bundle may crash it: see `--on qemu`",
            )
        if frame.kind == "u":
            raise error("GM186", "the board and this program lost step", self._where, "try again")
        return frame

    def _nobody(self) -> GlowmcuError:
        came = self._decoder.bytes_of_no_frame
        if came:
            message = f"{came} bytes came, but no answer of the test firmware"
            hint = "is it another program's output, or another baud rate (serial:PORT:BAUD)?"
        else:
            message = "nobody answers"
            hint = "is it the right port, and are RX and TX the right way round?"
        more = "`glowmcu flash BUNDLE --board BOARD` puts the test firmware on the board"
        return error("GM182", message, self._where, f"{hint} {more}")


class _SilenceError(Exception):
    """No answer came."""
