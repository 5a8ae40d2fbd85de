"""classical.md from classical.json: no figure in it is typed by hand."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.classical_cases import needs
from glowmcu.report.tables import count

EQUAL, NEARER, DIFFERS, REFUSED = "equal", "nearer", "differs", "refused"
NOT_WRITTEN, NO_RUNTIME = "not written", "not run"
OUTCOMES = {
    EQUAL: "the C gives what onnxruntime gives",
    NEARER: "rows of which it does not are nearer to the estimator's answers than onnxruntime's",
    DIFFERS: "it gives something else",
    REFUSED: "GlowMCU does not take the file",
    NO_RUNTIME: "onnxruntime does not run the file",
    NOT_WRITTEN: "the converter writes no file, or the estimator has none of this data",
}
RECORD = Path(__file__).resolve().parent / "classical.json"
PAGE = RECORD.with_suffix(".md")
_NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class Row:
    """One estimator on one set of data. `outcome` is one of the six above, `detail` why. `rows`
    were asked, `as_estimator` of them the C answers as the estimator itself does: labels exactly,
    numbers within a thousandth.
    """

    expression: str
    data: str
    options: str
    outcome: str
    detail: str = ""
    kernels: str = ""
    rows: int = 0
    as_estimator: int | None = None

    @property
    def name(self) -> str:
        """As a case is called."""
        return ", ".join(part for part in (self.expression, self.data, self.options) if part)

    @property
    def estimator(self) -> str:
        """The class, by the case of its defaults if that needs arguments."""
        by_case = {case.expression: name for name, case in needs().items()}
        found = _NAME.match(self.expression)
        return by_case.get(self.expression, found[0] if found else "")

    def became(self, outcome: str, detail: str) -> Row:
        """With its result."""
        return replace(self, outcome=outcome, detail=detail)


@dataclass(frozen=True)
class Size:
    """What a bundle of a usual estimator takes on a Cortex-M4; cycles are estimated."""

    expression: str
    data: str
    layers: int
    code_bytes: int | None
    constants_bytes: int
    arena_bytes: int
    cycles: int | None


@dataclass(frozen=True)
class Record:
    """Everything in classical.json."""

    versions: dict[str, str]
    sizes: list[Size]
    rows: list[Row]

    def write(self) -> None:
        """The record and its page."""
        lines = ",\n".join(f" {json.dumps(asdict(row))}" for row in self.rows)
        sizes = ",\n".join(f" {json.dumps(asdict(size))}" for size in self.sizes)
        RECORD.write_text(
            f'{{"versions": {json.dumps(self.versions)},\n"sizes": [\n{sizes}\n],\n'
            f'"rows": [\n{lines}\n]}}\n',
            encoding="utf-8",
        )
        PAGE.write_text(page(self), encoding="utf-8")


def record() -> Record:
    """What was measured."""
    if not RECORD.is_file():
        return Record({}, [], [])
    body = json.loads(RECORD.read_text(encoding="utf-8"))
    sizes = [Size(**size) for size in body["sizes"]]
    return Record(body["versions"], sizes, [Row(**row) for row in body["rows"]])


_HEAD = """# Estimators of scikit-learn, LightGBM and XGBoost

Written by `python -m benchmarks.classical --record` from `classical.json`; do not edit. Every
estimator of scikit-learn with its defaults, and with options that people use, fitted on half of a
bundled data set, written by skl2onnx or onnxmltools at their defaults, and asked about up to 40
rows of the other half, one by one. *Equal* is: the C gives onnxruntime's labels, and its real
numbers within 1e-5 of the largest.

With {versions}.

"""
_SIZES = """
## Size and speed

Of usual estimators at the compiler's defaults for an nRF52840 (Cortex-M4). Constants are what the
estimator learnt; of nearest neighbours and support vectors that is training data. Cycles are
estimated, and those of trees depend on the way through them.

"""


def page(found: Record) -> str:
    """The whole file."""
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    text = _HEAD.format(versions=versions)
    counts = Counter(row.outcome for row in found.rows)
    lines = [[name, meaning, count(counts[name])] for name, meaning in OUTCOMES.items()]
    lines.append(["", "all", count(len(found.rows))])
    text += _table(["outcome", "is", "cases"], lines)
    text += _SIZES + _table(
        ["estimator", "data", "layers", "code B", "constants B", "arena B", "k cycles"],
        [_size_cells(size) for size in found.sizes],
    )
    text += "\n## Equal\n\n" + _equal(found.rows)
    for outcome in (NEARER, DIFFERS, REFUSED, NO_RUNTIME, NOT_WRITTEN):
        chosen = [row for row in found.rows if row.outcome == outcome]
        if chosen:
            text += f"\n## {outcome.capitalize()}\n\n" + "".join(_bullets(chosen))
    return text + _unlike(found.rows)


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---" if name in ("outcome", "is", "estimator", "data") else "---:" for name in head]
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *lines))


def _size_cells(size: Size) -> list[str]:
    code = "-" if size.code_bytes is None else count(size.code_bytes)
    cycles = "-" if size.cycles is None else f"{size.cycles / 1e3:.1f}"
    return [
        f"`{size.expression}`", size.data, count(size.layers), code, count(size.constants_bytes),
        count(size.arena_bytes), cycles,
    ]  # fmt: skip


def _equal(rows: Sequence[Row]) -> str:
    cases = Counter(row.estimator for row in rows if row.outcome == EQUAL)
    names = sorted(cases, key=lambda name: (name.startswith("make_"), name.lower()))
    said = [f"{name} ({cases[name]})" if cases[name] > 1 else name for name in names]
    return "With the number of cases: " + ", ".join(said) + ".\n"


def _bullets(rows: Sequence[Row]) -> Iterator[str]:
    """Rows of one reason share a line."""
    lines: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        lines.setdefault((f"{row.as_estimator} of {row.rows}", row.detail), []).append(row)
    for (_, detail), same in lines.items():
        own = [row for row in same if row.outcome == NO_RUNTIME and row.as_estimator is not None]
        said = "".join(
            f"; the C gives the estimator's answers for {row.as_estimator} of {row.rows}"
            for row in own[:1]
            if all((one.rows, one.as_estimator) == (row.rows, row.as_estimator) for one in own)
        )
        yield f"- {'; '.join(f'`{row.name}`' for row in same)}: {detail}{said}\n"


def _unlike(rows: Sequence[Row]) -> str:
    """Cases whose file says something else than the estimator, for the C and onnxruntime alike."""
    unlike = [
        row for row in rows
        if row.outcome == EQUAL and row.as_estimator is not None and row.as_estimator < row.rows
    ]  # fmt: skip
    if not unlike:
        return ""
    text = (
        "\n## Equal to the file, and not to the estimator\n\n"
        "What the converter wrote says something else here than the estimator, by more than a\n"
        "thousandth, in onnxruntime and in C:\n\n"
    )
    return text + "".join(
        f"- `{row.name}`: {row.rows - row.as_estimator} of {row.rows} rows\n"
        for row in unlike
        if row.as_estimator is not None
    )
