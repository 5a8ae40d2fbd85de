"""KNNImputer of scikit-learn: features that are missing get what the nearest rows have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from tests.support.check_model import Array, check_model
from tests.support.onnx_models import run_onnxruntime

pytest.importorskip("skl2onnx", reason="pip install skl2onnx")

DRAW = np.random.default_rng(5)


def table(rows: int, missing: float) -> Array:
    found = DRAW.normal(size=(rows, 5)).astype(np.float32)
    found[DRAW.random(found.shape) < missing] = np.nan
    return found


COMPLETE, HOLED, ASKED = table(20, 0.0), table(20, 0.2), table(8, 0.4)
#: A row of which no distance is known, and a complete one.
ENDS = np.stack([np.full(5, np.nan), np.arange(5)]).astype(np.float32)


def converted(model: Any) -> bytes:
    import skl2onnx

    data: bytes = skl2onnx.to_onnx(model, COMPLETE[:1]).SerializeToString()
    return data


def imputer(fitted: Array, **options: Any) -> Any:
    from sklearn.impute import KNNImputer

    return KNNImputer(**options).fit(fitted)


def check(model: Any, rows: Array) -> None:
    """Against scikit-learn: where no distance is known onnxruntime fails."""

    def wanted(_data: bytes, inputs: Any) -> list[Array]:
        return [model.transform(inputs[0]).astype(np.float32)]

    sets = [[row[np.newaxis]] for row in rows]
    check_model(converted(model), sets, wanted, Options("m"), atol=1e-5)


CASES = {
    "rows without holes": (COMPLETE, 3),
    "nearest of rows with holes": (HOLED, 1),
    "more than there are rows": (HOLED, 50),
}


@pytest.mark.parametrize(("fitted", "neighbours"), CASES.values(), ids=CASES)
def test_missing_features_get_the_mean_of_the_nearest_rows(fitted: Array, neighbours: int) -> None:
    model = imputer(fitted, n_neighbors=neighbours)
    check(model, np.concatenate([ASKED, ENDS]))


@pytest.mark.parametrize("missing", [[2], [0, 1, 3, 4]], ids=["one", "all but one"])
def test_a_feature_that_no_row_has_is_left_out(missing: list[int]) -> None:
    fitted = HOLED.copy()
    fitted[:, missing] = np.nan
    check(imputer(fitted), ASKED)


def test_in_a_pipeline_on_some_of_the_columns() -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline

    columns = make_column_transformer((imputer(HOLED), [0, 3, 4]))
    model = make_pipeline(columns, LinearRegression()).fit(HOLED, np.arange(len(HOLED)))
    rows = [[row[np.newaxis]] for row in ASKED]
    check_model(converted(model), rows, run_onnxruntime, Options("m"))


def test_a_function_that_computes_something_else_is_not_taken_for_it() -> None:
    import onnx

    model = onnx.load_model_from_string(converted(imputer(HOLED)))
    (weights,) = (item for item in model.functions if item.name == "calc_impute_weights")
    weights.node[0].op_type = "Identity"
    with pytest.raises(GlowmcuError, match="NonZero needs its operand known"):
        compile_model(model.SerializeToString(), "m.onnx", Options("m"))
