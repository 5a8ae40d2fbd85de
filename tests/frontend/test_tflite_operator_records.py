"""What importers of operators make of records in which one part is not as it should be."""

from __future__ import annotations

from collections.abc import Callable
from inspect import unwrap

import numpy as np
import pytest

from glowmcu.frontend.tflite.activation import import_relu6
from glowmcu.frontend.tflite.gather import expect_inside
from glowmcu.frontend.tflite.importer import load_importers
from tests.frontend.test_tflite_import import importing, operator, refused, tensor
from tests.frontend.tflite_cases import CASES
from tests.frontend.tflite_damage import report
from tests.frontend.tflite_programs import PROGRAMS
from tests.frontend.tflite_programs import report as report_of


def test_every_importer_has_a_case() -> None:
    importers = load_importers()
    graphs = [graph for program in PROGRAMS.values() for graph in (program, *program.others)]
    kinds = {case.kind for family in CASES.values() for case in family}
    kinds |= {step.kind for graph in graphs for step in graph.steps}
    assert {unwrap(importers[kind]) for kind in kinds} == set(map(unwrap, importers.values()))


@pytest.mark.parametrize("family", CASES)
def test_each_damage_of_an_operator_has_its_verdict(
    family: str, golden: Callable[[str, str], None]
) -> None:
    """Refused in its words, or the nodes that it means."""
    golden(f"operators/tflite/{family}.txt", "\n".join(map(report, CASES[family])))


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_damage_of_operators_together_has_its_verdict(
    name: str, golden: Callable[[str, str], None]
) -> None:
    golden(
        f"operators/tflite/together/{name.replace(' ', '_')}.txt", report_of(name, PROGRAMS[name])
    )


@pytest.mark.parametrize("point", [0, -3])
def test_a_clamp_of_bytes_without_a_scale_is_refused(point: int) -> None:
    """Six is no stored value of theirs."""
    scaled = tensor("x", 2, kind="INT8", scale=0.5, point=point)
    bare, out = tensor("x", 2, kind="INT8"), tensor("y", 2, kind="INT8", scale=0.5, point=point)
    state = importing(bare, out)
    state.graph_input(0)
    op = operator((0,), (1,), "RELU6")
    assert refused(import_relu6, state, op).startswith("GM105 RELU6 needs quantized")
    state = importing(scaled, out)
    state.graph_input(0)
    import_relu6(state, op)
    assert state.builder.nodes[-1].op.name == "clip"


def test_indices_of_no_axis_are_within_everything() -> None:
    state = importing(tensor("x", 2), tensor("at", 3, 0, kind="INT32", data=np.zeros((3, 0), "i4")))
    state.graph_input(0)
    op = operator((0, 1), (1,), "GATHER_ND")
    expect_inside(state, op, ())
    inside = importing(tensor("x", 2), tensor("at", 2, kind="INT32", data=np.int32([0, 1])))
    inside.graph_input(0)
    expect_inside(inside, op, (2,))
    assert refused(expect_inside, inside, op, (1,)) == "GM106 gather_nd: index [1] is outside [1]"
