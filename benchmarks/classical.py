"""What becomes of scikit-learn's, LightGBM's and XGBoost's estimators as C.

    python -m benchmarks.classical [--only TEXT] [--sizes] [--jobs N] [--record]

Needs scikit-learn and skl2onnx; LightGBM, XGBoost and onnxmltools for their part. Every estimator
is fitted on bundled data, written as ONNX, compiled, and its C asked on this computer, row by row,
what onnxruntime is asked: labels must be the same, real numbers within 1e-5. Results go to
classical.json, and so to classical.md, with --record.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import multiprocessing
import re
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import glowmcu
from benchmarks.classical_cases import Case, cases, usual_ones
from benchmarks.classical_data import Array, Data
from benchmarks.classical_models import answers, feeds, fitted, own_answers, written
from benchmarks.classical_page import (
    DIFFERS,
    EQUAL,
    NEARER,
    NO_RUNTIME,
    NOT_WRITTEN,
    REFUSED,
    Record,
    Row,
    Size,
    record,
)
from benchmarks.kernel_sources import kernel_sources_digest, list_sources
from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.ir.leeway import Run, leeway
from glowmcu.pipeline import compile_model
from glowmcu.string_categories import UNKNOWN, categories_of
from glowmcu.test_vectors import FLOAT_TOLERANCE
from glowmcu.verify.comparison import wrong_elements
from tests.support.one_unit import write_unit
from tests.support.quick_host import host_for

BOARD = "nrf52"
_PACKAGES = (
    "scikit-learn", "skl2onnx", "onnx", "onnxruntime", "onnxmltools", "lightgbm", "xgboost-cpu",
)  # fmt: skip
_TEXT = 160
#: What onnxruntime says in front of a message.
_OF_RUNTIME = re.compile(r"\w+: \[ONNXRuntimeError\] : \d+ : \w+ : |/\S*onnxruntime\S* ?")
#: By how much answers may be off that are called the estimator's.
_LIKE = 1e-3


def measure(case: Case) -> Row:
    """Any refusal is a result, too: of the converter, of onnxruntime, of the compiler."""
    warnings.simplefilter("ignore")
    row = Row(case.expression, case.data, case.options, "", kernels=kernel_sources_digest())
    try:
        model, data = fitted(case)
        file = written(model, case, data)
    except Exception as cause:  # noqa: BLE001
        return row.became(NOT_WRITTEN, _short(cause))
    refused = ""
    try:
        wanted = answers(file, data)
    except Exception as cause:  # noqa: BLE001
        refused, wanted = _short(cause), []
    try:
        done = compile_model(file, "m.onnx", Options("m", core="cortex-m4"))
    except GlowmcuError as refusal:
        text = "; ".join(dict.fromkeys(problem.message for problem in refusal.problems))
        return row.became(NO_RUNTIME if refused else REFUSED, refused or text)
    asked = _rows(done, feeds(data, [value.name for value in done.imported.arguments]))
    found = _run(file, done, asked)
    row = replace(row, rows=len(found), as_estimator=_like_estimator(done, found, model, data))
    if refused:
        return row.became(NO_RUNTIME, refused)
    wrong, detail = difference(done, asked, found, wanted)
    if not detail:
        return row.became(EQUAL, "")
    own = own_answers(model, data)
    places: dict[int, list[int]] = {}
    for at, index in wrong:
        places.setdefault(index, []).append(at)
    is_nearer = bool(wrong and own) and all(
        _is_nearer(
            [found[at][index] for at in rows], [wanted[at][index] for at in rows],
            [own[at] for at in rows], done.manifest.labels,
        )
        for index, rows in places.items()
    )  # fmt: skip
    return row.became(NEARER if is_nearer else DIFFERS, detail)


def measured_or_failed(case: Case) -> Row:
    """What goes wrong unforeseen is no reason not to try the others."""
    try:
        return measure(case)
    except Exception as cause:  # noqa: BLE001
        row = Row(case.expression, case.data, case.options, "", kernels=kernel_sources_digest())
        return row.became(DIFFERS, f"fails: {_short(cause)}")


def _is_nearer(
    found: Sequence[Array],
    other: Sequence[Array],
    own: Sequence[Sequence[Array]],
    labels: Sequence[str],
) -> bool:
    """Whether rows of an output are, in all, as near to what the estimator says as onnxruntime's:
    labels, or numbers.
    """

    def real(array: Array) -> Array:
        return _numbered(array, labels).reshape(-1).astype(np.float64)

    for part in range(len(own[0])):
        if own[0][part].size != found[0].size:
            continue
        want = np.array([real(row[part]) for row in own])
        far = [np.abs(np.array(list(map(real, rows))) - want).sum() for rows in (found, other)]
        if far[0] <= far[1]:
            return True
    return False


def _like_estimator(
    done: Compilation, found: Sequence[Sequence[Array]], model: Any, data: Data
) -> int | None:
    """Rows whose first result is the estimator's; None where the two have nothing in common."""
    labels, own = done.manifest.labels, own_answers(model, data)
    counts = []
    for part in range(len(own[0]) if own else 0):
        array = own[0][part]
        if array.size != found[0][0].size or (array.dtype.kind in "OUS" and not labels):
            continue
        counts.append(
            sum(
                not _wrong(
                    got[0].reshape(-1), _numbered(want[part], labels).reshape(-1), _LIKE
                ).any()
                for got, want in zip(found, own, strict=True)
            )
        )
    return max(counts, default=None)


def _short(cause: Exception) -> str:
    if type(cause).__name__ in ("MissingShapeCalculator", "MissingConverter"):
        return "no converter"
    words = _OF_RUNTIME.sub("", " ".join(f"{type(cause).__name__}: {cause}".split()))
    return words if len(words) <= _TEXT else words[: _TEXT - 1] + "…"


def _rows(done: Compilation, asked: Sequence[dict[str, Array]]) -> list[list[Array]]:
    """The C's inputs, strings as their numbers."""
    names = categories_of(done.imported.metadata)
    return [
        [
            _stored(given[value.name], names)
            .astype(value.type.element.numpy)
            .reshape(value.type.shape)
            for value in done.imported.arguments
        ]
        for given in asked
    ]


def _run(file: bytes, done: Compilation, rows: Sequence[Sequence[Array]]) -> list[list[Array]]:
    """The C's outputs for each row."""
    with tempfile.TemporaryDirectory() as work:
        folder = write_unit(done, Path(work))
        return [list(result.outputs) for result in host_for(file).run(folder, rows)]


def _stored(array: Array, names: Sequence[str]) -> Array:
    if array.dtype.kind != "O":
        return array
    found = [names.index(text) if text in names else UNKNOWN for text in array.reshape(-1)]
    return np.array(found).reshape(array.shape)


def difference(
    done: Compilation,
    asked: Sequence[Sequence[Array]],
    found: Sequence[Sequence[Array]],
    wanted: Sequence[Sequence[Array]],
) -> tuple[list[tuple[int, int]], str]:
    """Rows and outputs of which the C says something else, and the first in words; nothing where
    all is the same.
    """
    if len(found[0]) != len(wanted[0]):
        return [], f"{len(found[0])} outputs, expected {len(wanted[0])}"
    labels, places, text = done.manifest.labels, list[tuple[int, int]](), ""
    for index in range(len(wanted[0])):
        want = [_numbered(row[index], labels).reshape(-1) for row in wanted]
        got = [row[index].reshape(-1) for row in found]
        if got[0].size != want[0].size:
            return [], f"output {index} has {got[0].size} elements, expected {want[0].size}"
        wrong = _wrong_rows(done, asked, found, index, want)
        places += [(row, index) for row in wrong]
        if wrong and not text:
            first = wrong[0]
            place = int(_wrong(got[first], want[first], FLOAT_TOLERANCE).argmax())
            text = (
                f"output {index}: {len(wrong)} of {len(found)} rows, as {got[first][place]:.7g}, "
                f"expected {want[first][place]:.7g}"
            )
    return places, text


def _wrong_rows(
    done: Compilation,
    asked: Sequence[Sequence[Array]],
    found: Sequence[Sequence[Array]],
    index: int,
    want: Sequence[Array],
) -> list[int]:
    """Rows whose output is off by more than the tolerance, and than what rounding can do."""
    got = [row[index].reshape(-1) for row in found]
    wrong = [row for row in range(len(found)) if _wrong(got[row], want[row], FLOAT_TOLERANCE).any()]
    if not wrong or got[0].dtype != np.float32:
        return wrong
    left = leeway([Run(done.imported, asked[row], found[row]) for row in wrong])
    return [
        row for row, may in zip(wrong, left, strict=True)
        if _wrong(got[row], want[row], FLOAT_TOLERANCE, may[index]).any()
    ]  # fmt: skip


def _wrong(got: Array, want: Array, tolerance: float, may: float = 0.0) -> Array:
    """Integers are labels or counts, and exact."""
    if got.dtype.kind in "iub" and want.dtype.kind in "iub":
        return np.asarray(got != want)
    return wrong_elements(got.astype(np.float32), want.astype(np.float32), False, tolerance, may)


def _numbered(array: Array, labels: Sequence[str]) -> Array:
    """Names of classes as the bundle's indices."""
    if array.dtype.kind not in "OUS":
        return array
    numbers = {name: number for number, name in enumerate(labels)}
    return np.array([numbers.get(str(name), UNKNOWN) for name in array.reshape(-1)])


def size_of(case: Case) -> Size:
    """What a bundle at the compiler's defaults takes."""
    warnings.simplefilter("ignore")
    model, data = fitted(case)
    with tempfile.TemporaryDirectory() as work:
        bundle = glowmcu.compile(
            written(model, case, data), board=BOARD, name="m", output=Path(work) / "m"
        )
        manifest = bundle.manifest
        return Size(
            case.expression, case.data, len(manifest.layers), bundle.report.code_bytes,
            manifest.weights_bytes, manifest.arena_bytes, manifest.costs.cycles_estimate,
        )  # fmt: skip


def recorded(rows: Sequence[Row], sizes: Sequence[Size], is_all: bool) -> Record:
    """Results in the place of those before, of cases that there are."""
    old, known = record(), {case.name for case in cases()}
    found = {row.name: row for row in (*(() if is_all else old.rows), *rows)}
    found = {name: row for name, row in found.items() if name in known}
    versions = {name: _version(name) for name in _PACKAGES}
    return Record(versions, list(sizes) or old.sizes, list(found.values()))


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def _measured(wanted: Sequence[Case], jobs: int) -> Iterator[Row]:
    context = multiprocessing.get_context("spawn")
    with context.Pool(jobs, maxtasksperchild=40) as pool:
        yield from pool.imap(measured_or_failed, wanted)


def main() -> None:
    """Exit code 1 where something differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classical")
    parser.add_argument("--only", action="append", metavar="TEXT", help="cases with TEXT in them")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--record", action="store_true", help="write classical.json and its page")
    parser.add_argument("--sizes", action="store_true", help="only the sizes of usual ones")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = [
        case for case in cases()
        if not asked.sizes
        and (not asked.only or any(text in case.name for text in asked.only))
    ]  # fmt: skip
    rows = []
    for row in _measured(wanted, asked.jobs):
        rows.append(row)
        print(f"{row.outcome:12} {row.name}  {row.detail}", flush=True)
    if asked.record:
        sizes = [] if asked.only else [size_of(case) for case in usual_ones()]
        list_sources()
        recorded(rows, sizes, is_all=not (asked.only or asked.sizes)).write()
    raise SystemExit(any(row.outcome == DIFFERS for row in rows))


if __name__ == "__main__":
    main()
