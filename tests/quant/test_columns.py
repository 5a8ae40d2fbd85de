"""Models with an input a column, as skl2onnx writes them of tables: samples and runs by column."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ops.joining import Concatenation
from glowmcu.quant.data_sets import as_array
from glowmcu.quant.sample_source import SampleSource
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import real

pandas = pytest.importorskip("pandas", reason="pip install pandas")

NAMES = ("length__cm_", "width__cm_", "weight")
SPELLED = ("length (cm)", "width (cm)", "weight")
ROWS = np.arange(15, dtype=np.float32).reshape(5, 3) / 4


def columns() -> Graph:
    builder = GraphBuilder()
    inputs = [builder.input(real(1, 1), name) for name in NAMES]
    return builder.finish(builder.add(Concatenation(1), *inputs))


def table(names: tuple[str, ...] = SPELLED) -> Any:
    return pandas.DataFrame(ROWS, columns=list(names))


class Row(NamedTuple):
    """As `itertuples` of pandas makes them."""

    weight: float
    width__cm_: float
    length__cm_: float
    label: int = 1


MADE: dict[str, Callable[[], Any]] = {
    "a table": table,
    "columns in another order": lambda: table()[[SPELLED[2], SPELLED[0], SPELLED[1]]],
    "with labels": lambda: table().assign(label="yes"),
    "nullable numbers": lambda: table().convert_dtypes(),
    "columns": lambda: {name: table()[name] for name in SPELLED},
    "arrays of one axis": lambda: dict(zip(NAMES, ROWS.T, strict=True)),
    "rows": lambda: table().to_dict("records"),
    "named tuples": lambda: [Row(*row[::-1].tolist()) for row in ROWS],
    "masked numbers": lambda: {
        name: np.ma.masked_array(column, [False] * 5) for name, column in table().items()
    },
}


@pytest.mark.parametrize("name", MADE)
def test_columns_are_found_by_their_names(name: str) -> None:
    samples = SampleSource(MADE[name]()).read(columns())
    assert samples.count == len(ROWS)
    found = np.array([[array.item() for array in sample] for sample in samples])
    assert np.array_equal(found, ROWS)


@pytest.mark.parametrize("names", [SPELLED, NAMES, tuple(reversed(NAMES))])
def test_a_table_in_a_file_has_a_column_an_input(names: tuple[str, ...], tmp_path: Path) -> None:
    table(names).assign(label="yes").to_csv(tmp_path / "t.csv", index=False)
    samples = SampleSource(tmp_path / "t.csv").read(columns())
    order = [names.index(name) if name in names else at for at, name in enumerate(NAMES)]
    found = np.array([[array.item() for array in sample] for sample in samples])
    assert np.array_equal(found, ROWS[:, order])


def test_a_column_that_is_missing_is_named() -> None:
    with pytest.raises(GlowmcuError, match="no samples for input 'weight'"):
        SampleSource(table().drop(columns="weight")).read(columns())


def test_what_is_missing_in_a_column_of_pandas_is_no_number() -> None:
    column = pandas.Series([1, None, 3], dtype="Int64")
    found = as_array(column)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, [1.0, np.nan, 3.0])


def test_what_is_masked_is_no_number() -> None:
    found = as_array(np.ma.masked_array([1, 2, 3], [False, True, False]))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, [1.0, np.nan, 3.0])


def test_a_row_of_a_table_is_run(tmp_path: Path) -> None:
    helper = onnx.helper
    inputs = [helper.make_tensor_value_info(name, 1, [1, 1]) for name in NAMES]
    node = helper.make_node("Concat", list(NAMES), ["row"], axis=1)
    row = helper.make_tensor_value_info("row", 1, [1, 3])
    model = helper.make_model(
        helper.make_graph([node], "g", inputs, [row]),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
    )  # fmt: skip
    bundle = glowmcu.compile(model, name="m", output=tmp_path / "m")
    frame = table(NAMES)[[NAMES[1], NAMES[2], NAMES[0]]]
    assert bundle.run(frame[1:2])[0].tolist() == ROWS[1:2].tolist()
    with pytest.raises(GlowmcuError, match="no column called 'weight'"):
        bundle.run(frame[1:2].drop(columns="weight"))
    with pytest.raises(GlowmcuError, match=r"expected float32\[1x1\], got float32\[2\]"):
        bundle.run(frame[:2])
