"""Which form the search finds, with which constants: what is exact may still be another one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from glowmcu.ir.operation import Rounding, Signature
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.kernels.requantization.forms import Form, FormKind, RequantizationTask, find_form
from glowmcu.kernels.requantization.narrow import NarrowForm, find_narrow_form
from glowmcu.kernels.requantization.two_piece_form import two_piece_form
from glowmcu.ops.elementwise import Add, Sub
from glowmcu.ops.fixed_point import requantization
from tests.support.roundings import ROUNDINGS

#: Scales of channels, reach, zero point, clamp. Powers of two, scales above one, hardly any.
TASKS: dict[str, tuple[list[float], tuple[int, int], int, tuple[int, int]]] = {
    "ReLU": ([0.0121, 0.0077, 0.0031], (-40_000, 50_000), -128, (-128, 127)),
    "in the middle": ([0.0121, 0.0077, 0.0031], (-40_000, 50_000), 5, (-128, 127)),
    "ReLU6": ([0.011, 0.0031], (-60_000, 60_000), -128, (-128, 41)),
    "a clamp that binds": ([0.011, 0.0031], (-60_000, 60_000), -10, (-10, 90)),
    "a clamp that does not bind": ([0.001, 0.0031], (-6_000, 6_000), -10, (-100, 100)),
    "powers of two": ([2.0**-4, 2.0**-7, 2.0**-9], (-9_000, 9_000), -128, (-128, 127)),
    "powers of two in the middle": ([2.0**-4, 2.0**-7, 2.0**-9], (-9_000, 9_000), 0, (-128, 127)),
    "one": ([1.0, 0.999, 0.5], (-300, 300), 3, (-128, 127)),
    "one and ReLU": ([1.0, 0.999, 0.5], (-300, 300), -128, (-128, 127)),
    "above one": ([1.7, 3.2], (-90, 90), -128, (-128, 127)),
    "far above one": ([40.0, 64.0], (-5, 5), 7, (-128, 127)),
    "hardly anything": ([1e-5, 3e-6], (-9_000, 9_000), -3, (-128, 127)),
    "nothing at all": ([1e-12, 0.0], (-9_000, 9_000), -3, (-128, 127)),
    "one that does nothing": ([1e-12, 0.01, 0.02], (-9_000, 9_000), -128, (-128, 127)),
    "a long reach": ([3e-5, 7e-5], (-(2**22), 2**22), -128, (-128, 127)),
    "a long reach in the middle": ([3e-5, 7e-5], (-(2**22), 2**22), 20, (-128, 127)),
    "one side": ([0.01, 0.02], (0, 30_000), -128, (-128, 127)),
    "the other side": ([0.01, 0.02], (-30_000, -1), 100, (-128, 127)),
    "one accumulator": ([0.01, 0.02], (77, 77), 0, (-128, 127)),
    "all alike": ([0.0123] * 3, (-20_000, 20_000), -128, (-128, 127)),
    "all alike in the middle": ([0.0123] * 3, (-20_000, 20_000), 9, (-128, 127)),
    "one that wraps": ([0.01, 4.0], (-(2**30), 2**30), 0, (-128, 127)),
    "what wraps": ([4.0], (-(2**30), 2**30), 0, (-128, 127)),
    "the largest accumulators": ([1e-7], (-(2**31) + 400, 2**31 - 400), -128, (-128, 127)),
}


def task(name: str, rounding: Rounding) -> RequantizationTask:
    scales, (low, high), zero_point, clamp = TASKS[name]
    made, count = requantization(scales), len(scales)
    number = np.arange(count, dtype=np.int64)
    return RequantizationTask(
        made.multipliers.astype(np.int64), made.shifts.astype(np.int64), 37 * number - 40,
        211 - 100 * number, np.full(count, low), np.full(count, high), zero_point, clamp, rounding,
    )  # fmt: skip


def told(form: Form | None) -> str:
    if form is None:
        return "none"
    arrays = (form.start, form.addend, form.multiplier, form.step, form.shifts)
    numbers = " ".join("/".join(map(str, array.tolist())) for array in arrays)
    return f"{form.kind.value} {form.preshift} {form.postshift} {numbers} {form.clamp}"


def narrow(form: NarrowForm | None) -> str:
    if form is None:
        return "none"
    arrays = (form.low, form.high, form.fine, form.addend, form.span)
    numbers = " ".join("/".join(map(str, array.tolist())) for array in arrays)
    shifts = f"{form.fine_shift} {form.postshift} {form.span_shift}"
    return f"{form.clamp_min} {shifts} {numbers}"


def test_the_search_finds_what_is_recorded(golden: Callable[..., None]) -> None:
    text = ""
    for name in TASKS:
        for rounding in ROUNDINGS:
            asked = task(name, rounding)
            text += f"{name}, {rounding.value}\n    best {told(find_form(asked))}\n"
            for kind in FormKind:
                text += f"    {told(find_form(asked, kinds=(kind,)))}\n"
            text += f"    7, 4 bits {told(find_form(asked, (7, 4), (3, 5, 9)))}\n"
            text += f"    narrow {narrow(find_narrow_form(asked))}\n\n"
    golden("requantization_forms.txt", text)


#: Scales of both operands and of the result, zero points.
SUMS: dict[str, tuple[tuple[float, float, float], tuple[int, int, int]]] = {
    "residual": ((0.0613729, 0.0837187, 0.0926431), (-128, 4, -128)),
    "in the middle": ((0.0513717, 0.0251173, 0.0601337), (3, -7, 5)),
    "equal scales": ((0.1, 0.1, 0.1), (-1, 0, 0)),
    "halves": ((0.1, 0.1, 0.2), (0, 0, 0)),
    "a common divisor": ((0.5, 0.25, 0.6), (-100, -100, 5)),
    "saturation of most pairs": ((0.9133717, 0.8221173, 0.7101337), (100, -90, 0)),
    "hardly anything": ((0.011, 0.37, 41.0), (-5, 9, 100)),
    "one of them hardly": ((0.0001, 0.3, 0.31), (-128, 127, 0)),
    "always the least": ((1e-5, 1e-5, 1.0), (0, 0, -128)),
    "far beyond": ((4.0, 3.0, 0.01), (0, 0, 0)),
}


def summands(name: str) -> Signature:
    types = [
        TensorType((), ElementType.I8, Quantization((float(np.float32(scale)),), (point,)))
        for scale, point in zip(*SUMS[name], strict=True)
    ]
    return Signature(tuple(types[:2]), (types[2],))


def test_the_two_piece_lines_of_sums_are_those_recorded(golden: Callable[..., None]) -> None:
    text = ""
    for name in SUMS:
        for op, rounding in ((Add(), Rounding.DOUBLE), (Sub(), Rounding.SINGLE)):
            form = two_piece_form(op, summands(name), rounding)
            text += f"{name}, {op.name}, {rounding.value}: {form}\n"
    golden("requantization_sums.txt", text)
