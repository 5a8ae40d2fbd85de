"""A real board on a serial port: the test firmware of `glowmcu flash` answers over its UART."""

from glowmcu.verify.serial.executor import SerialBoard
from glowmcu.verify.serial.place import PREFIX, SerialPlace, serial_place

__all__ = ["PREFIX", "SerialBoard", "SerialPlace", "serial_place"]
