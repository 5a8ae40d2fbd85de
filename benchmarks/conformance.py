"""Runs the conformance cases and writes docs/conformance.md: python benchmarks/conformance.py

`--check` writes nothing and exits 1 when the document is stale.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
if str(REPO) not in sys.path:
    sys.path.insert(0, str(REPO))

from benchmarks.conformance_cores import section as cores_section  # noqa: E402
from tests.support.conformance import (  # noqa: E402
    KINDS,
    Case,
    Outcome,
    by_model,
    read_cases,
    run_cases,
)
from tests.support.document_section import stored_section  # noqa: E402

DOCUMENT = REPO / "docs" / "conformance.md"
CASES = REPO.parent / "shared" / "cases"
_HEAD = """\
# Conformance

Models with inputs and outputs that others wrote, through the whole compiler: file, graph, kernels,
plan, C, this computer's C compiler, and every output compared as the case asks (`exact` for nearly
all int8 cases, the source's own tolerance for float). Written by `python
benchmarks/conformance.py`; do not edit.

| suite | what |
|---|---|
| cmsis_tflite | CMSIS-NN's unit-test data wrapped as models of one operator |
| tflm_seanet | TensorFlow Lite Micro's tests of the layers of one model with int16 activations |
| mlonmcu | whole models |
| glow_tflite | the models of Glow's TFLite importer tests: float, one operator each |
| onnx_node | node tests of the ONNX project, as far as they suit a microcontroller |
| onnx_pytorch_converted, onnx_pytorch_operator | models of the ONNX project's tests by PyTorch |
| onnx_simple | further models of the ONNX project's tests |
| onnx_old_opset, onnx2c_local_ops | models with old opsets, and onnx2c's own operator tests |

Many ONNX cases hand in shapes, axes or weights as inputs. What the compiler has to know beforehand
is bound to the case's value, as `--bind axes=axes.npy` does for a user; everything else stays an
input of the generated C. The last column counts these cases.

"""

_KINDS = {
    "int8": "int8 TFLite (int4 weights too)",
    "float": "float TFLite",
    "onnx": "ONNX",
    "int16": "int16 TFLite",
}
_RULE = "|---|--:|--:|--:|--:|--:|--:|"


def render_document(cases: Sequence[Case], outcomes: Sequence[Outcome], other: str = "") -> str:
    """The document: totals, a table a suite, and every case that did not pass with its reason.

    `other` is the stored section of another script; it stays.
    """
    verdicts = {outcome.case_id: outcome for outcome in outcomes}
    parts = [_HEAD, _totals(cases, verdicts)]
    if on_cores := cores_section():
        parts.append(on_cores)
    if other:
        parts.append(other)
    for suite in sorted({case.suite for case in cases}):
        parts.append(_suite(suite, [case for case in cases if case.suite == suite], verdicts))
    parts.append(_reasons(cases, verdicts))
    return "\n".join(parts)


def _count(cases: Sequence[Case], verdicts: dict[str, Outcome], verdict: str) -> int:
    return sum(verdicts[case.id].verdict == verdict for case in cases)


def _row(title: str, cases: Sequence[Case], verdicts: dict[str, Outcome]) -> str:
    counts = [_count(cases, verdicts, verdict) for verdict in ("passed", "refused", "failed")]
    share = f"{100 * counts[0] / len(cases):.1f} %"
    bound = sum(bool(verdicts[case.id].bound) for case in cases)
    return f"| {title} | {len(cases)} | {' | '.join(map(str, counts))} | {share} | {bound} |"


def _table(rows: Sequence[str], heading: str) -> str:
    lines = [f"| {heading} | cases | passed | refused | failed | share | bound |", _RULE, *rows]
    return "\n".join(lines) + "\n"


def _totals(cases: Sequence[Case], verdicts: dict[str, Outcome]) -> str:
    rows = []
    for kind, title in _KINDS.items():
        chosen = [case for case in cases if case.kind == kind]
        if chosen:
            rows.append(_row(title, chosen, verdicts))
    return _table(rows, "kind")


def _suite(suite: str, cases: Sequence[Case], verdicts: dict[str, Outcome]) -> str:
    rows = []
    for operator in sorted({case.operator for case in cases}):
        for kind in KINDS:
            chosen = [c for c in cases if c.operator == operator and c.kind == kind]
            title = operator if kind in ("int8", "onnx") else f"{operator}, {kind}"
            if chosen:
                rows.append(_row(title, chosen, verdicts))
    return f"## {suite}\n\n" + _table(rows, "operator")


def _reasons(cases: Sequence[Case], verdicts: dict[str, Outcome]) -> str:
    lines = ["## What did not pass, and why", "", "| case | types | verdict | reason |"]
    lines.append("|---|---|---|---|")
    for case in sorted(cases, key=lambda case: (KINDS.index(case.kind), case.id)):
        outcome = verdicts[case.id]
        if outcome.verdict != "passed":
            reason = outcome.reason.replace("|", "\\|")
            types = "int8" if case.kind == "int8" else ", ".join(case.dtypes)
            lines.append(f"| {case.id} | {types} | {outcome.verdict} | {reason} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit 1 when stale, write nothing")
    check = parser.parse_args().check
    if not CASES.is_dir():
        print(f"needs the cases in {CASES}", file=sys.stderr)
        return 2
    cases = read_cases(CASES)
    with ProcessPoolExecutor() as pool:
        found = pool.map(run_cases, by_model(cases), chunksize=4)
        outcomes = [outcome for outcomes in found for outcome in outcomes]
    stored = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.is_file() else ""
    text = render_document(cases, outcomes, stored_section(stored))
    if check:
        return int(stored != text)
    DOCUMENT.write_text(text, encoding="utf-8")
    print(DOCUMENT.relative_to(REPO))
    return 0


if __name__ == "__main__":
    sys.exit(main())
