"""Graphs as TOSA's text: TOSA's own verifier takes it, its reference model gives our bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tosa.exporter import export_function
from glowmcu.frontend.tosa.rescaling import apply, factors_of
from glowmcu.frontend.tosa.text import print_tosa
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Rounding
from glowmcu.ops.fixed_point import multiply_by_quantized_multiplier
from glowmcu.ops.matmul import BatchMatMul
from glowmcu.pipeline import reference_graph
from tests.conftest import SHARED
from tests.frontend.tosa_cases import CASES, MOVEMENT, case, one, q8, stateful
from tests.ir.graphs import random_arrays
from tests.support.iree import run_iree
from tests.support.tosa_tools import run_reference, validated

MODELS = ("ad", "ic", "kws", "sww", "vww")


def text_of(graph: Graph) -> str:
    return print_tosa(export_function(graph))


def expect_same_bytes(graph: Graph, seed: int, tmp_path: Path) -> None:
    inputs = random_arrays(graph.inputs, seed)
    want = run_graph(graph, inputs)
    got = run_reference(text_of(graph), inputs, want, tmp_path)
    for expected, found in zip(want, got, strict=True):
        assert np.array_equal(expected, found)


@pytest.mark.parametrize("name", CASES)
def test_the_reference_model_gives_our_bytes(name: str, tmp_path: Path) -> None:
    expect_same_bytes(case(name), 1, tmp_path)


@pytest.mark.parametrize("name", [name for name in CASES if name not in MOVEMENT])
def test_with_one_rounding_it_does_too(name: str, tmp_path: Path) -> None:
    expect_same_bytes(case(name, Rounding.SINGLE), 1, tmp_path)


def test_states_are_the_last_arguments_and_results(tmp_path: Path) -> None:
    graph = stateful()
    function = export_function(graph)
    assert [ref.type.shape for ref in function.arguments] == [(1, 1, 1, 4), (1, 3, 1, 4)]
    assert len(function.results) == 2
    expect_same_bytes(graph, 3, tmp_path)


def mlperf(name: str) -> Graph:
    path = SHARED / "models" / f"{name}_int8.tflite"
    if not path.exists():
        pytest.skip("needs the MLPerf Tiny models")
    return reference_graph(path.read_bytes(), str(path))


@pytest.mark.parametrize("name", MODELS)
def test_the_reference_model_gives_our_bytes_for_the_models_of_mlperf_tiny(
    name: str, tmp_path: Path
) -> None:
    graph = mlperf(name)
    for seed in range(2):
        expect_same_bytes(graph, seed, tmp_path)


def test_a_text_without_notes_is_valid_too(tmp_path: Path) -> None:
    """The notes are attributes that other tools need not know."""
    text = text_of(case("softmax"))
    assert "glowmcu.node" in text
    validated(text, tmp_path)


def test_a_wrong_byte_would_be_found(tmp_path: Path) -> None:
    graph = case("fully connected")
    inputs = random_arrays(graph.inputs, 1)
    (want,) = run_graph(graph, inputs)
    text = (
        text_of(graph).replace("DOUBLE_ROUND", "SINGLE_ROUND").replace("dense<[20]>", "dense<[21]>")
    )
    (got,) = run_reference(text, inputs, [want], tmp_path)
    assert not np.array_equal(want, got)


@given(
    st.integers(2**30, 2**31 - 1), st.integers(-31, 20), st.integers(-(2**31), 2**31 - 1),
    st.sampled_from([Rounding.DOUBLE, Rounding.SINGLE]),
)  # fmt: skip
def test_rescale_is_tflites_multiplication_wherever_tosa_defines_it(
    multiplier: int, shift: int, value: int, rounding: Rounding
) -> None:
    """Values near halves, and at TOSA's limits, among them."""
    limit = 2 ** (30 - shift) - 1
    near = (2 * value + 1) * 2**30 // multiplier
    for each in (value, near, near - 1, near + 1, limit, -limit, 0, -1, 1):
        v = max(min(each, limit, 2**31 - 1), -limit, -(2**31))
        factors = factors_of(multiplier, shift, rounding, abs(v))
        mine = multiply_by_quantized_multiplier(np.array([v]), multiplier, shift, rounding)
        assert apply(np.array([v]), factors)[0] == mine[0], (v, factors)


def test_a_value_beyond_what_tosa_defines_is_refused() -> None:
    with pytest.raises(Unsupported, match="TOSA defines below 1048576"):
        factors_of(2**30, 10, Rounding.DOUBLE, 2**20)
    with pytest.raises(Unsupported, match="shift 1 to 1"):
        factors_of(2**30, 30, Rounding.SINGLE, 0)


def test_average_pools_of_stored_values_are_those_of_tosa() -> None:
    """TOSA's reciprocal against halves away from zero: all sums of small windows, extremes and
    halves of large ones.
    """
    for count in (*range(1, 130), 255, 256, 257, 4095, 4096, 65535, (1 << 22) - 1):
        bits = (count - 1).bit_length()
        multiplier = (((1 << 30) + 1) << bits) // count
        sums = np.arange(-128 * count, 127 * count + 1, max(1, count // 130))
        halves = np.arange(-128, 127) * count + count // 2
        sums = np.concatenate([sums, halves, halves + 1, halves - 1])
        theirs = (sums * multiplier + (1 << (29 + bits))) >> (30 + bits)
        ours = (np.abs(sums) + count // 2) // count * np.sign(sums)
        assert np.array_equal(theirs, ours), count


def test_all_layers_without_a_form_come_in_one_message() -> None:
    path = SHARED / "models" / "kws_float.tflite"
    if not path.exists():
        pytest.skip("needs the MLPerf Tiny models")
    with pytest.raises(GlowmcuError, match="quantize the model first") as raised:
        export_function(reference_graph(path.read_bytes(), str(path)))
    assert {problem.code for problem in raised.value.problems} == {"GM155"}


def test_another_compiler_gives_the_same_bytes(tmp_path: Path) -> None:
    """IREE lowers TOSA by itself: the second witness."""
    graph = mlperf("kws")
    inputs = random_arrays(graph.inputs, 4)
    (got,) = run_iree(text_of(graph), "tosa", inputs, tmp_path)
    assert np.array_equal(run_graph(graph, inputs)[0], got)


def test_stacks_of_matrices_that_differ_are_said_to() -> None:
    graph = one(BatchMatMul(), [q8(1, 2, 3), q8(4, 3, 5)], q8(4, 2, 5))
    with pytest.raises(GlowmcuError, match="has as many of both") as raised:
        export_function(graph)
    assert "repeat the matrices" in raised.value.problems[0].hint
