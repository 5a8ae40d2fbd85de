"""Records of long runs on emulated cores: nothing in them is wrong, and none is of kernels that
have changed since.
"""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path

import pytest

from benchmarks import conformance_cores, equality, kernel_sources
from benchmarks.kernel_sources import is_of_today
from benchmarks.models import MODELS, TARGETS
from glowmcu.goals import Goal


def test_the_page_of_equality_is_what_was_recorded() -> None:
    rows = equality.stored()
    assert rows
    assert equality.PAGE.read_text(encoding="utf-8") == equality.page(rows)


def test_every_model_was_compared_on_every_core_by_every_goal() -> None:
    found = {(row.model, row.core, row.goal) for row in equality.stored()}
    wanted = {
        (m.name, target.core, goal.value) for m in MODELS for target in TARGETS for goal in Goal
    }
    assert wanted - found == set()


def test_no_model_differed_from_the_oracle() -> None:
    assert [row for row in equality.stored() if row.different] == []


def test_no_conformance_case_failed_on_a_core() -> None:
    results = conformance_cores.stored()
    assert set(results) == set(conformance_cores.CORES)
    assert all(sum(result.passed.values()) > 800 for result in results.values())
    failed = [
        f"{case} on {core}: {reason}"
        for core, result in results.items()
        for case, reason in result.others.items()
        if reason.startswith("failed")
    ]
    assert failed == []


def test_the_models_were_compared_with_the_kernels_of_today() -> None:
    stale = {row.core for row in equality.stored() if not is_of_today(row.kernels)}
    assert stale == set(), "kernels changed: run python -m benchmarks.equality"


def test_who_runs_the_tests_is_told_of_cases_that_ran_with_older_kernels() -> None:
    """No failure: the cases take a while, and all of them run on this computer anyway."""
    for core, result in conformance_cores.stored().items():
        if not is_of_today(result.kernels):
            command = f"python -m benchmarks.conformance_cores --core {core}"
            warnings.warn(f"cases ran with older kernels on {core}: run {command}", stacklevel=1)


def test_what_was_measured_before_a_file_was_added_is_of_today(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = {"a.h": "1", "b.h": "2"}
    monkeypatch.setattr(kernel_sources, "SOURCES_FILE", tmp_path / "sources.json")
    monkeypatch.setattr(kernel_sources, "kernel_sources", lambda: files)
    monkeypatch.setattr(kernel_sources, "kernel_sources_digest", lambda: "then")
    kernel_sources.list_sources()
    files = {**files, "new.h": "3"}
    assert is_of_today("then")
    assert not is_of_today("never")
    files = {"a.h": "1", "b.h": "4"}
    assert not is_of_today("then")
    files = {"a.h": "1"}
    assert not is_of_today("then")


def test_the_digest_of_kernels_does_not_see_comments_and_blanks() -> None:
    with_comment, without = "a /* b */\n  = 1;", "a=1;"
    seen = kernel_sources.visible(with_comment)
    assert seen == kernel_sources.visible(without) != kernel_sources.visible("a=2;")


def test_a_changed_file_concerns_the_variants_that_use_it_however_far_away() -> None:
    assert kernel_sources.variants_of({"glowmcu_lstm_dsp.h"}) == {"lstm.dsp"}
    assert kernel_sources.variants_of({"svdf_dsp.c.j2"}) == {"svdf.dsp"}
    assert kernel_sources.variants_of({"gone.h"}) == set()
    assert {"lstm.dsp", "svdf.dsp", "conv_2d.pointwise_dsp"} <= kernel_sources.variants_of(
        {"glowmcu_dsp.h"}
    )


def test_what_changed_since_a_record_is_told_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = {"a.h": "1", "b.h": "2", "c.h": "3"}
    monkeypatch.setattr(kernel_sources, "SOURCES_FILE", tmp_path / "sources.json")
    monkeypatch.setattr(kernel_sources, "kernel_sources", lambda: files)
    monkeypatch.setattr(kernel_sources, "kernel_sources_digest", lambda: "then")
    kernel_sources.list_sources()
    assert kernel_sources.changed_since("then") == set()
    assert kernel_sources.changed_since("never") is None
    files = {"a.h": "1", "b.h": "4", "new.h": "5"}
    assert kernel_sources.changed_since("then") == {"b.h", "c.h"}


@pytest.mark.parametrize(
    "module",
    [
        "conformance_cores", "equality", "fault_campaign", "foreign", "stack_table",
        "vector_coverage",
    ],
)  # fmt: skip
def test_asking_for_help_records_nothing(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = importlib.import_module(f"benchmarks.{module}")
    listed: list[str] = []
    monkeypatch.setattr(program, "list_sources", lambda: listed.append(module))
    monkeypatch.setattr("sys.argv", [module, "--help"])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 0
    assert "usage:" in capsys.readouterr().out
    assert not listed
