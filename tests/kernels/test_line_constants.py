"""Constants of sums and products in one line, by the definition of each, without any compiler."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.ir.operation import Operation, Rounding, Signature
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.kernels.requantization import linear_form as linear_form_module
from glowmcu.kernels.requantization.linear_form import (
    HIGH_WORD,
    PLAIN,
    Arithmetic,
    LinearForm,
    Pairs,
    _form,
    _limits,
    linear_form,
    real_slopes,
    tabulate,
)
from glowmcu.kernels.requantization.linear_form import _best_slopes as best_slopes
from glowmcu.kernels.requantization.linear_form import _Bounds as Bounds
from glowmcu.kernels.requantization.linear_form import _widest as widest
from glowmcu.kernels.requantization.proved_elements import best_code, folds_product, proved_code
from glowmcu.kernels.requantization.two_piece_form import TwoPieceForm, two_piece_form
from glowmcu.kernels.requantization.two_piece_form import _form as two_piece_with
from glowmcu.ops.elementwise import Add, Mul, Sub

Ints = npt.NDArray[np.int64]
WHOLE = (-128, 127)
WIDTHS = pytest.mark.parametrize("arithmetic", [PLAIN, HIGH_WORD], ids=["plain", "high word"])


def signature(
    scales: tuple[float, ...], points: tuple[int, ...], element: ElementType = ElementType.I8
) -> Signature:
    a, b, out = (
        TensorType((4,), element, Quantization((float(np.float32(scale)),), (point,)))
        for scale, point in zip(scales, points, strict=True)
    )
    return Signature((a, b), (out,))


def room(pairs: Pairs, p: int, q: int, arithmetic: Arithmetic) -> tuple[int, int]:
    """The least and the greatest c that give every result, one pair at a time."""
    sums = pairs.accumulators(p, q, arithmetic.extra)
    least, most = -(2**40), 2**40
    for total, result in zip(
        sums.reshape(-1).tolist(), pairs.results.reshape(-1).tolist(), strict=True
    ):
        if result > -128:
            least = max(least, (result << arithmetic.shift) - total)
        if result < 127:
            most = min(most, ((result + 1) << arithmetic.shift) - 1 - total)
    return least, most


RESIDUAL = signature((0.0613729, 0.0837187, 0.0926431), (-128, 4, -128))
APART = signature((0.0513717, 0.0251173, 0.0601337), (3, -7, 5))


@WIDTHS
@pytest.mark.parametrize(("op", "types"), [(Add(), RESIDUAL), (Sub(), APART), (Add(), APART)])
def test_what_is_added_lies_in_the_middle_of_the_widest_room(
    op: Add | Sub, types: Signature, arithmetic: Arithmetic
) -> None:
    form = linear_form(op, types, (None, None), Rounding.DOUBLE, arithmetic)
    assert form is not None
    pairs = tabulate(op, types, (WHOLE, WHOLE), Rounding.DOUBLE)
    assert pairs.a.tolist() == pairs.b.tolist() == list(range(-128, 128))
    least, most = room(pairs, form.p, form.q, arithmetic)
    assert form.c == (least + most) // 2
    unit = 2.0 ** (arithmetic.shift + arithmetic.extra)
    slopes = real_slopes(op, types)
    assert np.abs(np.array([form.p, form.q]) / unit - slopes).max() < 2.0**-14
    # Slopes around these leave no more room, but for what rounding them makes.
    for share in (-(2.0**-17), 2.0**-17):
        for moved in (
            (form.p + round(share * unit), form.q),
            (form.p, form.q + round(share * unit)),
        ):
            other = room(pairs, *moved, arithmetic)
            assert other[1] - other[0] < 1.02 * (most - least) + 1024


def test_slopes_are_what_stored_values_are_worth_in_the_result() -> None:
    types = signature((0.5, 0.25, 2.0), (3, 4, 5))
    assert real_slopes(Add(), types).tolist() == [0.25, 0.125]
    assert real_slopes(Sub(), types).tolist() == [0.25, -0.125]


def span(low: Any, high: Any) -> ValueRange:
    return ValueRange(np.array(low), np.array(high))


@pytest.mark.parametrize(
    ("a", "limits"),
    [
        (None, WHOLE), (span([], []), WHOLE), (span([-100, -90], [5, 7]), (-100, 7)),
        (span([-90, -100], [7, 5]), (-100, 7)), (span([3], [3]), (3, 3)),
    ],
    ids=str,
)  # fmt: skip
def test_only_pairs_that_can_occur_bound_a_form(
    a: ValueRange | None, limits: tuple[int, int]
) -> None:
    """Ties go up above zero, and down below: all of -100 to 127 is above."""
    types = signature((0.5, 0.25, 0.6), (-100, -100, 5))
    b = span([-100], [127])
    form = linear_form(Add(), types, (a, b), Rounding.DOUBLE, PLAIN)
    assert (form is None) == (limits == WHOLE)
    if form is not None:
        pairs = tabulate(Add(), types, (limits, (-100, 127)), Rounding.DOUBLE)
        least, most = room(pairs, form.p, form.q, PLAIN)
        assert form.c == (least + most) // 2


@pytest.mark.parametrize(
    ("low", "high", "limits"),
    [
        ([-100, -90], [5, 7], (-100, 7)), ([-90, -100], [7, 5], (-100, 7)), ([3], [4], (3, 4)),
        ([], [], WHOLE),
    ],
)  # fmt: skip
def test_the_limits_are_those_of_all_channels(
    low: list[int], high: list[int], limits: tuple[int, int]
) -> None:
    assert _limits(span(low, high)) == limits
    assert _limits(None) == WHOLE


@pytest.mark.parametrize(
    ("a", "factor", "c"),
    [
        (-2, 2**30 - 1, 2**31 - 1), (-2, 2**30, None), (2, 2**30, 2**21 - 1 - 2**31),
        (2, 2**30 + 2**21 - 2, 1 - 2**31), (2, 2**30 + 2**21 - 1, None),
    ],
)  # fmt: skip
def test_a_constant_that_32_bits_do_not_hold_is_none(a: int, factor: int, c: int | None) -> None:
    """It takes off again what an operand that never changes adds."""
    form = _form(pairs_of([a], [0]), factor, 0, PLAIN)
    assert (None if form is None else form.c) == c


def test_a_clamp_within_int8_has_no_form() -> None:
    for op in (Add((0.0, 1.0)), Sub((0.0, 1.0)), Add((-1.0, 6.0))):
        assert linear_form(op, APART, (None, None), Rounding.DOUBLE, PLAIN) is None
        assert two_piece_form(op, APART, Rounding.DOUBLE) is None


@WIDTHS
@pytest.mark.parametrize("factor", [509.0, 511.9, 513.0, 3000.0, 1e5])
def test_factors_that_leave_32_bits_have_no_form(factor: float, arithmetic: Arithmetic) -> None:
    types = signature((factor, 1.0, 1.0), (0, 0, 0))
    for limits in (span([0], [0]), span([-3], [2])):
        form = linear_form(Add(), types, (limits, None), Rounding.DOUBLE, arithmetic)
        if form is not None:
            assert abs(form.p) < 2**31
            assert np.array_equal(results_of(form, limits, arithmetic), wanted(types, limits))


def results_of(form: LinearForm, limits: ValueRange, arithmetic: Arithmetic) -> Ints:
    a, b = np.arange(limits.low[0], limits.high[0] + 1)[:, np.newaxis], np.arange(-128, 128)
    first = ((a * form.p) >> arithmetic.extra) + form.c
    total = first + ((b * form.q) >> arithmetic.extra)
    assert max(np.abs(first).max(), np.abs(total).max()) < 2**31
    found: Ints = np.clip(total >> arithmetic.shift, -128, 127)
    return found


def wanted(types: Signature, limits: ValueRange) -> Ints:
    pairs = (int(limits.low[0]), int(limits.high[0])), WHOLE
    return tabulate(Add(), types, pairs, Rounding.DOUBLE).results


def pairs_of(a: list[int], results: list[int]) -> Pairs:
    return Pairs(np.array(a), np.array([0]), np.array(results)[:, np.newaxis])


@pytest.mark.parametrize(
    ("a", "results", "c"),
    [
        # One result leaves a whole step, two leave what both have.
        ([0], [5], (5 << 22) + (1 << 21) - 1), ([0, 1], [0, 1], (1 << 21) - 1),
        ([0, 1], [0, 2], None), ([0, 1], [1, 0], None), ([0], [126], (126 << 22) + (1 << 21) - 1),
        # What is saturated bounds one side only: the other is where 32 bits end.
        ([0], [127], ((127 << 22) + 2**31) // 2), ([0], [-128], (-(127 << 22) - 1 - 2**31) // 2),
        ([0], [-127], -(127 << 22) + (1 << 21) - 1),
    ],
)  # fmt: skip
def test_the_middle_of_what_is_left_is_added(
    a: list[int], results: list[int], c: int | None
) -> None:
    form = _form(pairs_of(a, results), 1 << 22, 0, PLAIN)
    assert (form is None) == (c is None)
    assert form is None or (form.p, form.q, form.c) == (1 << 22, 0, c)


def test_no_step_on_the_way_leaves_32_bits() -> None:
    """A result of zero, but the first product does not fit; or it does, by one."""
    for factor, fits in ((2**31 - 2**21, True), (2**31 - 2**21 + 1, False)):
        pairs = Pairs(np.array([1]), np.array([1]), np.array([[0]]))
        form = _form(pairs, factor, -factor, PLAIN)
        assert (form is not None) == fits
        assert form is None or form.c == 2**21 - 1


@pytest.mark.parametrize("points", [(0, 0, 0), (-20, 17, 4), (60, -80, 30), (-128, 127, -128)])
@pytest.mark.parametrize("op", [Add(), Sub()], ids=["add", "sub"])
def test_a_two_piece_line_has_both_sides_in_their_middle(
    op: Add | Sub, points: tuple[int, ...]
) -> None:
    types = signature((0.5, 0.03125, 0.5), points)
    form = two_piece_form(op, types, Rounding.DOUBLE)
    assert form is not None
    # Scales are powers of two: the first slopes that are tried fit.
    assert (form.p, form.q) == (1 << 22, (1 if isinstance(op, Add) else -1) << 18)
    assert form.c == -form.p * points[0] - form.q * points[1]
    pairs = tabulate(op, types, (WHOLE, WHOLE), Rounding.DOUBLE)
    sums = pairs.accumulators(form.p, form.q, 0) + form.c
    for side, added in ((sums >= 0, form.addend), (sums < 0, form.addend - form.bend)):
        least = ((pairs.results << 22) - sums)[side & (pairs.results > -128)].max(initial=-(2**31))
        above = side & (pairs.results < 127)
        most = (((pairs.results + 1) << 22) - 1 - sums)[above].min(initial=2**31)
        assert added == (int(least) + int(most)) // 2
    assert computed(form) == pairs.results.tolist()


def computed(form: TwoPieceForm) -> list[list[int]]:
    a, b = np.arange(-128, 128)[:, np.newaxis], np.arange(-128, 128)
    total = a * form.p + b * form.q + form.c
    out = (total + form.addend - np.where(total < 0, form.bend, 0)) >> 22
    found: list[list[int]] = np.clip(out, -128, 127).tolist()
    return found


@pytest.mark.parametrize("factor", [300.0, 600.0])
def test_a_two_piece_line_stays_inside_32_bits(factor: float) -> None:
    assert two_piece_form(Add(), signature((factor, 1.0, 1.0), (0, 0, 0)), Rounding.DOUBLE) is None


def test_no_step_of_a_two_piece_line_leaves_32_bits() -> None:
    """A sum of zero, but its first product or its constant reach the end, or not."""

    def has_form(a: int, results: int, p: int, q: int, c: int) -> bool:
        pairs = Pairs(np.array([a]), np.array([1]), np.array([[results]]))
        return two_piece_with(pairs, p, q, c) is not None

    end = 2**31
    for most, fits in ((end - 1, True), (end, False), (-end + 1, True), (-end, False)):
        assert has_form(1, 0, most, -most, 0) == fits, "first product"
        assert has_form(0, 0, 0, -most, most) == fits, "constant"


WITHIN_REACH = [
    ((0.0613729, 0.0837187, 0.0926431), (-128, 4, -128)),
    ((0.0513717, 0.0251173, 0.0601337), (3, -7, 5)),
    ((0.031, 0.029, 0.047), (-128, -128, -128)),
]


@pytest.mark.parametrize(("scales", "points"), WITHIN_REACH, ids=str)
def test_slopes_are_looked_for_as_long_as_there_is_more_to_gain(
    scales: tuple[float, ...], points: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each round hopes for as much as the bounds that it has seen leave; the last one gets it, but
    for a thousandth.
    """
    rounds: list[tuple[Bounds, Bounds, float]] = []

    def seen(below: Bounds, above: Bounds) -> tuple[npt.NDArray[np.float64], float]:
        moved, hoped = widest(below, above)
        rounds.append((below, above, hoped))
        return moved, hoped

    monkeypatch.setattr(linear_form_module, "_widest", seen)
    types = signature(scales, points)
    pairs, real = tabulate(Add(), types, (WHOLE, WHOLE), Rounding.DOUBLE), real_slopes(Add(), types)
    slopes = best_slopes(pairs, real)
    assert slopes is not None
    move = slopes - real

    def width(below: Bounds, above: Bounds) -> float:
        return float(above.at(move).min() - below.at(move).max())

    assert 2 <= len(rounds) <= 20
    assert width(*rounds[-1][:2]) >= rounds[-1][2] * (1 - 1.001e-3), "nothing more is to be had"


def test_slopes_without_hope_are_given_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same pair with two results."""
    rounds: list[float] = []

    def seen(below: Bounds, above: Bounds) -> tuple[npt.NDArray[np.float64], float]:
        moved, hoped = widest(below, above)
        rounds.append(hoped)
        return moved, hoped

    monkeypatch.setattr(linear_form_module, "_widest", seen)
    pairs = Pairs(np.array([0, 0]), np.array([0]), np.array([[0], [3]]))
    assert best_slopes(pairs, np.array([1.0, 1.0])) is None
    assert rounds == [-2.0]


@pytest.mark.parametrize("shift", [0, 1, 2, 22, 23])
def test_a_product_folds_where_it_shifts_right_by_1_to_22(shift: int) -> None:
    types = signature((0.75 * 2.0**-shift, 1.0, 1.0), (3, -4, 5))
    assert Mul().scale(types).shift == -shift
    assert folds_product(Mul(), types, Rounding.DOUBLE) == (1 <= shift <= 22)
    assert not folds_product(Mul(), types, Rounding.SINGLE)
    assert not folds_product(Mul((0.0, 0.5)), types, Rounding.DOUBLE)
    code = proved_code(Mul(), types, Rounding.DOUBLE)
    assert (code is not None) == (1 <= shift <= 22)
    other = best_code(Mul(), types, Rounding.DOUBLE)
    assert other is not None
    assert (code is None) == ("folded" not in other.expression)


@pytest.mark.parametrize("points", [(0, 0, 0), (-128, 127, 127), (3, -4, -128)])
@pytest.mark.parametrize("scale", [0.02, 0.5, 0.25, 0.0009])
def test_a_folded_product_is_the_literal_one_of_every_pair(
    scale: float, points: tuple[int, ...]
) -> None:
    types = signature((scale, 0.7, 1.0), points)
    code = proved_code(Mul(), types, Rounding.DOUBLE)
    assert code is not None
    assert code.parameters is not None
    fields = dict[str, int]()
    for field in code.parameters.fields:
        assert isinstance(field.value, int)
        fields[field.name] = field.value
    a, b = np.arange(-128, 128)[:, np.newaxis], np.arange(-128, 128)
    v = (a - fields["a_zero_point"]) * (b - fields["b_zero_point"])
    high = (2 * v * fields["multiplier"] + 2**31) >> 32
    got = np.clip((high + fields["addend"] + (v >> 31)) >> fields["shift"], -128, 127)
    (want,) = Mul().evaluate((a, b), types, Rounding.DOUBLE)
    assert np.array_equal(got, want)


@pytest.mark.parametrize("op", [Add(), Sub(), Mul()], ids=["add", "sub", "mul"])
def test_other_types_have_no_proved_element(op: Operation) -> None:
    wide = signature((0.01, 0.02, 0.03), (0, 0, 0), ElementType.I16)
    assert proved_code(op, wide, Rounding.DOUBLE) is None
    real = TensorType((4,), ElementType.F32)
    assert proved_code(op, Signature((real, real), (real,)), Rounding.DOUBLE) is None


@pytest.mark.parametrize(
    ("scales", "points", "kind"),
    [
        ((0.0513717, 0.0251173, 0.0601337), (3, -7, 5), "glowmcu_line"),
        ((0.5, 0.0625, 0.5), (0, 0, 0), "glowmcu_bent_line"),
        ((0.061, 0.083, 0.092), (-128, 4, -128), ""),
    ],
)
def test_a_sum_is_a_line_or_else_two_pieces_or_else_literal(
    scales: tuple[float, ...], points: tuple[int, ...], kind: str
) -> None:
    types = signature(scales, points)
    code = proved_code(Add(), types, Rounding.DOUBLE)
    assert (code is None) == (kind == "")
    if code is not None:
        assert code.expression == f"{kind}_one({{p}}, {{0}}, {{1}})"
        assert code.headers == (f"{kind}.h",)
        assert code.parameters is not None
        assert code.parameters.struct == kind
