"""AddressSanitizer and UndefinedBehaviorSanitizer watch the generated C of every case and model.

The arena is one allocation of exactly the stated size; what is checked against are the same
outputs as without sanitizers.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from glowmcu.verify.host import Host
from tests.conformance.conftest import ALL_CASES
from tests.support.check_model import Array, expect_equal, random_inputs, write_bundle
from tests.support.conformance import Case, CompiledCase, by_model, compare, compile_case
from tests.support.generic_runner import GenericRunner, RunnerFailed, build_runner

#: Bundles of one executable: linking dominates below, and a failure is hard to find above.
BATCH = 24
MODELS = ("kws", "vww", "ic", "ad", "sww")

GROUPS = by_model(ALL_CASES)
BATCHES = [GROUPS[start : start + BATCH] for start in range(0, len(GROUPS), BATCH)]


@dataclass(frozen=True)
class Built:
    """A case's bundle that waits to be run."""

    case: Case
    bundle: Path
    compiled: CompiledCase


def _can_sanitize(work: Path) -> bool:
    source = work / "empty.c"
    source.write_text("int main(void) { return 0; }\n", encoding="utf-8")
    flags = ["-fsanitize=address,undefined", "-o", str(work / "empty")]
    return subprocess.run(["gcc", *flags, str(source)], check=False).returncode == 0


@pytest.fixture(scope="module", autouse=True)
def _sanitizers(tmp_path_factory: pytest.TempPathFactory) -> None:
    if not _can_sanitize(tmp_path_factory.mktemp("sanitizers")):
        pytest.skip("needs gcc with libasan and libubsan (Debian package libgcc-12-dev or newer)")


def _compiled(batch: list[list[Case]], work: Path) -> Iterator[Built]:
    for number, group in enumerate(batch):
        for rounding in group[0].roundings:
            name = f"c{number}_{rounding.value}"
            try:
                compiled = compile_case(group[0], rounding, name)
            except GlowmcuError:
                continue
            folder = write_bundle(compiled.compilation, work / name)
            for case in group:
                yield Built(case, folder, compiled)


@pytest.mark.slow
@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: batch[0][0].id)
def test_conformance_cases_are_clean_under_sanitizers(
    batch: list[list[Case]], tmp_path: Path
) -> None:
    built = list(_compiled(batch, tmp_path))
    if not built:
        pytest.skip("every case of this batch is refused")
    runner = build_runner(list(dict.fromkeys(item.bundle for item in built)), tmp_path)
    for item in built:
        (outputs,) = runner.run(item.bundle, [item.compiled.inputs(item.case)])
        for path, got in zip(item.case.outputs, outputs, strict=True):
            assert compare(got, np.load(path), item.case.compare) == "", item.case.id


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_shared_model_is_clean_under_sanitizers(
    name: str, shared_dir: Path, tmp_path: Path
) -> None:
    data = (shared_dir / "models" / f"{name}_int8.tflite").read_bytes()
    compilation = compile_model(data, f"{name}_int8.tflite", Options(name))
    folder = write_bundle(compilation, tmp_path / name)
    sets = random_inputs(compilation, 2)
    outputs = build_runner([folder], tmp_path).run(folder, sets)
    for got, plain in zip(outputs, Host().run(folder, sets), strict=True):
        for index, want in enumerate(plain.outputs):
            expect_equal(got[index], want, f"output {index}: sanitized against plain")
    (want,) = run_graph(compilation.imported, sets[0])
    expect_equal(outputs[0][0], want, "sanitized against the Python meaning")


# --- the watch itself ----------------------------------------------------------------------------


def _tampered(digits: Compilation, work: Path, before: str, after: str) -> tuple[Path, list[Array]]:
    folder = write_bundle(digits, work / "digits")
    source = folder / "digits.c"
    text = source.read_text(encoding="utf-8")
    assert before in text
    source.write_text(text.replace(before, after, 1), encoding="utf-8")
    return folder, random_inputs(digits, 1)[0]


@pytest.fixture(scope="module")
def digits() -> Compilation:
    file = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits_int8.tflite"
    return compile_model(file.read_bytes(), file.name, Options("digits"))


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("a[DIGITS_ARENA_BYTES] = 0;", "heap-buffer-overflow"),
        ("if (a[-1] == 0) { a[0] = 0; }", "heap-buffer-overflow"),
        ("a[0] = (int8_t)((2147483647 + a[0] * a[0]) >> 24);", "signed integer overflow"),
        ("a[0] = (int8_t)(1 << ((int)a[0] * 0 + 32));", "shift exponent 32"),
    ],
    ids=["one byte behind the arena", "one byte before the arena", "overflow", "shift by width"],
)
def test_a_fault_that_is_put_in_is_found(
    digits: Compilation, tmp_path: Path, statement: str, said: str
) -> None:
    before = "    GLOWMCU_STEP(1);"
    folder, arrays = _tampered(digits, tmp_path, before, f"    {statement}\n{before}")
    runner: GenericRunner = build_runner([folder], tmp_path)
    with pytest.raises(RunnerFailed, match=said):
        runner.run(folder, [arrays])
