"""The unit costs of kernels: how they are fitted, that none is missing, and that they predict."""

from __future__ import annotations

import itertools
import json
import re
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import glowmcu
from benchmarks.calibrate import CORES, uncalibrated
from benchmarks.calibration_layers import KINDS
from benchmarks.least_squares import fit_unit_costs, non_negative_least_squares
from glowmcu.bundle import LayerChoice
from glowmcu.compilation import Options
from glowmcu.cores import core_names
from glowmcu.kernels.cost_table import COSTS_AS, TABLE_FILE, UnitCosts, cost_table
from glowmcu.kernels.kernel import Kernel, load_kernels
from glowmcu.tuning.kernel_cache import KernelCache
from glowmcu.tuning.kernel_tuner import tune_kernels
from glowmcu.verify.measurement import Measurement
from glowmcu.verify.verification import seeded_inputs

#: Worst misfit of one layer's estimate, and of a whole model's.
LAYER_TOLERANCE, MODEL_TOLERANCE = 0.25, 0.10


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=4), st.integers(0, 1000))
def test_unit_costs_that_explain_everything_are_found(unit_costs: list[float], seed: int) -> None:
    amounts = np.random.default_rng(seed).uniform(1.0, 50.0, (12, len(unit_costs)))
    cycles = amounts @ np.array(unit_costs)
    found = non_negative_least_squares(amounts, cycles)
    assert (found >= 0).all()
    np.testing.assert_allclose(amounts @ found, cycles, rtol=1e-6, atol=1e-6)


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_no_set_of_non_negative_prices_fits_better(seed: int, columns: int) -> None:
    generator = np.random.default_rng(seed)
    amounts, cycles = generator.normal(size=(8, columns)), generator.normal(size=8)
    found = non_negative_least_squares(amounts, cycles)
    assert (found >= 0).all()
    misfit = float(np.sum((amounts @ found - cycles) ** 2))
    for size in range(columns + 1):
        for free in map(list, itertools.combinations(range(columns), size)):
            other = np.linalg.lstsq(amounts[:, free], cycles, rcond=None)[0]
            if (other >= 0).all():
                assert misfit <= np.sum((amounts[:, free] @ other - cycles) ** 2) + 1e-9


def test_two_amounts_that_always_go_together_share_the_unit_cost() -> None:
    amounts = np.array([[1.0, 1.0], [3.0, 3.0], [7.0, 7.0]])
    found = fit_unit_costs(amounts, amounts[:, 0] * 5, np.ones(3))
    assert found.sum() == pytest.approx(5.0)


def test_work_without_a_price_is_not_covered() -> None:
    unit_costs = UnitCosts({"mac": 2.0, "call": 10.0}, 100)
    assert unit_costs.covers({"mac": 3.0})
    assert unit_costs.cycles({"mac": 3.0, "call": 1.0}) == 16.0
    assert not unit_costs.covers({"mac": 3.0, "row": 1.0})
    assert not unit_costs.covers({})


def test_work_without_a_price_costs_as_the_dearest_of_its_kind() -> None:
    unit_costs = UnitCosts({"step": 15.0, "step joined": 20.0, "call": 300.0}, 100)
    assert unit_costs.can_estimate({"step wide": 3.0, "call": 1.0})
    assert unit_costs.cycles({"step wide": 3.0, "call": 1.0}) == 360.0
    assert not unit_costs.covers({"step wide": 3.0})
    assert not unit_costs.can_estimate({"step": 3.0, "block wide": 1.0})
    assert not unit_costs.can_estimate({})


def test_the_table_is_as_calibration_writes_it() -> None:
    text = TABLE_FILE.read_text(encoding="utf-8")
    assert json.dumps(json.loads(text), indent=1, sort_keys=True) + "\n" == text
    variants = {kernel.name for found in load_kernels().values() for kernel in found}
    assert set(cost_table().variants) <= variants


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_names_work_has_prices_on_every_core(kind: str) -> None:
    assert not uncalibrated(kind), "python -m benchmarks.calibrate --missing"


def test_no_kernel_that_names_its_work_is_without_samples() -> None:
    """Else a bundle with one such layer states no cycles at all."""
    kernels = {kernel for found in load_kernels().values() for kernel in found}
    named = {kernel.name for kernel in kernels if type(kernel).work is not Kernel.work}
    assert named - set(cost_table().variants) == set()


def test_every_core_costs_as_a_calibrated_one() -> None:
    found = set()
    for name in core_names():
        costs_as = name
        while costs_as not in CORES:
            costs_as = COSTS_AS[costs_as]
        found.add(costs_as)
    assert found == set(CORES)


@cache
def compiled(
    file: Path, board: str, goal: str, simplify: bool
) -> tuple[Sequence[LayerChoice], Measurement]:
    """What is chosen and what it takes, found once for all tests; the same C is measured once."""
    with tempfile.TemporaryDirectory() as folder:
        bundle = glowmcu.compile(
            file, board, Path(folder) / "b", name="m", optimize=goal, simplify=simplify
        )
        texts = (source.read_text() for source in sorted(bundle.path.glob("*.[ch]")))
        key = board, re.sub(r"/\*.*?\*/", "", "".join(texts), flags=re.DOTALL)
        if key not in _measured:
            _measured[key] = bundle.measure(seeded_inputs(bundle.manifest, 1))
        return bundle.choices, _measured[key]


#: By board and C without comments: most networks have nothing that can be simplified.
_measured: dict[tuple[str, str], Measurement] = {}


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.parametrize("board", ["nrf52", "rp2040"])
@pytest.mark.parametrize("name", ["kws", "vww", "ic", "ad", "sww"])
def test_estimates_are_near_what_layers_take(name: str, board: str, shared_dir: Path) -> None:
    choices, measured = compiled(
        shared_dir / "models" / f"{name}_int8.tflite", board, "balanced", True
    )
    total = measured.cycles or 0
    wrong = []
    for choice, layer in zip(choices, measured.layers, strict=True):
        cycles = layer.cycles or 0
        if cycles > 0.01 * total and abs(choice.chosen.cycles / cycles - 1) > LAYER_TOLERANCE:
            wrong.append(f"{choice.chosen.kernel}: {choice.chosen.cycles} for {cycles} cycles")
    assert not wrong, "\n".join(wrong)
    estimate = sum(choice.chosen.cycles for choice in choices)
    assert estimate == pytest.approx(total, rel=MODEL_TOLERANCE)


@pytest.mark.parametrize(
    "variant",
    [
        "conv_2d.pairs_nodsp", "dense.direct_nodsp", "dense.eights_nodsp",
        "depthwise_conv_2d.planes_nodsp", "depthwise_conv_2d.planes_step_nodsp",
        "depthwise_conv_2d.taps_nodsp", "fully_connected.pairs_nodsp",
    ],
)  # fmt: skip
def test_prices_of_an_m0plus_meet_each_sample_layer_within_a_twentieth(variant: str) -> None:
    """Pairs of pixels but for one layer, most of whose results are the least, twice as quick."""
    unit_costs = cost_table().unit_costs(variant, "cortex-m0plus")
    assert unit_costs is not None
    assert unit_costs.error <= (0.07 if variant == "conv_2d.pairs_nodsp" else 0.05)


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.parametrize("simplify", [True, False], ids=["simplified", "as it is"])
@pytest.mark.parametrize("name", ["kws", "vww", "ic", "ad", "sww"])
def test_speed_takes_no_more_cycles_than_balanced(
    name: str, simplify: bool, shared_dir: Path
) -> None:
    file = shared_dir / "models" / f"{name}_int8.tflite"
    estimated, measured = {}, {}
    for goal in ("balanced", "speed"):
        choices, found = compiled(file, "nrf52", goal, simplify)
        estimated[goal] = sum(choice.chosen.cycles for choice in choices)
        measured[goal] = found.cycles or 0
    assert estimated["speed"] <= estimated["balanced"]
    assert 0 < measured["speed"] <= measured["balanced"]


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.parametrize("name", ["kws", "ic"])
def test_the_kernel_with_the_least_estimate_is_the_quickest_or_nearly(
    name: str, shared_dir: Path, tmp_path: Path
) -> None:
    file = shared_dir / "models" / f"{name}_int8.tflite"
    options = Options(name, core="cortex-m4")
    tuned = tune_kernels(file.read_bytes(), file.name, options, KernelCache(tmp_path))
    total = tuned.total(tuned.before.selections)
    wrong = []
    for node, item in tuned.before.selections.items():
        estimates = {item.kernel_name: item.cost.cycles}
        estimates.update({kernel: cost.cycles for kernel, cost in item.alternatives})
        cycles = tuned.cycles[node.name]
        best = min(estimates, key=lambda kernel: estimates[kernel])
        if cycles[best] > 1.1 * min(cycles.values()) and cycles[best] > 0.01 * total:
            wrong.append(f"{node.op.name}: {estimates} measured {cycles}")
    assert not wrong, "\n".join(wrong)
