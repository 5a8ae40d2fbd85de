"""Bundles keep MISRA C:2012's Mandatory and Required rules, but where the record says otherwise."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from benchmarks.ledger import read_ledger
from benchmarks.misra import DOCUMENT, LEDGER, PAGE, document, emitted, unexplained
from benchmarks.misra_bundles import bundles
from glowmcu.compilation import Options
from glowmcu.emit_c.constant_pool import ConstantPool
from glowmcu.emit_c.misra import RECORD_FILE, category, explains, places
from glowmcu.emit_c.misra_record import DEVIATIONS, DISAPPLIED
from glowmcu.input_options import InputOptions
from glowmcu.ir.kernel_code import ConstantArray
from glowmcu.pipeline import compile_model
from glowmcu.training import training_of
from tests.bundle.models import digits
from tests.support.kernel_files import header_paths
from tests.support.misra import Finding, findings

#: One for each form of code that the rest shares: streams and self tests, a core without DSP.
_QUICK = ("rows streamed, cortex-m4", "digits, cortex-m0plus")
_WORD = re.compile(r"[A-Za-z_]\w*")
_UNSEEN = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def _check(name: str, tmp_path: Path) -> list[Finding]:
    if shutil.which("cppcheck") is None:
        pytest.skip("needs cppcheck with its MISRA addon")
    checked = bundles()[name]
    return findings(checked.write(tmp_path / "net"), checked.core)


@pytest.mark.parametrize("name", _QUICK)
def test_every_finding_that_is_not_advisory_has_a_deviation(name: str, tmp_path: Path) -> None:
    found = _check(name, tmp_path)
    assert any(category(item.rule) == "Required" for item in found), "the addon did not run"
    assert unexplained(found) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in bundles() if name.startswith("digits") and name not in _QUICK]
)
def test_digits_keep_the_rules_on_every_core(name: str, tmp_path: Path) -> None:
    assert unexplained(_check(name, tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["learning last=2, cortex-m0plus", "open attention, cortex-m4", "a camera, cortex-m55"]
)
def test_what_options_add_keeps_the_rules(name: str, tmp_path: Path) -> None:
    assert unexplained(_check(name, tmp_path)) == []


def test_a_finding_elsewhere_is_not_explained() -> None:
    goto = Finding("15.2", "net.c", "goto end;")
    shift = Finding("10.1", "net.c", "x = a + b;")
    assert unexplained([goto, shift]) == [goto, shift]
    assert explains(DEVIATIONS, "10.1", "glowmcu_dsp.h", "return x >> 3;")


def test_only_advisory_rules_are_disapplied_and_no_mandatory_one_is_deviated_from() -> None:
    assert {category(item.rule) for item in DISAPPLIED} == {"Advisory"}
    assert "Mandatory" not in {category(item.rule) for item in DEVIATIONS}
    assert len({item.key for item in DEVIATIONS}) == len(DEVIATIONS)


def test_every_deviation_has_a_place_in_what_can_be_emitted() -> None:
    found = places(DEVIATIONS, emitted())
    assert [item.key for item in DEVIATIONS if item not in found] == []


def test_no_deviation_is_stale() -> None:
    """In the last run over all bundles, each explained a finding."""
    counts = dict(re.findall(r"^\| ([a-z0-9-]+) \| [\d.]+ \| (\d+) \|$", PAGE.read_text(), re.M))
    assert list(counts) == [item.key for item in DEVIATIONS]
    unseen = {item.key for item in DEVIATIONS if item.newer}
    assert {key for key, count in counts.items() if count == "0"} <= unseen


def test_every_bundle_was_looked_at() -> None:
    """`python -m benchmarks.misra --missing --page` looks at what is new."""
    assert read_ledger(LEDGER, {}).keys() == bundles().keys()


def test_the_page_is_what_the_record_says() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document()


def test_a_bundle_records_the_deviations_that_its_own_code_needs() -> None:
    files = compile_model(digits(), "digits.tflite", Options("net", core="cortex-m0plus")).files
    text = files[RECORD_FILE]
    assert "signed-shifts: Rule 10.1 (Required), deviation" in text
    assert "`glowmcu_requantize.h`" in text
    assert "vector-counts" not in text
    assert "_mve.h" not in text
    assert "| 12.1 |" in text


def test_names_in_headers_of_kernels_differ_within_31_characters() -> None:
    names = defaultdict(set)
    for path in header_paths().values():
        for word in _WORD.findall(_UNSEEN.sub("", path.read_text(encoding="utf-8"))):
            names[word[:31]].add(word)
    assert [sorted(same) for same in names.values() if len(same) > 1] == []


def test_external_names_of_constants_differ_within_31_characters() -> None:
    pool = ConstantPool("wake_word")
    arrays = [np.full(3, value, np.int8) for value in range(4)]
    words = ["features_operand_0", "features_operand_1", "features/operand 1", "\u00e9"]
    names = [
        pool.symbol(ConstantArray(word, array, ""), 11)
        for word, array in zip(words, arrays, strict=True)
    ]
    assert len({name[:31] for name in names}) == len(names)
    assert names[0] == "wake_word_w11_eatures_operand_0"


def test_names_of_a_bundle_that_learns_differ_within_31_characters() -> None:
    inputs = InputOptions(training=training_of("prototypes=5"))
    options = Options("digits", core="cortex-m4", inputs=inputs)
    files = compile_model(digits(), "digits.tflite", options).files
    found = re.findall(r"extern const \w+ (\w+)\[", files["digits_weights.h"])
    assert len(found) > 10
    assert len({name[:31] for name in found}) == len(found)
