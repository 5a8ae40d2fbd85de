"""The oracles answer, refuse, or fail in a process of their own; they never take pytest down."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from tests.support.oracle import (
    OracleFailure,
    OracleRefused,
    open_tflm,
    run_litert_reference,
    run_tflm,
)

RUNNERS = [run_tflm, run_litert_reference]


def two_outputs() -> bytes:
    model = ModelBuilder()
    a = model.input("a", (1, 4), "int8", 0.5)
    b = model.input("b", (1, 4), "int8", 0.5)
    larger = model.tensor("larger", (1, 4), "int8", 0.5)
    smaller = model.tensor("smaller", (1, 4), "int8", 0.5)
    model.op("MAXIMUM", [a, b], [larger])
    model.op("MINIMUM", [a, b], [smaller])
    model.output(smaller)
    model.output(larger)
    return model.finish()


A = np.array([[1, -2, 3, -4]], np.int8)
B = np.array([[0, 0, 5, -128]], np.int8)


@pytest.mark.parametrize("isolated", [False, True], ids=["here", "isolated"])
@pytest.mark.parametrize("run", RUNNERS)
def test_outputs_come_in_the_models_order(run, isolated) -> None:
    smaller, larger = run(two_outputs(), [A, B], isolated=isolated)
    assert smaller.tolist() == [[0, -2, 3, -128]]
    assert larger.tolist() == [[1, 0, 5, -4]]


def test_a_session_answers_again_and_again() -> None:
    session = open_tflm(two_outputs())
    first = session([A, B])
    second = session([B, A])
    np.testing.assert_array_equal(first[0], second[0])
    assert session([A, A])[0].tolist() == A.tolist()


@pytest.mark.parametrize("run", RUNNERS)
def test_an_operator_that_exists_nowhere_is_a_refusal(run) -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 4), "int8", 0.5)
    y = model.tensor("y", (1, 4), "int8", 0.5)
    model.custom_op("No_Such_Op", [x], [y])
    model.output(y)
    with pytest.raises(OracleRefused):
        run(model.finish(), [A])
    failure = run(model.finish(), [A], isolated=True)
    assert isinstance(failure, OracleFailure)
    assert failure.kind == "refused"
    assert "No_Such_Op" in failure.message or "op code CUSTOM" in failure.message


@pytest.mark.parametrize("run", RUNNERS)
def test_a_model_with_hostile_words_gives_a_failure_instead_of_ending_the_process(run) -> None:
    data = bytearray(two_outputs())
    data[:4] = b"\xff\xff\xff\x7f"
    failure = run(bytes(data), [A, B], isolated=True)
    assert isinstance(failure, OracleFailure)
    assert failure.kind in ("refused", "crashed")


def test_an_arena_larger_than_the_first_guess_is_found() -> None:
    shape = (1, 64, 128, 256)
    model = ModelBuilder()
    x = model.input("x", shape, "int8", 0.5)
    y = model.tensor("y", shape, "int8", 0.5)
    model.op("RELU", [x], [y])
    model.output(y)
    values = np.full(shape, -3, np.int8)
    (result,) = run_tflm(model.finish(), [values])
    assert not result.any()
