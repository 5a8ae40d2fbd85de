"""Work counted instead of timed: calls of functions, the same on any machine, idle or busy."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls(work: Callable[[], object]) -> int:
    """How many functions `work` calls, Python's own and built-in ones."""
    count = 0

    def hear(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(hear)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
