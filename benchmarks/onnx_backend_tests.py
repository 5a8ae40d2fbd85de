"""Runs the ONNX project's backend tests and writes the count to docs/conformance.md.

    python benchmarks/onnx_backend_tests.py [--list VERDICT]

All tests of `onnx.backend.test` for the CPU but the "real" models, which would be downloaded.
`--list refused` also prints these tests with their reasons.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
if str(REPO) not in sys.path:
    sys.path.insert(0, str(REPO))

import onnx  # noqa: E402

from tests.support.document_section import replace_section  # noqa: E402
from tests.support.onnx_suite import (  # noqa: E402
    CATEGORIES,
    FAILS_ON_PURPOSE,
    SuiteOutcome,
    run_suite_test,
    suite_names,
)

DOCUMENT = REPO / "docs" / "conformance.md"


def section(outcomes: Sequence[SuiteOutcome]) -> str:
    """What the document says about the suite."""
    passed = sum(outcome.verdict == "passed" for outcome in outcomes)
    lines = [
        "## onnx.backend.test",
        "",
        f"{passed} of {len(outcomes)} of the ONNX project's own backend tests pass (onnx "
        f"{onnx.__version__}, CPU,",
        "all categories but the models that have to be downloaded). The rest is refused with a",
        "message, mostly for element types that no microcontroller kernel has (float16, double,",
        "strings, 4-bit floats). Reproduce: `python benchmarks/onnx_backend_tests.py`.",
        "",
        "| category | tests | passed | refused | failed |",
        "|---|--:|--:|--:|--:|",
    ]
    for category in sorted(CATEGORIES.values()):
        chosen = [outcome.verdict for outcome in outcomes if outcome.category == category]
        counts = [chosen.count(verdict) for verdict in ("passed", "refused", "failed")]
        lines.append(f"| {category} | {len(chosen)} | {' | '.join(map(str, counts))} |")
    failed = [outcome for outcome in outcomes if outcome.verdict == "failed"]
    lines += ["", *(f"- `{item.name}` fails: {item.reason}" for item in failed)]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", choices=["passed", "refused", "failed"], help="print these too")
    wanted = parser.parse_args().list
    warnings.simplefilter("ignore")
    with ProcessPoolExecutor() as pool:
        outcomes = list(pool.map(run_suite_test, suite_names(), chunksize=8))
    for outcome in outcomes:
        if outcome.verdict == wanted:
            print(f"{outcome.category} {outcome.name}: {outcome.reason}")
    text = section(outcomes)
    stored = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.is_file() else ""
    DOCUMENT.write_text(replace_section(stored, text), encoding="utf-8")
    print(text.splitlines()[2], file=sys.stderr)
    unexpected = [o for o in outcomes if o.verdict == "failed" and o.name not in FAILS_ON_PURPOSE]
    return int(bool(unexpected))


if __name__ == "__main__":
    sys.exit(main())
