"""Float recurrent layers whose gates are computed all at once: what the graph means, on a computer
and on cores with an FPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.compilation import Options
from glowmcu.ir.interpreter import Session
from glowmcu.pipeline import compile_model, reference_graph
from glowmcu.verify.host import Host
from glowmcu.verify.modelled import modelled_core
from tests.ops.test_onnx_recurrent import CASES, _inputs, recurrent
from tests.support.check_model import random_inputs, write_bundle
from tests.support.forced_variant import SANITIZED, compile_forced, variants_of
from tests.support.lstm_models import LstmCase, lstm_model
from tests.support.one_unit import write_unit
from tests.support.recurrent_models import recurrent_sequence

Array = npt.NDArray[Any]
HELIUM = "cortex-m55"
RECURRENCE, LSTM = "recurrence.packed_f32", "lstm.packed_f32"
#: Weights that are computed are no constants to be packed.
COMPUTED = {name for name, (*_, options) in CASES.items()
            if set(options.get("computed", ())) & set("WRB")}  # fmt: skip
#: A step is not a recurrence.
ONE_STEP = {name for name, (*_, options) in CASES.items() if options.get("steps") == 1}
SEQUENCES = [name for name in CASES if name not in COMPUTED | ONE_STEP]
#: Of the cores beside the first one.
FEW = ["gru, both ways, reset after", "gru, short sequences",
       "lstm, two ways with functions of their own"]  # fmt: skip
LSTMS = {
    "eights": LstmCase(dtype="float32", depth=5, units=6, weight_scale=0.01),
    "a block of four": LstmCase(dtype="float32", depth=9, units=5, steps=3, weight_scale=0.01),
    "batches, time first, clipped": LstmCase(
        dtype="float32", batches=2, cell_clip=0.3, time_major=True, weight_scale=0.01
    ),
}  # fmt: skip


def check(
    data: bytes, file: str, variant: str, folder: Path, cores: Sequence[str],
    inputs: Sequence[Sequence[Array]] | None = None,
) -> None:  # fmt: skip
    """C here, sanitized, and assembly on cores, against the meaning within what sums in another
    order leave open.
    """
    compilation = compile_forced(data, variant, cores[0], file)
    assert variant in variants_of(compilation)
    sets = inputs if inputs is not None else random_inputs(compilation, 2)
    runs = [(Host(SANITIZED), write_unit(compilation, folder / "unit"))]
    bundle = write_bundle(compilation, folder / "bundle")
    runs += [(modelled_core(name, count=False), bundle) for name in cores]
    for executor, files in runs:
        session = Session(compilation.imported)
        for arrays, done in zip(sets, executor.run(files, sets), strict=True):
            for got, want in zip(done.outputs, session.run(arrays), strict=True):
                np.testing.assert_allclose(got, want, 0, 2e-5 * max(np.abs(want).max(), 1e-3))


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.arm
def test_sequences_are_what_they_mean(name: str, tmp_path: Path) -> None:
    kind, attributes, options = CASES[name]
    data = recurrent(kind, attributes, **options)
    graph = reference_graph(data, "m.onnx")
    cores = ["cortex-m4", HELIUM] if name in FEW else ["cortex-m4"]
    sets = [_inputs(graph, seed) for seed in range(2)]
    check(data, "m.onnx", RECURRENCE, tmp_path, cores, sets)


@pytest.mark.parametrize("name", sorted(COMPUTED - ONE_STEP))
def test_weights_that_are_computed_are_not_packed(name: str) -> None:
    kind, attributes, options = CASES[name]
    data = recurrent(kind, attributes, **options)
    found = variants_of(compile_forced(data, RECURRENCE, "cortex-m4", "m.onnx"))
    assert RECURRENCE not in found
    assert "recurrence.portable_f32" in found


def test_a_core_without_fpu_has_no_use_for_it() -> None:
    data = recurrent("GRU", {})
    found = variants_of(compile_forced(data, RECURRENCE, "cortex-m3", "m.onnx"))
    assert "recurrence.portable_f32" in found


@pytest.mark.arm
def test_layers_that_differ_in_their_functions_alone_have_code_of_their_own(tmp_path: Path) -> None:
    """Code is shared by layers of one name: that has to tell all that the code depends on."""
    cases: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("RNN", {}, {}), ("RNN", {"activations": ["Relu"]}, {}),
        ("RNN", {"activations": ["Elu"]}, {}), ("RNN", {"clip": 0.5}, {}),
        ("RNN", {"activations": ["Elu"], "activation_alpha": [0.5]}, {}),
        ("RNN", {"direction": "reverse"}, {}), ("RNN", {"direction": "bidirectional"}, {}),
        ("RNN", {}, {"batch": 1}), ("RNN", {}, {"steps": 3}), ("RNN", {}, {"initial": True}),
        ("RNN", {}, {"lengths": [2, 4]}), ("GRU", {}, {}), ("GRU", {"linear_before_reset": 1}, {}),
        ("LSTM", {}, {}), ("LSTM", {"input_forget": 1}, {}), ("LSTM", {}, {"peepholes": True}),
    ]  # fmt: skip
    codes = set()
    for kind, attributes, options in cases:
        data = recurrent(kind, attributes, **options)
        compilation = compile_forced(data, RECURRENCE, "cortex-m4", "m.onnx")
        (node,) = (node for node in compilation.selections if node.op.name == "recurrence")
        codes.add(compilation.selections[node].cost.code_key)
    assert len(codes) == len(cases)


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m7", "cortex-m33", HELIUM])
def test_it_is_chosen_without_being_asked_for(core: str) -> None:
    """Its scratch is no more than what the gates take where each is an operator's result."""
    for data, file, variant in (
        (recurrent_sequence("GRU", 20, 32, 64), "m.onnx", RECURRENCE),
        (lstm_model(LstmCase(dtype="float32", depth=16, units=32, steps=8)), "m.tflite", LSTM),
    ):
        assert variant in variants_of(compile_model(data, file, Options("m", core=core)))


@pytest.mark.parametrize("name", LSTMS)
@pytest.mark.arm
def test_lstms_of_tensorflow_lite_are_what_they_mean(name: str, tmp_path: Path) -> None:
    check(lstm_model(LSTMS[name]), "m.tflite", LSTM, tmp_path, ["cortex-m4", HELIUM])
