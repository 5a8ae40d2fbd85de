"""Models with an input a column, as skl2onnx writes them of tables: samples and runs by column."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest

import glowmcu
from glowmcu.bundle import Bundle
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


def joined(folder: Path) -> Bundle:
    """A bundle that joins its inputs to a row."""
    helper = onnx.helper
    inputs = [helper.make_tensor_value_info(name, 1, [1, 1]) for name in NAMES]
    node = helper.make_node("Concat", list(NAMES), ["row"], axis=1)
    row = helper.make_tensor_value_info("row", 1, [1, 3])
    model = helper.make_model(
        helper.make_graph([node], "g", inputs, [row]),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
    )  # fmt: skip
    return glowmcu.compile(model, name="m", output=folder / "m")


def test_a_row_of_a_table_is_run(tmp_path: Path) -> None:
    bundle = joined(tmp_path)
    frame = table(SPELLED)[[SPELLED[1], SPELLED[2], SPELLED[0]]]
    assert bundle.run(frame[1:2])[0].tolist() == ROWS[1:2].tolist()
    given: Any = [np.full((1, 1), number, np.float32) for number in ROWS[1][::-1]]
    fields: Any = Row(*given)
    assert bundle.run(fields)[0].tolist() == ROWS[1:2].tolist()
    masked = [
        np.ma.masked_array(np.ones((1, 1), np.float32), [[name == "weight"]]) for name in NAMES
    ]
    assert np.isnan(bundle.run(masked)[0]).tolist() == [[False, False, True]]
    with pytest.raises(GlowmcuError, match="no column called 'weight'"):
        bundle.run(frame[1:2].drop(columns="weight"))
    with pytest.raises(GlowmcuError, match=r"expected float32\[1x1\], got float32\[2\]"):
        bundle.run(frame[:2])


def test_arrays_are_run_by_the_names_of_inputs_in_any_order(tmp_path: Path) -> None:
    bundle = joined(tmp_path)
    given = {name: np.full((1, 1), ROWS[1][NAMES.index(name)]) for name in reversed(NAMES)}
    for run in (bundle.run, bundle.session().run):
        assert run(given, real=True)[0].tolist() == ROWS[1:2].tolist()
    assert len(bundle.measure_all([given, given], on="host", real=True)) == 2
    del given["weight"]
    with pytest.raises(GlowmcuError, match="missing: 'weight' and is not an input: 'wait'"):
        bundle.run({**given, "wait": np.ones((1, 1), np.float32)})


def values(data: Any, graph: Graph | None = None) -> list[list[float]]:
    """The numbers of each sample."""
    samples = SampleSource(data).read(graph or columns())
    return [np.concatenate([array.ravel() for array in sample]).tolist() for sample in samples]


@pytest.mark.parametrize("is_file", [False, True])
def test_a_column_that_is_called_exactly_so_is_the_one(is_file: bool, tmp_path: Path) -> None:
    """Others that differ by signs alone do not take its place, and two of them are nobody's."""
    frame = table(NAMES).assign(**{"length (cm)": 99.0})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert values(tmp_path / "t.csv" if is_file else frame) == ROWS.tolist()
    unclear = frame.rename(columns={"length__cm_": "length -cm-"})
    unclear.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(GlowmcuError, match="GM304"):
        values(tmp_path / "t.csv" if is_file else unclear)


def test_a_name_that_a_file_has_twice_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("length__cm_,width__cm_,weight,weight\n1,2,3,4\n5,6,7,8\n")
    with pytest.raises(GlowmcuError, match="GM304"):
        values(tmp_path / "t.csv")


def test_rows_of_pandas_without_names_are_no_samples() -> None:
    frame = table()
    with pytest.raises(GlowmcuError, match="give the table itself"):
        values(list(frame.itertuples()))
    with pytest.raises(GlowmcuError, match="give the table itself"):
        values(list(frame.itertuples(index=False)))


def vector(name: str = "inputs") -> Graph:
    builder = GraphBuilder()
    return builder.finish(builder.add(Concatenation(1), builder.input(real(1, 3), name)))


@pytest.mark.parametrize("name", ["inputs", "x"])
@pytest.mark.parametrize(
    ("header", "kept"),
    [
        ("x,y,z", [0, 1, 2]), ("x,y,z,label", [0, 1, 2]), ("y,x,z,target", [0, 1, 2]),
        ("a,b,c,y", [0, 1, 2]), ("label,a,b,y", [1, 2, 3]), ("id,x,y,z,label", [1, 2, 3]),
        ("t,a,b,class", [0, 1, 2]), ("time,a,b,c", [1, 2, 3]),
    ],
)  # fmt: skip
def test_as_few_columns_as_need_be_are_left_out(
    header: str, kept: list[int], name: str, tmp_path: Path
) -> None:
    names = header.split(",")
    rows = np.arange(4 * len(names), dtype=np.float32).reshape(4, -1)
    (tmp_path / "t.csv").write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]))
    expected = rows[:, kept].tolist()
    assert values(tmp_path / "t.csv", vector(name)) == expected
    mappings = [dict(zip(names, row.tolist(), strict=True)) for row in rows]
    assert values(mappings, vector(name)) == expected


def test_a_column_that_nobody_knows_does_not_replace_one_of_three_places(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y,z,activity\n1,2,3,4\n5,6,7,8\n")
    with pytest.raises(GlowmcuError, match="GM304"):
        values(tmp_path / "t.csv", vector())


def test_a_word_in_a_column_that_is_an_input_is_no_zero(tmp_path: Path) -> None:
    """Columns called time or class may hold words where they are left out, and only there."""
    (tmp_path / "t.csv").write_text("class,a,b\n1,2,3\n?,5,6\n")
    with pytest.raises(GlowmcuError, match="row 3, column 'class'"):
        values(tmp_path / "t.csv", vector())
    (tmp_path / "t.csv").write_text("time,a,b,c\n12:00,1,2,3\n12:01,4,5,6\n")
    assert values(tmp_path / "t.csv", vector()) == [[1, 2, 3], [4, 5, 6]]
