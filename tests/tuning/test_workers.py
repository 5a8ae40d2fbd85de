"""Trials on a Dask cluster: the same outcome, whoever computes them and whoever is lost."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glowmcu.cli import main
from glowmcu.errors import GlowmcuError
from glowmcu.tuning.state_file import StateFile
from glowmcu.tuning.tuner import Settings, run_search
from glowmcu.tuning.workers import Task, Workers, read_workers, working
from tests.tuning.jobs import GESTURES, gesture_samples, small_job

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two processes, as on two computers."""
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(n_workers=2, processes=True, **options) as found:
        yield found


def _added(base: int, item: int) -> int:
    return base + item


def _same(base: int) -> int:
    return base


def _dies_once(marker: str, item: int) -> int:
    if item == 3 and not Path(marker).exists():
        Path(marker).write_text("", encoding="utf-8")
        os._exit(1)
    return item * item


def _as_it_is(marker: str) -> str:
    return marker


@pytest.mark.parametrize(
    ("text", "workers"),
    [
        (2, Workers(2)),
        ("3", Workers(3)),
        ("dask://10.0.0.5:8786", Workers(address="tcp://10.0.0.5:8786")),
        ("dask+tls://build-1:80", Workers(address="tls://build-1:80")),
    ],
)
def test_workers_are_a_number_or_a_scheduler(text: str | int, workers: Workers) -> None:
    assert read_workers(text) == workers


@pytest.mark.parametrize(
    "text", ["0", "-1", "two", "dask://host", "dask://a b:1", "tcp://h:1", "²"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(GlowmcuError, match=r"(?s)GM344.*dask://192\.168\.1\.5:8786"):
        read_workers(text)


def test_a_search_on_a_cluster_finds_what_one_process_finds(cluster: Any) -> None:
    here = run_search(small_job(), Settings(trials=20), StateFile(None, "key"))
    workers = Workers(address=cluster.scheduler_address)
    there = run_search(small_job(), Settings(trials=20, workers=workers), StateFile(None, "key"))
    assert there == here


@pytest.mark.parametrize("processes", [1, 2])
def test_processes_compute_all_items(processes: int) -> None:
    with working(Task(10, _same, _added), Workers(processes)) as compute:
        assert sorted(compute([1, 2, 3])) == [11, 12, 13]


def test_what_a_lost_worker_had_is_computed_by_another(cluster: Any, tmp_path: Path) -> None:
    marker = tmp_path / "died"
    task = Task(str(marker), _as_it_is, _dies_once)
    with working(task, Workers(address=cluster.scheduler_address)) as compute:
        assert sorted(compute(range(6))) == [0, 1, 4, 9, 16, 25]
    assert marker.exists()


def test_workers_of_another_version_are_named(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "9.9")
    with (
        pytest.raises(GlowmcuError, match=r"GM353.*glowmcu 9\.9: tcp://\S+ has glowmcu 0"),
        working(Task(1, _same, _added), Workers(address=cluster.scheduler_address)),
    ):
        pass


def test_a_cluster_without_workers_is_refused() -> None:
    options = {"dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=0, processes=False, **options) as empty,
        pytest.raises(GlowmcuError, match=r"GM353.*the scheduler has no workers"),
        working(Task(1, _same, _added), Workers(address=empty.scheduler_address)),
    ):
        pass


def test_the_command_names_a_scheduler_that_does_not_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = gesture_samples(tmp_path)
    call = ["tune", str(GESTURES), "--samples", str(samples), "--jobs", "dask://127.0.0.1:9"]
    assert main([*call, "-o", str(tmp_path / "tuned.json")]) == 2
    told = capsys.readouterr().err
    assert "error[GM353]: no Dask scheduler answers there" in told
    assert "dask worker tcp://127.0.0.1:9 --nthreads 1" in told
