"""The API of a bundle whose input is pushed: what templates and the manifest say of it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from glowmcu.emit_c.views import PushView, StepView, TensorView
from glowmcu.manifest import RowsEntry


def streamed_input_view(
    inputs: Sequence[TensorView], steps: Sequence[StepView], name: str, model_sha256: str
) -> PushView | None:
    """None for a bundle whose inputs are all written before the run."""
    for number, view in enumerate(inputs):
        if view.rows is not None:
            called = [step for step in steps if step.call]
            (taking,) = (at for at, step in enumerate(called) if step.takes_rows)
            return PushView(
                view,
                number,
                push_function(view, name),
                "AT_ROWS_PUSHED",
                arena_mark(name, model_sha256),
                tuple(called[:taking]),
                called[taking],
                tuple(called[taking + 1 :]),
            )
    return None


def push_function(view: TensorView, name: str) -> str:
    """`kws_push_rows`, with the input's name where there are several."""
    return f"{name}_push_rows{view.parameter.removeprefix('input')}"


def rows_entry(view: TensorView, name: str) -> RowsEntry | None:
    """For the manifest."""
    if view.rows is None:
        return None
    rows = view.rows
    return RowsEntry(push_function(view, name), rows.count, rows.read, rows.bytes)


def arena_mark(name: str, model_sha256: str) -> str:
    """What a counter in the arena begins with: no byte pattern that an arena is likely to hold.

    Neither zeros nor any number close below them.
    """
    digest = hashlib.sha256(f"{name} {model_sha256}".encode()).digest()
    mark = int.from_bytes(digest[:4], "big") & 0x3FFFFFFF | 0x40000000
    return f"0x{mark:08x}u"
