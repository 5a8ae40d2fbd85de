"""Trials on a Dask cluster: the same outcome, whoever computes them and whoever is lost."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import differential, differential_page
from glowmcu.cli import main
from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.tuning import kernel_tuner
from glowmcu.tuning.kernel_cache import KernelCache
from glowmcu.tuning.kernel_tuner import KernelProgress, tune_kernels
from glowmcu.tuning.state_file import StateFile
from glowmcu.tuning.tuner import Settings, run_search
from glowmcu.tuning.workers import Task, Workers, read_workers, working
from glowmcu.verify.cortex_m import CortexM
from tests.support.quick_host import TCC
from tests.tuning.jobs import GESTURES, gesture_samples, small_job

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits_int8.tflite"
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


@pytest.mark.arm
@pytest.mark.skipif(CortexM("cortex-m4").missing() is not None, reason="needs a cross compiler")
def test_kernels_measured_on_a_cluster_are_those_measured_here(
    cluster: Any, tmp_path: Path
) -> None:
    data = DIGITS.read_bytes()
    here, there = KernelCache(tmp_path / "here"), KernelCache(tmp_path / "there")
    workers = Workers(address=cluster.scheduler_address)
    options = Options("m", core="cortex-m4")
    told: list[KernelProgress] = []
    one = tune_kernels(data, "m.tflite", options, here)
    other = tune_kernels(data, "m.tflite", options, there, told.append, workers=workers)
    assert one.cycles == other.cycles
    chosen = [
        {node.name: item.kernel_name for node, item in found.after.items()}
        for found in (one, other)
    ]
    assert chosen[0] == chosen[1]
    assert other.measured == one.measured > 5
    assert (told[0].done, told[-1].done) == (0, other.measured)
    # What was measured there is known here from now on.
    again = tune_kernels(data, "m.tflite", options, there, workers=workers)
    assert (again.measured, again.known) == (0, one.measured)
    assert again.cycles == one.cycles


@pytest.mark.arm
@pytest.mark.skipif(CortexM("cortex-m4").missing() is not None, reason="needs a cross compiler")
def test_what_was_measured_before_a_cluster_is_lost_is_not_measured_again(tmp_path: Path) -> None:
    data, cache = DIGITS.read_bytes(), KernelCache(tmp_path)
    options = Options("m", core="cortex-m4")
    told: list[KernelProgress] = []
    dask_options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(n_workers=1, processes=True, **dask_options) as lost:

        def watch(now: KernelProgress) -> None:
            told.append(now)
            if now.done:
                raise KeyboardInterrupt

        workers = Workers(address=lost.scheduler_address)
        with pytest.raises(KeyboardInterrupt):
            tune_kernels(data, "m.tflite", options, cache, watch, workers=workers)
    rest = tune_kernels(data, "m.tflite", options, cache)
    assert rest.known == told[-1].done > 0
    assert rest.measured + rest.known == told[-1].total


def test_a_worker_with_another_compiler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_tuner, "compiler_version", lambda: "gcc 12")
    kernel_tuner._expect_compiler("gcc 12", Workers(address="tcp://a:1"))
    with pytest.raises(GlowmcuError, match=r"(?s)GM353.*compiles with gcc 9, and here is gcc 12"):
        kernel_tuner._expect_compiler("gcc 9", Workers(address="tcp://a:1"))


@pytest.mark.skipif(shutil.which(TCC) is None, reason="apt-get install tcc")
def test_a_differential_on_a_cluster_records_what_processes_record(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tflite_micro", reason="pip install --pre tflite-micro")
    records = []
    for name, workers in (
        ("here", Workers(2)), ("there", Workers(address=cluster.scheduler_address)),
    ):  # fmt: skip
        monkeypatch.setattr(differential_page, "RECORD", tmp_path / f"{name}.json")
        monkeypatch.setattr(differential_page, "PAGE", tmp_path / f"{name}.md")
        monkeypatch.setattr(differential, "_BLOCKS_AT_ONCE", 2)
        (tmp_path / f"{name}.json").write_text(json.dumps({"next_seed": 10**9 + 101}))
        assert differential.search(0.0, workers, block_seeds=2) == 0
        records.append((tmp_path / f"{name}.json").read_text())
    assert records[0] == records[1]
    assert json.loads(records[0])["next_seed"] == 10**9 + 105
