"""Reports of planning passes."""

from __future__ import annotations

from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class PassReport:
    """Arena bytes before and after a pass; `note` says what was done or proved."""

    name: str
    before_bytes: int
    after_bytes: int
    note: str = ""

    @property
    def saved_bytes(self) -> int:
        return self.before_bytes - self.after_bytes
