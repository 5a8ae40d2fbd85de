"""Every operator that ONNX files may have is quantized by samples, or refused in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from tests.frontend.onnx_cases import CASES
from tests.frontend.onnx_damage import Case, Computed

onnx = pytest.importorskip("onnx", reason="pip install onnx")

_SAMPLES = 8
#: Of a file that says so little of its results that no type is wrong.
_UNDEFINED = 0
#: Nothing to quantize; more operands than the case's opset has; a logarithm below 0.
_REFUSALS = {"GM320", "GM105", "GM311"}


def _inputs(case: Case) -> dict[str, Computed]:
    named = ((f"a{place}", item) for place, item in enumerate(case.operands))
    return {name: item for name, item in named if isinstance(item, Computed)}


def _is_float_model(case: Case) -> bool:
    """Of plain tensors; graphs in attributes are records of ours and no files."""
    plain = all(isinstance(item, Computed | np.ndarray | None) for item in case.operands)
    graphs = any(type(item).__name__ == "OnnxRecord" for item in case.attributes.values())
    floats = any(item.dtype == "float32" for item in _inputs(case).values())
    return plain and floats and not graphs


def _model(case: Case) -> bytes:
    helper = onnx.helper
    names = ["" if item is None else f"a{place}" for place, item in enumerate(case.operands)]
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(np.dtype(item.dtype)), item.shape
        )
        for name, item in _inputs(case).items()
    ]
    constants = [
        onnx.numpy_helper.from_array(item, name)
        for name, item in zip(names, case.operands, strict=True)
        if isinstance(item, np.ndarray)
    ]
    kind = helper.make_tensor_type_proto(_UNDEFINED, None)
    outputs = [helper.make_value_info(name, kind) for name in case.results if name]
    domain = case.domain.removesuffix("ai.onnx")
    node = helper.make_node(case.kind, names, case.results, domain=domain, **case.attributes)
    opsets = {"": case.opset, "ai.onnx.ml": 3}
    if domain:
        opsets.setdefault(domain, 1)
    imports = [helper.make_opsetid(name, version) for name, version in opsets.items()]
    graph = helper.make_graph([node], "case", inputs, outputs, constants)
    return bytes(helper.make_model(graph, opset_imports=imports).SerializeToString())


def _samples(case: Case) -> dict[str, Any]:
    """Above 0, of which logarithms and roots are finite."""
    draw = np.random.default_rng(3)
    found: dict[str, Any] = {}
    for name, item in _inputs(case).items():
        shape = (_SAMPLES, *item.shape[item.shape[:1] == (1,) :])
        drawn = (
            draw.uniform(0.1, 2, shape) if item.dtype == "float32" else draw.integers(0, 2, shape)
        )
        found[name] = drawn.astype(item.dtype)
    return found


@pytest.mark.parametrize("family", CASES)
def test_samples_quantize_every_operator(family: str, tmp_path: Path) -> None:
    for number, case in enumerate(filter(_is_float_model, CASES[family])):
        model, samples = tmp_path / f"m{number}.onnx", tmp_path / "samples.npz"
        model.write_bytes(_model(case))
        np.savez(samples, **_samples(case))
        assert _refusals(model, samples, tmp_path / "bundle") <= _REFUSALS, case.kind


def _refusals(model: Path, samples: Path, bundle: Path) -> set[str]:
    plain = glowmcu.Quantization(search="plain")
    try:
        glowmcu.compile(model, output=bundle, name="m", samples=samples, quantization=plain)
    except GlowmcuError as cause:
        return {problem.code for problem in cause.problems}
    return set()
