"""What is recorded of networks that nobody tuned for: all of it there, right, and today's."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from benchmarks import foreign
from benchmarks.__main__ import compiler_version
from benchmarks.equality import count_different
from benchmarks.foreign_models import MODELS
from benchmarks.foreign_page import CHAIN, MCUNET, MSF_CNN, Row, page, smallest
from benchmarks.kernel_sources import is_of_today, kernel_sources_digest
from benchmarks.mcunet import mcunet_vww
from benchmarks.models import TARGETS
from benchmarks.tflm_arena import tflm_arena
from glowmcu.pipeline import reference_graph
from glowmcu.verify.measurement import Array
from tests.support.oracle import Arrays, open_tflm

#: Measured again, as they take seconds: a rectangle, a column, sums, products.
AGAIN = (
    foreign.Case("sound, one column", "balanced"),
    foreign.Case("squeeze and excite", "ram"),
    foreign.Case("perceptrons of a transformer", "ram"),
    foreign.Case("a U-Net with a concatenation", "ram"),
)
#: By msf-CNN's result files, of the layers that it analyses.
PUBLISHED_MACS = 11_578_496


def rows() -> dict[foreign.Case, Row]:
    return {foreign.Case(r.model, r.goal, r.input): r for r in foreign.stored()[1]}


def test_the_page_of_foreign_networks_is_what_was_recorded() -> None:
    assert foreign.PAGE.read_text(encoding="utf-8") == page(*foreign.stored())


def test_every_foreign_network_was_measured_and_equals_the_oracle() -> None:
    found = rows()
    assert list(found) == list(foreign.CASES)
    assert [case for case, row in found.items() if row.different] == []


def test_arenas_are_no_larger_than_the_tensors_alive_in_the_interpreter() -> None:
    for case, row in rows().items():
        assert row.arena_lower_bound_bytes <= row.arena_bytes <= row.tflm_tensors_bytes, case


def test_the_published_layers_make_the_published_multiply_accumulates() -> None:
    graph = reference_graph(mcunet_vww(chain=True), "m.tflite")
    assert sum(node.macs for node in graph.nodes) == PUBLISHED_MACS
    sums = reference_graph(mcunet_vww(), "m.tflite")
    assert sum(node.op.name == "add" for node in sums.nodes) == 8


def test_a_plan_with_more_multiply_accumulates_does_not_stand_beside_one_with_fewer() -> None:
    found = rows()
    pushed, outside = (found[foreign.Case(MCUNET, "ram", how)] for how in ("pushed", "outside"))
    small = replace(outside, arena_bytes=1, macs=1_050_000, extra_macs=50_000)
    assert smallest([pushed, small], MCUNET, MSF_CNN[0].factor - 1) == pushed.arena_bytes
    assert smallest([pushed, small], MCUNET, 0.05) == 1
    assert smallest([pushed, small], CHAIN, 0.05) is None


def test_who_runs_the_tests_is_told_of_older_kernels() -> None:
    """No failure, as in test_recorded_runs.py."""
    if not all(is_of_today(row.kernels) for row in rows().values()):
        warnings.warn("older kernels were compared: run python -m benchmarks.foreign", stacklevel=1)


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.parametrize("case", AGAIN, ids=lambda case: f"{case.model}, {case.goal}")
def test_a_foreign_network_comes_to_what_is_recorded(case: foreign.Case) -> None:
    compiler, _ = foreign.stored()
    if compiler != compiler_version():
        pytest.skip(f"the figures are of {compiler}, here is {compiler_version()}")
    data = foreign.builder(case.model)()
    assert foreign.measure(case, data, tflm_arena(data)) == replace(
        rows()[case], kernels=kernel_sources_digest()
    )


@pytest.mark.arm
def test_one_byte_of_one_output_that_differs_is_counted(tmp_path: Path) -> None:
    data = MODELS["sound, one column"]()
    (tmp_path / "m.tflite").write_bytes(data)
    bundle = glowmcu.compile(tmp_path / "m.tflite", board="nucleo-l4r5zi", output=tmp_path / "b")
    oracle, calls = open_tflm(data), 0

    def spoiled(inputs: Sequence[Array]) -> Arrays:
        nonlocal calls
        calls += 1
        (output,) = oracle(inputs)
        if calls == 2:
            output.flat[3] ^= 1
        return [output]

    assert count_different(bundle, oracle, TARGETS[0]) == (6, 0)
    assert count_different(bundle, spoiled, TARGETS[0]) == (6, 1)


@pytest.mark.slow
@pytest.mark.parametrize("model", [*MODELS, MCUNET, CHAIN])
def test_different_inputs_give_different_results(model: str) -> None:
    """Where everything saturates or vanishes, equality with the oracle would say nothing; a few
    outputs of a small network may agree by chance.
    """
    data = foreign.builder(model)()
    oracle, random = open_tflm(data), np.random.default_rng(1)
    types = [value.type for value in reference_graph(data, "m.tflite").inputs]
    results = set()
    for _ in range(8):
        inputs = [random.integers(-128, 128, type_.shape).astype(np.int8) for type_ in types]
        results.add(b"".join(output.tobytes() for output in oracle(inputs)))
    assert len(results) >= 4
