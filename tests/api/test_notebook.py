"""What a notebook shows: small tables without scripts, and DataFrames with all of it."""

from __future__ import annotations

import importlib
import io
import re
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import glowmcu
from glowmcu.notebook import Card, Column, Shown
from glowmcu.report.profiles import profile_table
from glowmcu.report.tables import bench_table, layer_table
from glowmcu.verify.executors import executor

REPO = Path(__file__).resolve().parents[2]
DIGITS = REPO / "examples" / "digits"
HOSTILE = '<script>alert("x")</script>&\'<img src=x onerror=alert(1)>'


class Cells(HTMLParser):
    """The texts of cells; every tag is closed, and none can do anything."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
        for name, value in attrs:
            assert name == "style"
            assert not re.search("color|background|url", str(value)), "notebooks have themes"
        self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("results")
    bundle = glowmcu.compile(DIGITS / "digits_int8.tflite", board="nrf52", output=folder / "a")
    other = glowmcu.compile(
        DIGITS / "digits_int8.tflite", board="nrf52", output=folder / "b", optimize="size"
    )
    samples = DIGITS / "calibration.npz"
    found = {
        "bundle": bundle,
        "report": bundle.report,
        "inspection": glowmcu.inspect(DIGITS / "digits.onnx"),
        "profile": glowmcu.profile(DIGITS / "digits.onnx", samples, limit=16),
        "verification": glowmcu.verify(bundle, samples=1),
        "comparison": glowmcu.compare(DIGITS / "digits.onnx", samples),
        "diff": glowmcu.diff(bundle, other),
        "tuning": glowmcu.tune(DIGITS / "digits.onnx", samples, trials=3),
    }
    if executor("cortex-m", bundle.board).missing() is None:
        found["benchmark"] = glowmcu.bench(bundle)
    return found


NAMES = ["bundle", "report", "inspection", "profile", "verification", "comparison", "diff",
         "tuning", "benchmark"]  # fmt: skip


def result(results: dict[str, Any], name: str) -> Any:
    if name not in results:
        pytest.skip("the cortex-m executor cannot run here: `glowmcu doctor bench`")
    return results[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_shown_by_a_small_table(results: dict[str, Any], name: str) -> None:
    page = result(results, name)._repr_html_()
    assert len(Cells(page).cells) > 3
    assert len(page) < 20_000


@pytest.mark.parametrize("name", NAMES)
def test_a_data_frame_has_a_row_a_record(results: dict[str, Any], name: str) -> None:
    pytest.importorskip("pandas", reason='pandas is not installed: pip install "glowmcu[notebook]"')
    value = result(results, name)
    frame = value.to_dataframe()
    assert len(frame) == len(value._card().records) > 0
    assert all(re.fullmatch("[a-z0-9_]+", column) for column in frame.columns)
    keys = {column.key for column in value._card().columns}
    assert keys <= set(frame.columns)


def test_data_frames_hold_the_numbers_of_the_results(results: dict[str, Any]) -> None:
    pytest.importorskip("pandas", reason='pandas is not installed: pip install "glowmcu[notebook]"')
    bundle = results["bundle"]
    layers = bundle.to_dataframe()
    assert layers["macs"].sum() == bundle.report.macs
    assert list(layers["kernel"]) == [layer.kernel for layer in bundle.report.layers]
    profile = results["profile"]
    assert dict(profile.to_dataframe().set_index("tensor")["high"]) == {
        name: tensor.high for name, tensor in profile.tensors.items()
    }
    assert results["comparison"].to_dataframe()["share"].sum() == pytest.approx(1)
    growth = results["diff"].to_dataframe().set_index("name")["growth"]
    assert growth["arena"] == next(
        q.growth for q in results["diff"].quantities if q.name == "arena"
    )
    tuned = results["tuning"].to_dataframe()
    assert tuned["mark"].iloc[0].startswith("best")
    assert tuned["pareto"].sum() == len(results["tuning"].front)


def terminal(table: Any) -> set[str]:
    text = io.StringIO()
    Console(file=text, width=400).print(table)
    return {cell.strip() for cell in re.split(r"\s{2,}|\n", text.getvalue()) if cell.strip()}


def test_numbers_are_written_as_in_the_terminal(results: dict[str, Any]) -> None:
    """Every cell of the body but names, which the terminal may cut."""
    bundle, profile = results["bundle"], results["profile"]
    pairs = [(bundle, layer_table(bundle.manifest)), (profile, profile_table(profile))]
    if "benchmark" in results:
        found = results["benchmark"]
        pairs.append((found, bench_table(found.manifest, found.measured)))
    for value, table in pairs:
        shown = [
            text for row in value._card().rows for column, text in row if column.kind != "text"
        ]
        assert shown
        assert set(shown) - {"-"} <= terminal(table)


def test_names_of_a_hostile_model_stay_text(results: dict[str, Any]) -> None:
    bundle, profile = results["bundle"], results["profile"]
    manifest = bundle.manifest
    hostile = replace(
        manifest,
        name=HOSTILE,
        inputs=tuple(replace(entry, name=HOSTILE) for entry in manifest.inputs),
        layers=tuple(replace(layer, name=HOSTILE, op=HOSTILE) for layer in manifest.layers),
    )
    shown = [
        replace(bundle, manifest=hostile, notes=(HOSTILE,)),
        replace(bundle, manifest=hostile).report,
        replace(profile, tensors={HOSTILE: next(iter(profile.tensors.values()))}),
        replace(results["inspection"], path=Path(HOSTILE), notes=(HOSTILE,)),
        replace(results["verification"], skipped=((HOSTILE, HOSTILE),)),
    ]
    for value in shown:
        page = value._repr_html_()
        assert "<script" not in page
        assert "<img" not in page
        assert "&lt;script&gt;" in page
        Cells(page)


def test_a_report_is_shown_in_a_frame_where_nothing_runs(results: dict[str, Any]) -> None:
    page = glowmcu.report(results["bundle"])
    shown = replace(page, name=HOSTILE, html=page.html + HOSTILE)._repr_html_()
    assert shown.count("<") == 2, "one frame, and all else is text of its attributes"
    assert re.match(
        r'\s*<iframe sandbox title="[^"]*" style="[^"]*" srcdoc="[^"]*"></iframe>', shown
    )


@dataclass(frozen=True)
class Many(Shown):
    rows: int

    def _card(self) -> Card:
        columns = (Column("a", "a", "count"), Column("b", "b"))
        return Card("many", (), columns, [{"a": i, "b": "x" * 500} for i in range(self.rows)])


def test_long_tables_and_words_are_cut_and_say_so() -> None:
    page = Many(1000)._repr_html_()
    assert "… and 970 more rows: .to_dataframe() has them all" in page
    assert page.count("<tr>") == 31
    assert "x" * 80 not in page
    assert "<table" not in Many(0)._repr_html_()
    assert "more rows" not in Many(30)._repr_html_()


def test_an_empty_result_has_its_columns() -> None:
    pytest.importorskip("pandas", reason='pandas is not installed: pip install "glowmcu[notebook]"')
    frame = Many(0).to_dataframe()
    assert list(frame.columns) == ["a", "b"]
    assert len(frame) == 0


def test_without_pandas_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(glowmcu.GlowmcuError, match="GM724") as caught:
        Many(1).to_dataframe()
    assert 'pip install "glowmcu[notebook]"' in str(caught.value)


def test_looking_at_a_loaded_bundle_calls_no_compiler(
    results: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def called(*_: object) -> None:
        raise AssertionError("a compiler was called")

    monkeypatch.setattr("subprocess.run", called)
    monkeypatch.setattr("subprocess.Popen", called)
    assert "not measured" in glowmcu.load(results["bundle"].path)._repr_html_()


def test_ipython_shows_the_table(results: dict[str, Any]) -> None:
    formatters = pytest.importorskip(
        "IPython.core.formatters", reason="IPython is not installed: pip install ipython"
    )
    data, _ = formatters.DisplayFormatter().format(results["bundle"])
    assert data["text/html"] == results["bundle"]._repr_html_()
