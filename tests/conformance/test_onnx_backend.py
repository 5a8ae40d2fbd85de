"""GlowMCU as a backend under the ONNX project's own tests."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from tests.conftest import REPO

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

from glowmcu import onnx_backend  # noqa: E402
from tests.support.onnx_suite import FAILS_ON_PURPOSE, run_suite_test, suite_names  # noqa: E402

#: Every n-th test of the suite; the whole of it runs in benchmarks/onnx_backend_tests.py.
STEP = 16
SHARDS = 4
#: What another compiler to plain C reaches.
ONNX2C_SHARE = 456 / 1615


@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.filterwarnings("ignore")
def test_a_sample_of_the_onnx_projects_tests_passes_or_is_refused(shard: int) -> None:
    names = suite_names()[shard :: STEP * SHARDS]
    outcomes = [run_suite_test(key) for key in names]
    counts = Counter(outcome.verdict for outcome in outcomes)
    wrong = [item for item in outcomes if item.verdict == "failed"]
    failed = [f"{item.name}: {item.reason}" for item in wrong if item.name not in FAILS_ON_PURPOSE]
    assert not failed, "\n".join(failed)
    for outcome in outcomes:
        if outcome.verdict == "refused":
            assert re.match(r"GM\d{3}: \S.{10,}", outcome.reason), outcome
    assert counts["passed"] > ONNX2C_SHARE * len(outcomes), counts


CLASSICAL = (
    "array_feature_extractor", "binarizer", "tree_ensemble_set_membership",
    "tree_ensemble_single_tree",
)  # fmt: skip


@pytest.mark.parametrize("name", CLASSICAL)
@pytest.mark.filterwarnings("ignore")
def test_classical_models_of_the_suite_pass(name: str) -> None:
    key = ("node", f"test_ai_onnx_ml_{name}")
    if key not in suite_names():
        pytest.skip("an older onnx package")
    assert run_suite_test(key).verdict == "passed"


def test_the_document_tells_of_more_passes_than_the_other_compiler_has() -> None:
    text = (REPO / "docs" / "conformance.md").read_text(encoding="utf-8")
    found = re.search(r"^(\d+) of (\d+) of the ONNX project's own backend tests pass", text, re.M)
    assert found is not None, "run python benchmarks/onnx_backend_tests.py"
    passed, total = int(found[1]), int(found[2])
    assert total >= 1615
    assert passed > 456
    assert passed / total > ONNX2C_SHARE


@pytest.mark.parametrize("name", sorted(FAILS_ON_PURPOSE))
@pytest.mark.filterwarnings("ignore")
def test_a_test_that_fails_on_purpose_still_fails(name: str) -> None:
    assert run_suite_test(("node", name)).verdict == "failed"


def model(*shape: int | str) -> onnx.ModelProto:
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
        helper.make_tensor_value_info("shape", TensorProto.INT64, [2]),
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "main", inputs, [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_shapes_come_from_the_inputs_of_each_run() -> None:
    prepared = onnx_backend.prepare(model("N", 4))
    for rows, shape in ((2, (4, 2)), (3, (1, 12))):
        x = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
        (y,) = prepared.run([x, np.array(shape, np.int64)])
        assert y.shape == shape
        assert y.tolist() == x.reshape(shape).tolist()


def test_a_model_runs_in_one_call() -> None:
    x = np.ones((2, 2), np.float32)
    (y,) = onnx_backend.run_model(model(2, 2), [x, np.array([4, 1], np.int64)])
    assert y.shape == (4, 1)


def test_only_this_computers_processor_is_a_device() -> None:
    assert onnx_backend.supports_device("CPU")
    assert not onnx_backend.supports_device("CUDA")


def test_an_input_that_is_no_tensor_is_refused() -> None:
    with pytest.raises(GlowmcuError, match="input 'x' is no tensor but a list"):
        onnx_backend.run_model(model(2, 2), [[1.0], np.array([4, 1], np.int64)])
