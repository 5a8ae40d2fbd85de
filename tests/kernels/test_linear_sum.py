"""sum.linear and sum.linear_dsp: proved for every pair, tails of every length, any broadcasting."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.ir.operation import Rounding, Signature
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.kernels.requantization import linear_form as forms
from glowmcu.kernels.requantization.linear_form import (
    _LARGEST_MOVE,
    HIGH_WORD,
    PLAIN,
    Arithmetic,
    Pairs,
    _Bounds,
    _bounds,
    _widest,
    integers_near,
    linear_form,
)
from glowmcu.ops.elementwise import Add, Sub
from tests.ops.test_elementwise import ALL_PAIRS, NONE, RELU, RELU6, pair_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

CORES = {"sum.linear": "cortex-m3", "sum.linear_dsp": "cortex-m4"}
VARIANTS = tuple(CORES)
#: Operator; scales of a, b, out; zero points; activation.
Numbers = tuple[str, tuple[float, ...], tuple[int, ...], int]
NUMBERS: dict[str, Numbers] = {
    "residual": ("ADD", (0.0613729, 0.0837187, 0.0926431), (-128, 4, -128), RELU),
    "equal scales, ties away from zero": ("ADD", (0.1, 0.1, 0.2), (0, 0, 0), NONE),
    "zero points at both ends": ("ADD", (0.1, 0.07, 0.11), (-128, 127, 0), NONE),
    "difference": ("SUB", (0.0513717, 0.0251173, 0.0601337), (3, -7, 5), NONE),
    "difference of equal scales": ("SUB", (0.1, 0.1, 0.1), (-1, 0, 0), NONE),
    "saturation of most pairs": ("ADD", (0.9133717, 0.8221173, 0.7101337), (100, -90, 0), NONE),
    "output scale far larger": ("ADD", (0.011, 0.37, 41.0), (-5, 9, 100), NONE),
}
#: Real scales have no common divisor; round ones tie at every other pair.
SCALES = (0.0513717, 0.0251173, 0.0601337)
SHAPES = {
    "one": ((1, 1), (1, 1)),
    "tile - 1": ((1, 15), (1, 15)),
    "tile": ((1, 16), (1, 16)),
    "tile + 1": ((1, 17), (1, 17)),
    "a word after the tiles": ((1, 36), (1, 36)),
    "a prime": ((1, 3, 37), (1, 3, 37)),
    "a vector for every pixel": ((1, 3, 5, 12), (12,)),
    "odd vector for every pixel": ((1, 3, 5, 7), (7,)),
    "a vector first": ((9,), (1, 4, 9)),
    "one value a pixel": ((1, 3, 5, 12), (1, 3, 5, 1)),
    "both repeat": ((1, 4, 1, 6), (1, 1, 5, 1)),
}


def type_of(scale: float, zero_point: int) -> TensorType:
    quantization = Quantization((float(np.float32(scale)),), (zero_point,))
    return TensorType((4,), ElementType.I8, quantization)


def signature_of(scales: tuple[float, ...], points: tuple[int, ...]) -> Signature:
    a, b, out = (type_of(*pair) for pair in zip(scales, points, strict=True))
    return Signature((a, b), (out,))


def all_pairs_model(case: Numbers) -> bytes:
    kind, scales, points, activation = case
    return pair_model(kind, [(256, 1), (1, 256)], "int8", scales, points, activation)


def sum_model(shapes: tuple[tuple[int, ...], ...]) -> bytes:
    return pair_model("ADD", list(shapes), scales=SCALES)


PAIR_LAYERS = {
    variant: ForcedLayers(variant, NUMBERS, all_pairs_model, core, inputs=ALL_PAIRS)
    for variant, core in CORES.items()
}
SHAPE_LAYERS = {
    variant: ForcedLayers(variant, SHAPES, sum_model, core) for variant, core in CORES.items()
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", NUMBERS)
def test_every_pair_gives_the_literal_result(variant: str, name: str) -> None:
    PAIR_LAYERS[variant].check(name)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape(variant: str, name: str) -> None:
    SHAPE_LAYERS[variant].check(name)


@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m7", "cortex-m33"])
def test_other_cores(core: str) -> None:
    data = pair_model("SUB", [(1, 53), (1, 53)], scales=SCALES)
    variant = "sum.linear" if core == "cortex-m0plus" else "sum.linear_dsp"
    check_forced(data, variant, core)


def test_a_clamp_inside_int8_stays_with_the_literal_kernel() -> None:
    data = pair_model("ADD", [(8,), (8,)], "int8", (0.031, 0.047, 0.052), (12, -100, -20), RELU6)
    for variant, core in CORES.items():
        assert not variants_of(compile_forced(data, variant, core)) & set(VARIANTS)


def literal(op: Add | Sub, signature: Signature, low: int = -128) -> np.ndarray:
    a, b = np.arange(low, 128).reshape(-1, 1), np.arange(low, 128)
    return op.evaluate((a, b), signature, Rounding.DOUBLE)[0]


def form_results(
    op: Add | Sub, signature: Signature, arithmetic: Arithmetic, low: int = -128
) -> np.ndarray | None:
    """What a core would compute for every pair, or None; int32 may not overflow on the way."""
    whole = ValueRange(np.array([low]), np.array([127]))
    form = linear_form(op, signature, (whole, whole), Rounding.DOUBLE, arithmetic)
    if form is None:
        return None
    a, b = np.arange(low, 128).reshape(-1, 1), np.arange(low, 128)
    partial = (a * form.p >> arithmetic.extra) + form.c
    total = partial + (b * form.q >> arithmetic.extra)
    assert max(abs(form.p), abs(form.q), np.abs(partial).max(), np.abs(total).max()) < 2**31
    return np.clip(total >> arithmetic.shift, -128, 127)


@pytest.mark.parametrize("arithmetic", [PLAIN, HIGH_WORD], ids=["plain", "high word"])
def test_nearly_all_scales_have_a_form_and_it_is_exact(arithmetic: Arithmetic) -> None:
    generator = np.random.default_rng(3)
    found = 0
    for turn in range(24):
        op = (Add(), Sub())[turn % 2]
        a, b = np.exp(generator.normal(size=2)) * 0.05
        scales = (a, a if turn % 5 == 0 else b, max(a, b) * np.exp(generator.normal() * 0.5))
        points = tuple(int(point) for point in generator.integers(-128, 128, 3))
        signature = signature_of(scales, points)
        results = form_results(op, signature, arithmetic)
        if results is not None:
            found += 1
            assert np.array_equal(results, literal(op, signature))
    assert found >= 22


def test_slopes_that_leave_no_room_are_not_searched_to_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ties that go up above zero and down below it; and of others the search ends, too."""
    seen: list[float] = []

    def widest(below: _Bounds, above: _Bounds) -> tuple[np.ndarray, float]:
        move, width = _widest(below, above)
        seen.append(width)
        return move, width

    def few(pairs: Pairs, values: np.ndarray, chosen: np.ndarray) -> _Bounds:
        """Of 65 536 pairs."""
        assert 0 < chosen.sum() < 20_000
        return _bounds(pairs, values, chosen)

    monkeypatch.setattr(forms, "_widest", widest)
    monkeypatch.setattr(forms, "_bounds", few)
    forms._search.cache_clear()
    assert form_results(Add(), signature_of((0.5, 0.25, 0.6), (-100, -100, 5)), PLAIN) is None
    assert len(seen) < 20
    assert seen[-1] <= 0 < seen[0]
    seen.clear()
    assert form_results(Add(), signature_of(SCALES, (3, -7, 5)), PLAIN) is not None
    assert len(seen) < 20
    assert all(width > 0 for width in seen)


@pytest.mark.parametrize("arithmetic", [PLAIN, HIGH_WORD], ids=["plain", "high word"])
def test_operands_that_are_never_negative_make_a_form_possible(arithmetic: Arithmetic) -> None:
    op, signature = Add(), signature_of((0.5, 0.25, 0.6), (-100, -100, 5))
    assert form_results(op, signature, arithmetic) is None  # ties go up above 0, down below
    results = form_results(op, signature, arithmetic, low=-100)
    assert results is not None
    assert np.array_equal(results, literal(op, signature, low=-100))


def test_integers_near_numbers_come_nearest_first() -> None:
    """Nearest to the rounded ones."""
    numbers = np.array([3.4, -2.6])
    assert integers_near(numbers, 0) == [(3, -3)]
    found = integers_near(numbers, 2)
    assert sorted(found) == [(p, q) for p in range(1, 6) for q in range(-5, 0)]
    distances = [(p - 3) ** 2 + (q + 3) ** 2 for p, q in found]
    assert distances == sorted(distances)


@pytest.mark.parametrize("seed", range(6))
def test_the_widest_interval_is_as_wide_as_at_any_point_of_a_fine_grid(seed: int) -> None:
    """Of c, by slopes that move within reach; some optima lie at the reach's edge."""
    generator = np.random.default_rng(seed)
    below, above = (
        _Bounds(generator.integers(-128, 128, (2, 9)).astype(float), side + generator.random(9) / 8)
        for side in (-0.25, 0.25)
    )
    move, width = _widest(below, above)

    def widths(moves: np.ndarray) -> np.ndarray:
        first, last = ((each.values - moves @ each.points) for each in (below, above))
        found: np.ndarray = last.min(axis=-1) - first.max(axis=-1)
        return found

    steps = np.linspace(-_LARGEST_MOVE, _LARGEST_MOVE, 121)
    best = widths(np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)).max()
    assert np.abs(move).max() <= _LARGEST_MOVE
    assert width == pytest.approx(widths(move), abs=1e-12)
    assert width >= best * (1 - 1e-3)  # more is not looked for


@pytest.mark.parametrize("arithmetic", [PLAIN, HIGH_WORD], ids=["plain", "high word"])
@pytest.mark.parametrize("point", [-128, 127])
def test_sums_that_are_always_the_same_have_a_form(arithmetic: Arithmetic, point: int) -> None:
    op, signature = Add(), signature_of((1e-5, 1e-5, 1.0), (0, 0, point))
    assert set(literal(op, signature).ravel().tolist()) == {point}
    results = form_results(op, signature, arithmetic)
    assert results is not None
    assert set(results.ravel().tolist()) == {point}


def test_the_result_takes_the_place_of_an_operand() -> None:
    data = pair_model("ADD", [(1, 40), (1, 40)], scales=SCALES)
    compilation = compile_forced(data, "sum.linear_dsp", "cortex-m4")
    assert compilation.manifest.arena_bytes == 2 * 40
    check_forced(data, "sum.linear_dsp")
