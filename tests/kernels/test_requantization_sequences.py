"""The instructions of requantization, executed one by one, compute what their form says."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pytest

from glowmcu.ir.assembly_macros import plain
from glowmcu.ir.operation import Rounding
from glowmcu.kernels.dsp.dense.requantization_assembly import floor_pair, one_channel
from glowmcu.kernels.requantization.forms import FormKind, RequantizationTask, find_form

SHIFTED = re.compile(r"(\w+)(?:, (lsl|asr) #(\d+))?")


def signed(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def executed(lines: Iterable[str], registers: dict[str, int]) -> dict[str, int]:
    """Registers after these instructions of Armv7E-M, as its manual defines them."""
    for line in lines:
        word, _, rest = line.partition(" ")
        fields = rest.split(", ")
        target, given = fields[0], fields[1:]
        if word == "ssat":
            bits = int(given[0][1:])
            value = _operand(", ".join(given[1:]), registers)
            registers[target] = min(max(value, -(2 ** (bits - 1))), 2 ** (bits - 1) - 1)
            continue
        if word in ("asr", "lsl"):
            first, by = given
            amount = int(by[1:]) if by[0] == "#" else registers[by] & 0xFF
            value = registers[first]
            registers[target] = value >> amount if word == "asr" else signed(value << amount)
            continue
        first, second = registers[given[0]], _operand(", ".join(given[1:3]), registers)
        if word == "add":
            registers[target] = signed(first + second)
        elif word == "sub":
            registers[target] = signed(first - second)
        elif word == "and":
            registers[target] = first & second
        else:
            third = registers[given[2]] if len(given) > 2 else 0
            factor = registers[given[1]]
            half = {"smmul": 0, "smmla": 0, "smmlar": 2**31}[word]
            registers[target] = signed(((third << 32) + first * factor + half) >> 32)
    return registers


def _operand(text: str, registers: dict[str, int]) -> int:
    match = SHIFTED.match(text)
    assert match is not None
    value, shift, by = registers[match[1]], match[2], int(match[3] or 0)
    return value if shift is None else value >> by if shift == "asr" else signed(value << by)


def task(
    accumulator_range: tuple[int, int], zero_point: int, offset: int = 345
) -> RequantizationTask:
    one = np.ones(1, np.int64)
    return RequantizationTask(
        1518500250 * one, -7 * one, 211 * one, offset * one,
        accumulator_range[0] * one, accumulator_range[1] * one,
        zero_point, (-128, 127), Rounding.DOUBLE,
    )  # fmt: skip


KINDS = {FormKind.FLOOR: -128, FormKind.TWO_SIDED: 5, FormKind.LITERAL: 5}


@pytest.mark.parametrize("packed", [False, True], ids=["plain sums", "packed high sums"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
def test_a_channels_sums_become_what_the_layer_gives(kind: FormKind, packed: bool) -> None:
    """The constants in the order of dsp/dense/stream.py: r2, r3, r4. Of literals they are start as
    the sum's own, multiplier, step and shift.
    """
    asked = task((-20_000, 21_000), KINDS[kind])
    form = find_form(asked, kinds=(kind,))
    assert form is not None
    raw = [-20_300, -345, -344, 0, 1, 4_321, 20_600]
    start = int(form.start[0])
    constants = {
        FormKind.FLOOR: (form.addend, form.multiplier, [0]),
        FormKind.TWO_SIDED: (form.addend, form.multiplier, form.step),
        FormKind.LITERAL: (form.multiplier, form.step, form.shifts),
    }[kind]
    registers = {f"r{2 + i}": int(each[0]) for i, each in enumerate(constants)} | {"r5": 0}
    sums, lows = [f"r{6 + i}" for i in range(7)], [f"l{i}" for i in range(7)]
    for name, low, value in zip(sums, lows, raw, strict=True):
        registers[low] = 77
        registers[name] = 256 * (value + start) + 77 if packed else value + start
    parts = [slice(0, 2), slice(2, 4), slice(4, 6), slice(6, 7)]
    calls = [
        call
        for part in parts
        for call in one_channel(kind, form.postshift, sums[part], lows[part] if packed else ())
    ]
    got = executed(plain(calls), registers)
    wanted = np.clip(asked.outputs(np.array([[value + 345 for value in raw]])), -128, 127)
    assert [got[name] for name in sums] == wanted[0].tolist()


def test_two_channels_in_one_sum_are_told_apart() -> None:
    """r2 has the high channel's multiplier, whose addend is in its sum already."""
    high, low = task((-20_000, 21_000), -128), task((-9_000, 9_000), -128, offset=-17)
    forms = [find_form(each, postshifts=(11,), kinds=(FormKind.FLOOR,)) for each in (high, low)]
    assert forms[0] is not None
    assert forms[1] is not None
    raws = [(-20_300, 9_000), (1, -8_983), (20_600, 17), (-345, 1)]
    highs, lows = [f"h{i}" for i in range(4)], [f"l{i}" for i in range(4)]
    registers = {
        "r2": int(forms[0].multiplier[0]),
        "r3": int(forms[1].addend[0]),
        "r4": int(forms[1].multiplier[0]),
    }
    for (first, second), h, x in zip(raws, highs, lows, strict=True):
        registers[x] = second
        registers[h] = signed(int(forms[0].addend[0]) + 256 * first + second)
    calls = [*floor_pair(highs[:1], lows[:1], 11), *floor_pair(highs[1:3], lows[1:3], 11),
             *floor_pair(highs[3:], lows[3:], 11)]  # fmt: skip
    got = executed(plain(calls), registers)
    for (first, second), h, x in zip(raws, highs, lows, strict=True):
        wanted = (high.outputs(np.array([[first + 345]])), low.outputs(np.array([[second - 17]])))
        assert [got[h], got[x]] == [int(np.clip(each, -128, 127)[0, 0]) for each in wanted]
