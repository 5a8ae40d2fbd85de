"""A serial port by pyserial: opened for this program alone, and each way it fails as an error."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import sys
from collections.abc import Iterator
from typing import Any, Protocol

from glowmcu import installation
from glowmcu.errors import GlowmcuError, error
from glowmcu.verify.serial.place import SerialPlace

_WRITE_SECONDS = 5.0
_READ_BYTES = 4096


class Line(Protocol):
    """Bytes out and in."""

    def write(self, data: bytes) -> None:
        """Raises GM185 when the port is gone."""

    def read(self, seconds: float) -> bytes:
        """What has come in: something at once, or nothing after `seconds`. Raises GM185."""


def missing() -> str | None:
    """What has to be installed before a port can be opened, or None."""
    if importlib.util.find_spec("serial") is None:
        return f"pyserial is not installed: {installation.extra('serial')}"
    return None


@contextlib.contextmanager
def opened(place: SerialPlace) -> Iterator[Line]:
    """The port, to be used by nobody else meanwhile.

    Raises GM180 without pyserial, GM181 when it cannot be opened.
    """
    lacking = missing()
    if lacking:
        raise error("GM180", "a board on a serial port cannot be reached here", hint=lacking)
    import serial

    try:
        port = serial.Serial(
            place.port, place.baud, timeout=0, write_timeout=_WRITE_SECONDS, exclusive=True
        )
    except (OSError, ValueError) as cause:
        raise _not_opened(place, cause) from cause
    line = _Port(place, port)
    try:
        line.empty()
        yield line
    finally:
        with contextlib.suppress(OSError):
            port.close()


class _Port:
    """A `Line` over an open `serial.Serial`."""

    def __init__(self, place: SerialPlace, port: Any) -> None:
        self._place = place
        self._port = port

    def empty(self) -> None:
        """Forget what came in before: answers to somebody else."""
        with self._watched():
            self._port.reset_input_buffer()

    def write(self, data: bytes) -> None:
        with self._watched():
            self._port.write(data)

    def read(self, seconds: float) -> bytes:
        with self._watched():
            self._port.timeout = seconds
            first: bytes = self._port.read(1)
            self._port.timeout = 0
            return first + self._port.read(_READ_BYTES) if first else b""

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        import serial

        try:
            yield
        except serial.SerialTimeoutException:
            return  # The line does not take bytes: whoever waits for an answer will say so.
        except Exception as cause:
            if not isinstance(cause, OSError) and type(cause).__module__ != "termios":
                raise
            raise error(
                "GM185",
                f"{self._place.port} is gone in the middle: {cause}",
                self._place.name,
                "was it unplugged, or does another program use it? plug it in and try again",
            ) from cause


def _not_opened(place: SerialPlace, cause: Exception) -> GlowmcuError:
    number, text = getattr(cause, "errno", None), str(cause)
    ports = known_ports()
    known = f"ports here: {', '.join(ports)}" if ports else "this computer has no serial ports now"
    if number == errno.ENOENT or "FileNotFoundError" in text:
        return error("GM181", f"there is no port {place.port}", place.name, known)
    if number in (errno.EAGAIN, errno.EBUSY) or "PermissionError" in text:
        hint = "close the terminal or the other run that has it open"
        return error("GM181", f"{place.port} is in use by another program", place.name, hint)
    if number in (errno.EACCES, errno.EPERM):
        hint = "on Linux: sudo usermod -aG dialout $USER, then log in again"
        if sys.platform == "win32":
            hint = "close the other program that has it open"
        return error("GM181", f"you may not open {place.port}", place.name, hint)
    if "configure port" in text:  # there is a file of another kind
        return error("GM181", f"{place.port} is no serial port", place.name, known)
    return error("GM181", f"{place.port} cannot be opened: {text}", place.name, known)


def known_ports() -> list[str]:
    """Those that the system has now, none if it does not tell; needs pyserial."""
    from serial.tools import list_ports

    try:
        return sorted(port.device for port in list_ports.comports())
    except (OSError, AttributeError):  # a function of Windows that Wine lacks, say
        return []
