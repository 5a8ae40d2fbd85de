"""`serial:PORT[:BAUD]` -> which port, how fast."""

from __future__ import annotations

from glowmcu.errors import error
from glowmcu.lazy_dataclass import dataclass

PREFIX = "serial:"
_BAUD = 115_200
_LEAST_BAUD, _MOST_BAUD = 300, 12_000_000


@dataclass(frozen=True)
class SerialPlace:
    """A port by the name that the system has for it, and the baud rate of the line."""

    port: str
    baud: int

    @property
    def name(self) -> str:
        """As a person would type it."""
        return f"{PREFIX}{self.port}" + ("" if self.baud == _BAUD else f":{self.baud}")


def serial_place(text: str, baud: int | None = None) -> SerialPlace:
    """Of `serial:/dev/ttyACM0` or `serial:COM3:9600`; `baud` is the board's own if none is said.

    Raises GM606.
    """
    port, colon, rate = text.removeprefix(PREFIX).rpartition(":")
    if not colon or not rate.isdecimal():
        port, rate = text.removeprefix(PREFIX), str(baud or _BAUD)
    if not port or not _LEAST_BAUD <= int(rate) <= _MOST_BAUD:
        what = f"{int(rate)} baud is not {_LEAST_BAUD} to {_MOST_BAUD}" if port else "no port"
        raise error(
            "GM606",
            f"{text!r} names no serial line: {what}",
            hint="write serial:PORT or serial:PORT:BAUD: serial:/dev/ttyACM0, serial:COM3:9600",
        )
    return SerialPlace(port, int(rate))
