"""The int8 models of MLPerf Tiny (and a wake-word model) compute what TFLM computes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from glowmcu.verify.host import Host
from tests.support.check_model import Array, expect_equal, random_inputs, write_bundle
from tests.support.oracle import open_tflm

#: Random inputs of each model; -128, 127 and the zero point throughout come on top.
RANDOM_INPUTS = 100
#: Of them, so many run through the Python meaning too, which is slow.
PYTHON_INPUTS = 8

MODELS = ["kws", "vww", "ic", "ad", "sww"]


@dataclass(frozen=True)
class Checked:
    """A model compiled once, its inputs (extremes last) and what TFLM says."""

    compilation: Compilation
    inputs: list[list[Array]]
    wanted: list[list[Array]]


@pytest.fixture(scope="module", params=MODELS)
def checked(request: pytest.FixtureRequest, shared_dir: Path) -> Checked:
    data = (shared_dir / "models" / f"{request.param}_int8.tflite").read_bytes()
    compilation = compile_model(data, f"{request.param}_int8.tflite", Options(request.param))
    inputs = random_inputs(compilation, RANDOM_INPUTS)
    oracle = open_tflm(data)
    return Checked(compilation, inputs, [oracle(arrays) for arrays in inputs])


def test_inputs_are_a_hundred_and_three_and_different(checked: Checked) -> None:
    contents = {b"".join(array.tobytes() for array in arrays) for arrays in checked.inputs}
    assert len(checked.inputs) == RANDOM_INPUTS + 3
    # The zero point may be -128 or 127 itself.
    assert len(contents) >= RANDOM_INPUTS + 2
    extremes = [np.unique(arrays[0]).tolist() for arrays in checked.inputs[-3:]]
    zero_point = checked.compilation.imported.inputs[0].type.zero_point
    assert extremes == [[-128], [127], [zero_point]]


def test_generated_c_equals_tflm_in_every_byte(checked: Checked, tmp_path: Path) -> None:
    folder = write_bundle(checked.compilation, tmp_path)
    measured = Host().run(folder, checked.inputs)
    for index, (result, wanted) in enumerate(zip(measured, checked.wanted, strict=True)):
        for output, want in enumerate(wanted):
            what = f"input {index}, output {output}: C against TFLM"
            expect_equal(result.outputs[output], want, what)


@pytest.mark.parametrize("graph", ["imported", "graph"])
def test_python_meaning_equals_tflm_in_every_byte(checked: Checked, graph: str) -> None:
    chosen = getattr(checked.compilation, graph)
    few = [*range(PYTHON_INPUTS), -3, -2, -1]
    for index in few:
        outputs = run_graph(chosen, checked.inputs[index])
        for output, want in enumerate(checked.wanted[index]):
            what = f"input {index}, output {output}: meaning against TFLM"
            expect_equal(outputs[output], want, what)


def test_outputs_differ_between_inputs(checked: Checked) -> None:
    """A model that always says the same would pass everything above."""
    contents = {wanted[0].tobytes() for wanted in checked.wanted}
    assert len(contents) > 1
