"""Chains of functions of a feature: each step is what it says of numbers, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glowmcu.quant.spectrum_traces import MOST, Chain
from tests.quant.test_spectrum_traces import chained

Floats = npt.NDArray[np.float64]
_OnChains = Callable[[Chain, float], Chain | None]
_OnNumbers = Callable[[Floats, float], Floats]
SUMS = np.array([0.0, 1e-6, 0.3, 1.0, 2.5, 40.0, 1e5])
BANK = np.ones((1, 1))

#: Steps by name: on a chain with a number, and what they make of real numbers.
STEPS: dict[str, tuple[_OnChains, _OnNumbers]] = {
    "times": (lambda c, n: c.times(n), lambda x, n: x * n),
    "plus": (lambda c, n: c.plus(n), lambda x, n: x + n),
    "at least": (lambda c, n: c.clipped(low=n), np.maximum),
    "at most": (lambda c, n: c.clipped(high=n), np.minimum),
    "root": (lambda c, _: c.to_power(0.5), lambda x, _: np.sqrt(x)),
    "square": (lambda c, _: c.to_power(2.0), lambda x, _: x**2),
    "log": (lambda c, _: c.log(), lambda x, _: np.log(x)),
    "rooted": (lambda c, _: c.rooted(), lambda x, _: x),
}


def value(chain: Chain) -> Floats:
    """Of one bin for each of the sums; its root where the chain asks for that."""
    return chained(chain, np.sqrt(SUMS) if chain.of_roots else SUMS)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(STEPS)), st.sampled_from([0.0, 0.25, 1.0, 3.0, -2.0])),
        max_size=7,
    )
)
def test_whatever_chain_is_found_is_the_function_of_its_steps(
    steps: list[tuple[str, float]],
) -> None:
    chain, wanted = Chain(), SUMS
    with np.errstate(divide="ignore", invalid="ignore"):
        for name, number in steps:
            make, meaning = STEPS[name]
            made = make(chain, number)
            if made is None:
                continue
            chain, wanted = made, meaning(wanted, number)
        np.testing.assert_allclose(value(chain), wanted, rtol=1e-9, atol=1e-12)


CUT = Chain(low=1.0, high=9.0)
ROOT = Chain(exponent=0.5)
LOG = Chain(is_logarithm=True)
#: What is refused: the step with its number, on this chain.
REFUSED: dict[str, tuple[Chain, str, float]] = {
    "times nothing": (Chain(), "times", 0.0),
    "times less": (Chain(), "times", -1.0),
    "less": (Chain(), "plus", -0.5),
    "plus, cut below": (replace(CUT, high=MOST), "plus", 1.0),
    "plus, cut above": (replace(CUT, low=0.0), "plus", 1.0),
    "plus, the root of a bank": (replace(ROOT, bank=BANK), "plus", 1.0),
    "plus, the root of a sum": (replace(ROOT, floor=1.0), "plus", 1.0),
    "at most nothing": (Chain(), "at most", 0.0),
    "at most less": (Chain(), "at most", -1.0),
    "at most what it is at least": (CUT, "at most", 1.0),
    "at least what it is at most": (CUT, "at least", 9.0),
    "at least, of logarithms": (LOG, "at least", 1.0),
    "at most, of logarithms": (LOG, "at most", 1.0),
    "root of a root": (ROOT, "root", 0),
    "square": (Chain(), "square", 0),
    "root of logarithms": (LOG, "root", 0),
    "logarithm of logarithms": (LOG, "log", 0),
    "rooted, a bank": (replace(ROOT, bank=BANK), "rooted", 0),
    "rooted, roots": (replace(ROOT, of_roots=True), "rooted", 0),
    "rooted, a sum": (replace(ROOT, floor=0.5), "rooted", 0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_chain_expresses_is_refused(name: str) -> None:
    chain, step, number = REFUSED[name]
    assert STEPS[step][0](chain, number) is None


@pytest.mark.parametrize(
    ("chain", "step", "number", "changes"),
    [
        (Chain(), "times", 2.0, {"gain": 2.0}),
        (Chain(floor=3.0), "times", 2.0, {"gain": 2.0, "floor": 6.0}),
        (CUT, "times", 2.0, {"gain": 2.0, "low": 2.0, "high": 18.0}),
        (CUT, "times", 1e38, {"gain": 1e38, "low": 1e38, "high": MOST}),
        (ROOT, "times", 3.0, {"gain": 9.0}),
        (LOG, "times", -2.0, {"slope": -2.0}),
        (replace(LOG, offset=3.0), "times", 2.0, {"slope": 2.0, "offset": 6.0}),
        (LOG, "plus", -2.0, {"offset": -2.0}),
        (Chain(), "plus", 0.0, {}),
        (Chain(floor=1.0), "plus", 2.0, {"floor": 3.0}),
        (ROOT, "plus", 2.0, {"of_roots": True, "exponent": 1.0, "floor": 2.0}),
        (CUT, "at least", 0.5, {}),
        (CUT, "at least", 2.0, {"low": 2.0}),
        (CUT, "at most", 99.0, {}),
        (CUT, "at most", 2.0, {"high": 2.0}),
        (CUT, "at least", -5.0, {}),
        (ROOT, "at least", 3.0, {"low": 9.0}),
        (ROOT, "at least", -5.0, {}),
        (ROOT, "at most", 3.0, {"high": 9.0}),
        (ROOT, "square", 0, {"exponent": 1.0}),
        (CUT, "root", 0, {"exponent": 0.5}),
        (ROOT, "log", 0, {"exponent": 1.0, "slope": 0.5, "is_logarithm": True}),
        (CUT, "rooted", 0, {}),
        (
            replace(CUT, exponent=0.5, gain=4.0),
            "rooted",
            0,
            {"of_roots": True, "exponent": 1.0, "gain": 2.0, "low": 1.0, "high": 3.0},
        ),
        (ROOT, "rooted", 0, {"of_roots": True, "exponent": 1.0}),
    ],
    ids=str,
)
def test_a_step_changes_the_numbers_of_a_chain(
    chain: Chain, step: str, number: float, changes: dict[str, Any]
) -> None:
    made = STEPS[step][0](chain, number)
    assert made is not None
    wanted = replace(chain, **changes)
    for name in (
        "of_roots",
        "is_logarithm",
        "exponent",
        "gain",
        "floor",
        "low",
        "high",
        "slope",
        "offset",
    ):
        assert getattr(made, name) == pytest.approx(getattr(wanted, name)), name


def test_a_plain_chain_adds_and_cuts_nothing() -> None:
    assert Chain(gain=3.0, exponent=0.5, bank=BANK).is_plain
    for changed in ({"floor": 1.0}, {"low": 0.1}, {"high": 1e38}):
        assert not replace(Chain(), **changed).is_plain  # type: ignore[arg-type]
