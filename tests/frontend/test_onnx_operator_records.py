"""What importers of operators make of nodes in which one part is not as it should be."""

from __future__ import annotations

from collections.abc import Callable
from inspect import unwrap

import pytest

from glowmcu.frontend.onnx.importer import load_importers
from tests.frontend.onnx_cases import CASES
from tests.frontend.onnx_damage import report


def test_every_importer_has_a_case() -> None:
    importers = load_importers()
    cases = [case for family in CASES.values() for case in family]
    known = {unwrap(importers[case.domain, case.kind]) for case in cases}
    assert known == set(map(unwrap, importers.values()))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("family", CASES)
def test_each_damage_of_an_operator_has_its_verdict(
    family: str, golden: Callable[[str, str], None]
) -> None:
    """Refused in its words, or the nodes that it means."""
    golden(f"operators/onnx/{family}.txt", "\n".join(map(report, CASES[family])))
