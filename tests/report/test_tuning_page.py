"""The page of a search, the gauge of time, and pictures in which nothing is cut off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import glowmcu
from glowmcu.api.tuning import TuningResult
from glowmcu.bundle import Bundle
from glowmcu.cli import main
from glowmcu.facts.document import keep_facts
from glowmcu.goals import PlanPoint
from glowmcu.report import curve, plots
from glowmcu.report.page import report_page
from glowmcu.report.tuning_page import tuning_page
from tests.conftest import REPO
from tests.report.test_page import Balanced

DIGITS = REPO / "examples" / "digits"
MODEL, SAMPLES = DIGITS / "digits.onnx", DIGITS / "calibration.npz"


@pytest.fixture(scope="module")
def result() -> TuningResult:
    return glowmcu.tune(MODEL, SAMPLES, trials=3)


def test_the_page_of_a_search_is_whole_and_names_the_winner(result: TuningResult) -> None:
    page = tuning_page("<b>&.onnx", result, "glowmcu compile x && y")
    found = Balanced()
    body = page
    if "<svg" in page:  # matplotlib's picture has identifiers of its own
        body = page[: page.index("<svg")] + page[page.index("</svg>") + len("</svg>") :]
    found.feed(body)
    found.close()
    assert not found.open
    assert "&lt;b&gt;&amp;.onnx" in page
    assert "x &amp;&amp; y" in page
    assert page.count("<b>best</b>") == 1
    assert f"{result.best.sqnr_db:.1f}" in page
    assert "<script" not in page


def test_tune_writes_its_page_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tune = ["tune", str(MODEL), "--samples", str(SAMPLES), "--trials", "1"]
    assert main([*tune, "--report", "page.html", "-o", "t.json"]) == 0
    assert "report   page.html" in capsys.readouterr().out
    assert "glowmcu compile" in Path("page.html").read_text(encoding="utf-8")
    assert main(["compile", str(MODEL), "--profile", "t.json", "-o", "b"]) == 0
    assert main(["report", "b", "-o", "b.html"]) == 0
    assert 'id="tuning"' in Path("b.html").read_text(encoding="utf-8")
    assert main(["tune", str(MODEL), "--kernels", "--report", "page.html"]) == 2


def gauge(bundle: Bundle, bench: dict[str, Any]) -> str:
    keep_facts(bundle.path, bench=bench)
    page = report_page(bundle)
    start = page.index('<div class="soft">time</div>')
    return page[start : page.index('<div class="soft">work</div>')]


def test_the_gauge_of_time_is_filled_against_a_limit_or_real_time(tmp_path: Path) -> None:
    bundle = glowmcu.compile(DIGITS / "digits_int8.tflite", board="nrf52", output=tmp_path / "b")
    bench: dict[str, Any] = {"cycles": 50_000, "core": "cortex-m4", "wait_states": 0, "layers": []}
    assert "% used" not in gauge(bundle, bench)
    assert "0.78 ms at 64 MHz" in gauge(bundle, bench)
    on_board = gauge(bundle, {**bench, "board_cycles": {"low": 60_000, "high": 80_000}})
    assert "0.94 to 1.25 ms at 64 MHz" in on_board
    assert "to 80" in on_board
    assert "on the board, with its memories" in on_board
    limits = {"cycles": 40_000, "stack_bytes": None}
    shown = gauge(bundle, {**bench, "limits": limits})
    assert "125.0 % used" in shown
    assert 'class="full"' in shown
    runs = {"period_runs": 1, "mean_cycles": 1.0, "cycles_per_second": 16e6}
    limits = {"cycles": None, "stack_bytes": None}
    assert "25.0 % used" in gauge(bundle, {**bench, "limits": limits, "runs": runs})


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Those that were drawn, in the picture's own fonts."""
    pytest.importorskip("matplotlib")
    made: list[Any] = []

    def keep(figure: Any) -> str:
        made.append(figure)
        return ""

    monkeypatch.setattr(plots, "svg_of", keep)
    monkeypatch.setattr(curve, "svg_of", keep)
    return made


def check_pictures(figures: list[Any]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    assert figures
    for figure in figures:
        FigureCanvasAgg(figure).draw()
        assert figure.get_suptitle()
        box, room = figure.get_tightbbox(), figure.bbox_inches
        assert box.x0 >= -0.01
        assert box.y0 >= -0.01
        assert box.x1 <= room.x1 + 0.01
        assert box.y1 <= room.y1 + 0.01


def test_pictures_have_titles_and_nothing_is_cut_off(
    result: TuningResult, figures: list[Any]
) -> None:
    plots.pareto_svg(result)
    curve.curve_svg([PlanPoint(512 * n, 9e8 / n, 10**6 + n, 0, 10**9, 0) for n in range(1, 9)])
    check_pictures(figures)


def test_marks_of_other_plans_are_whole(figures: list[Any]) -> None:
    curve.curve_svg([PlanPoint(size, 9e4 + size, 13_000, 0, 57_728, 0) for size in (1152, 1216)])
    for axis in figures[0].axes:
        top = max(max(line.get_ydata()) for line in axis.lines)
        low, high = axis.get_ylim()
        assert (low, high > 1.05 * top) == (0, True)


def test_bars_of_layers_with_long_names_are_whole(
    figures: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "layers.svg"
    given = ["verify", str(MODEL), "--against", "float", "--samples", str(SAMPLES)]
    assert main([*given, "--plot", str(picture)]) == 0
    assert f"picture  {picture}" in capsys.readouterr().out
    check_pictures(figures)
