"""How an operator rounds: of a graph whose numbers are LiteRT's, each does one of these."""

from glowmcu.ir.operation import Rounding

ROUNDINGS = [Rounding.DOUBLE, Rounding.SINGLE]
