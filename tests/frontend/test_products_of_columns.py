"""Products that are written column by column are gathered and multiplied at once."""

from __future__ import annotations

import numpy as np
import pytest

from tests.frontend.test_sums_of_columns import ML, Model, kinds
from tests.support.check_model import check_model
from tests.support.onnx_models import run_onnxruntime


def product(model: Model, table: str, *places: int) -> str:
    index = model.number(np.array(places), "int64")
    columns = model.add("ArrayFeatureExtractor", table, index, domain=ML)
    return model.add("ReduceProd", columns, axes=[1])


def monomials(model: Model, table: str, *terms: tuple[int, ...]) -> bytes:
    return model.data(*(product(model, table, *places) for places in terms))


TERMS = ((0,), (3,), (0, 0), (0, 1, 2), (2, 3))


def test_factors_are_gathered_in_turn() -> None:
    data = monomials(Model(), "x", *TERMS)
    assert kinds(data) == ["concatenation", "gather", "gather", "mul", "gather", "mul"]
    check_model(data, oracle=run_onnxruntime)


def test_products_of_as_many_factors_need_no_one() -> None:
    data = monomials(Model(), "x", (0, 1), (1, 3), (2, 2))
    assert kinds(data) == ["gather", "gather", "mul"]
    check_model(data, oracle=run_onnxruntime)


def test_a_column_of_ones_is_a_product_of_none() -> None:
    model = Model()
    one = model.number(np.ones((2, 1)))
    data = model.data(one, product(model, "x", 1), product(model, "x", 1, 2))
    assert "reduce_prod" not in kinds(data)
    check_model(data, oracle=run_onnxruntime)


def test_missing_numbers_stay_where_they_are_read() -> None:
    x = np.array([[1, 2, np.nan, 4], [np.inf, 1, 2, 3]], np.float32)
    data = monomials(Model(), "x", (0, 1), (1, 3), (2,))
    done = check_model(data, [[x]], run_onnxruntime)
    assert done.manifest.outputs[0].shape == (2, 3)


@pytest.mark.parametrize("why", ["two tables", "another number", "no products"])
def test_other_columns_stay(why: str) -> None:
    model = Model()
    other = model.add("Abs", "x") if why == "two tables" else "x"
    parts = [product(model, "x", 0, 1), product(model, other, 2), product(model, "x", 3, 3)]
    if why == "another number":
        parts.append(model.number(np.full((2, 1), 2)))
    elif why == "no products":
        parts = [product(model, "x", place) for place in (2, 0, 3)]
    data = model.data(*parts)
    assert kinds(data)[-1] == "concatenation"
    check_model(data, oracle=run_onnxruntime)
