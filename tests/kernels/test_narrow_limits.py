"""What 32 bits hold of the narrow form: each limit by forms that are exact but for that one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from glowmcu.ir.operation import Rounding
from glowmcu.kernels.requantization.forms import RequantizationTask
from glowmcu.kernels.requantization.narrow import NarrowForm, _holds, _layout, find_narrow_form
from tests.kernels.test_requantization_narrow import mismatches, task_of

FIELDS = ("low", "high", "fine", "addend", "span")


@dataclass(frozen=True)
class Case:
    """A scale of 2^-`down`, halves rounded up; accumulators `accumulator_range`, which are raw sums
    plus `offset`; and the constants of a form for them.
    """

    down: int = 9
    accumulator_range: tuple[int, int] = (-256, 1000)
    offset: int = 0
    low: int = -256
    high: int = 2**15
    fine: int = 0
    addend: int = 0
    span: int = 30_000
    fine_shift: int = 16
    postshift: int = 24
    span_shift: int = 2

    @property
    def task(self) -> RequantizationTask:
        """Of two channels alike."""
        two = np.ones(2, np.int64)
        return RequantizationTask(
            2**30 * two, (1 - self.down) * two, 0 * two, self.offset * two,
            *(end * two for end in self.accumulator_range), -128, (-128, 127), Rounding.SINGLE,
        )  # fmt: skip

    def form(self, *channels: Case) -> NarrowForm:
        """Each channel as a case has it, with the shifts of this one."""
        arrays = (np.array([getattr(each, name) for each in channels]) for name in FIELDS)
        return NarrowForm(-128, self.fine_shift, self.postshift, self.span_shift, *arrays)


BASE = Case()
#: Of scale 2^-20 a part of a step alone: all of its range is the least output.
FINE = Case(down=20, low=-(2**19), high=0, fine=2**15, postshift=19, span=2**14)
FAR = Case(accumulator_range=(-256, 2**31 - 257), span=32_640)
#: Pairs of neighbours: one that fits, and one beyond a limit by as little as can be.
LIMITS: dict[str, tuple[Case, Case]] = {
    "a sum": (replace(BASE, span=2**15 - 1), replace(BASE, span=2**15)),
    "a sum with all its parts": (
        replace(BASE, low=-255, addend=2**16 - 1, span=2**16 - 1, span_shift=1),
        replace(BASE, low=-255, addend=2**16 - 1, span=2**16 - 1, span_shift=1, fine=1),
    ),
    "a product": (
        replace(FINE, accumulator_range=(-(2**19), -(2**19) + 900), span=2**15 - 1),
        replace(FINE, accumulator_range=(-(2**19), -(2**19) + 900), span=2**15),
    ),
    "a multiplier": (
        replace(BASE, span=2**13),
        replace(BASE, down=8, accumulator_range=(-128, 1000), low=-128, high=2**16, span=2**13),
    ),
    "a part of a multiplier": (
        replace(FINE, accumulator_range=(-(2**19), -(2**19) + 900)),
        replace(
            FINE, down=8, accumulator_range=(-128, 900), low=-128, fine=2**16, postshift=8,
            span=2**13,
        ),
    ),
    "a span": (
        replace(BASE, span=2**16 - 1, span_shift=0), replace(BASE, span=2**16, span_shift=0)
    ),
    "an addend": (
        replace(BASE, low=-255, addend=2**16 - 1), replace(BASE, low=-254, addend=2**16)
    ),
    "an addend below zero": (BASE, replace(BASE, low=-257, addend=-(2**15))),
    "an addend of one step": (
        Case(1, (-1, 200), 0, -1, 2**14, 0, 2**14 - 1, 300, 16, 15, 0),
        Case(1, (1, 200), 0, 1, 2**14, 0, 2**15, 300, 16, 15, 0),
    ),
    "where sums begin, below": (
        replace(BASE, offset=2**31 - 257, low=1 - 2**31),
        replace(BASE, offset=2**31 - 256, low=-(2**31)),
    ),
    "where sums begin, above": (
        replace(BASE, offset=-(2**31) - 255, low=2**31 - 1),
        replace(BASE, offset=-(2**31) - 256, low=2**31),
    ),
    "how far sums reach": (FAR, replace(FAR, accumulator_range=(-256, 2**31 - 256))),
}  # fmt: skip


def exact(case: Case) -> bool:
    """Over the range, or of a long one near its ends."""
    low, high = case.accumulator_range
    near = np.concatenate([np.arange(low, min(low + 300_000, high + 1)), [high - 1, high]])
    at = np.broadcast_to(near, (2, near.size))
    wanted = np.clip(case.task.outputs(at), -128, 127)
    return np.array_equal(case.form(case, case).outputs(at - case.offset), wanted)


@pytest.mark.parametrize("name", LIMITS)
def test_a_form_beyond_a_single_limit_is_not_taken(name: str) -> None:
    """Be it in one channel of two."""
    fits, exceeds = LIMITS[name]
    for case in (fits, exceeds):
        assert exact(case)
        layout = _layout(case.task, case.task.stairs_to((-128, 127)))
        assert layout is not None
        assert _holds(case.task, layout, case.form(case, case)) == (case is fits)
    shifts = ("down", "fine_shift", "postshift", "span_shift")
    if all(getattr(fits, each) == getattr(exceeds, each) for each in shifts):
        task = replace(
            fits.task,
            **{  # type: ignore[arg-type]
                each: np.array([getattr(case.task, each)[0] for case in (fits, exceeds)])
                for each in ("offset", "low", "high")
            },
        )
        layout = _layout(task, task.stairs_to((-128, 127)))
        assert layout is not None
        assert not _holds(task, layout, fits.form(fits, exceeds))


@pytest.mark.parametrize(("name", "step"), [("low", 1), ("high", 2**11), ("addend", 2**15)])
def test_a_form_that_is_wrong_in_one_channel_is_not_taken(name: str, step: int) -> None:
    layout = _layout(BASE.task, BASE.task.stairs_to((-128, 127)))
    assert layout is not None
    wrong = replace(BASE, **{name: getattr(BASE, name) + step})
    assert not exact(wrong)
    assert not _holds(BASE.task, layout, BASE.form(BASE, wrong))
    assert not _holds(BASE.task, layout, BASE.form(wrong, BASE))


def layout_of(scale: float, accumulator_range: int, fine_bits: int = 16) -> tuple[int, int] | None:
    """The shifts of the fine part and of the sum."""
    task = task_of([scale], accumulator_range)
    found = _layout(task, task.stairs_to(task.clamp), fine_bits)
    return None if found is None else (found.fine_shift, found.postshift)


@pytest.mark.parametrize(
    ("scale", "postshift"),
    [
        (0.002, 24), (2.0**-8, 23), (1.0, 15), (2.0**13, 2), (2.0**14, 1), (2.0**15 - 2, 1),
        (2.0**15 - 1, None), (2.0**15, None),
    ],
)  # fmt: skip
def test_the_largest_shift_leaves_multipliers_two_less_than_16_bits(
    scale: float, postshift: int | None
) -> None:
    found = layout_of(scale, 3000 if scale < 1 else 3)
    assert (None if found is None else found[1]) == postshift


def test_the_fine_part_has_what_32_bits_leave_it() -> None:
    assert layout_of(0.002, 300_000, 0) is None
    assert [layout_of(0.002, 300_000, bits) for bits in (1, 2, 14)] == [(1, 24), (2, 24), (14, 24)]
    # Outputs from -128 to 127 span 127 499 accumulators, which take 17 bits.
    assert layout_of(0.002, 300_000, 16) == (15, 24)
    assert layout_of(0.002, 300, 16) == (16, 24)


@pytest.mark.parametrize("scale", [0.004, 0.002, 0.0004])
@pytest.mark.parametrize("bias", [2**30, -(2**30)])
def test_a_constant_output_goes_with_spans_of_any_length(scale: float, bias: int) -> None:
    task = task_of([scale, scale], 3_000_000)
    task = replace(task, bias=np.array([100, bias]), low=np.array([-3_000_000, -900]),
                   high=np.array([3_000_000, 900]))  # fmt: skip
    form = find_narrow_form(task)
    assert form is not None
    assert (form.high < 2**16).all()
    assert mismatches(task, form) == 0


def test_factors_are_pairs_of_halves_in_two_words() -> None:
    form = BASE.form(
        replace(BASE, high=0x8001, fine=0x1234, span=0xFFFF, addend=0x8765),
        replace(BASE, high=0x0002, fine=0xF0F0, span=0x0003, addend=0x0004),
    )
    words = form.factors.astype(np.int64) & 0xFFFFFFFF
    assert form.factors.dtype == np.int32
    assert words.tolist() == [[0x80011234, 0x8765FFFF], [0x0002F0F0, 0x00040003]]
