"""What operators have in common that a file of the user's gives their meaning."""

from __future__ import annotations

from glowmcu.custom_c import CustomFile, Number
from glowmcu.ir.operation import Operation
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class UserOperation(Operation):
    """`kind` is what the model calls it, `file` and `text` are the user's, `numbers` the values of
    the attributes that the file declares, in order.
    """

    kind: str = ""
    file: str = ""
    text: str = ""
    numbers: tuple[Number, ...] = ()

    @property
    def source(self) -> CustomFile:
        """The user's file."""
        return CustomFile(self.file, self.text)
