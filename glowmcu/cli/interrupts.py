"""Ctrl-C and SIGTERM: half-written files are taken back, and the shell gets 130 or 143."""

from __future__ import annotations

import _thread
import atexit
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

INTERRUPTED = 128 + signal.SIGINT
_AGAIN_SECONDS = 0.05


@contextmanager
def heeded_interrupts() -> Iterator[None]:
    """A SIGTERM unwinds before it ends the process; a Ctrl-C that came inside of a callback from C,
    where it cannot be raised, comes again a moment later.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        sys.exit(128 + number)

    def lost(raised: UnraisableHookArgs) -> None:
        if not issubclass(raised.exc_type, KeyboardInterrupt):
            hook(raised)
            return
        again = threading.Timer(_AGAIN_SECONDS, _thread.interrupt_main)
        again.daemon = True
        again.start()

    hook, before = sys.unraisablehook, signal.signal(signal.SIGTERM, end)
    sys.unraisablehook = lost
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def interrupted() -> int:
    """The exit code; without this Python may end itself by the signal, which some callers see as
    another one.
    """
    if hasattr(signal, "pthread_sigmask"):
        atexit.register(signal.pthread_sigmask, signal.SIG_BLOCK, {signal.SIGINT})
    return INTERRUPTED
