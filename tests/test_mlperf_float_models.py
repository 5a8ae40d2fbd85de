"""The float models of MLPerf Tiny compute what LiteRT computes, within the last digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference

#: kws stores int8 weights: LiteRT quantizes its activations on the fly, the C does not.
HYBRID_ERROR = 0.05


@pytest.mark.parametrize("name", ["ad", "ic", "vww"])
def test_float_models_equal_litert(name: str, shared_dir: Path) -> None:
    data = (shared_dir / "models" / f"{name}_float.tflite").read_bytes()
    check_model(data, oracle=run_litert_reference, count=1)


def test_a_model_with_int8_weights_is_near_litert_and_exact_to_itself(shared_dir: Path) -> None:
    data = (shared_dir / "models" / "kws_float.tflite").read_bytes()
    compilation = check_model(data, count=2)
    (x,) = compilation.imported.inputs
    inputs = [np.random.default_rng(4).normal(0, 2, x.type.shape).astype(np.float32)]
    check_model(data, [inputs], oracle=run_litert_reference, rtol=HYBRID_ERROR)
