"""Plans are verified in units of bytes that always go together: the verdict is that on bytes."""

from __future__ import annotations

import numpy as np
import pytest

import glowmcu.ir.program_machine
from glowmcu.compilation import Options
from glowmcu.ir.graph import VerificationError
from glowmcu.ir.program import Program
from glowmcu.ir.verify_program import verify_program
from glowmcu.lowering.passes import lower
from glowmcu.pipeline import compile_model, reference_graph
from tests.memplan.foreign_models import MODELS
from tests.memplan.streamed import program_of


def is_sound(program: Program, arena_bytes: int | None) -> bool:
    try:
        verify_program(program, arena_bytes)
    except VerificationError:
        return False
    return True


@pytest.mark.parametrize("name", ["two inputs", "squeeze and excite", "dense connections"])
def test_the_verdict_on_units_is_that_on_bytes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = compile_model(MODELS[name](), "m.tflite", Options("m")).plan
    random, verdicts = np.random.default_rng(1), list[bool]()
    arena_bytes = plan.arena_bytes + 256
    buffers = list(plan.program.lives)
    for _ in range(60):
        moved = buffers[random.integers(len(buffers))]
        place = int(random.integers(arena_bytes // moved.align)) * moved.align
        program = plan.program.with_offsets({**plan.program.offsets, moved: place})
        monkeypatch.setattr(glowmcu.ir.program_machine, "_MOST_UNIT_BYTES", 256)
        in_units = is_sound(program, arena_bytes)
        monkeypatch.setattr(glowmcu.ir.program_machine, "_MOST_UNIT_BYTES", 1)
        assert in_units == is_sound(program, arena_bytes)
        verdicts.append(in_units)
    assert 0 < sum(verdicts) < len(verdicts)


def test_few_tokens_stand_for_large_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(lower(reference_graph(MODELS["dense connections"](), "m.tflite")))
    sizes, full = [], np.full

    def watched(shape: int, *arguments: object) -> object:
        sizes.append(shape)
        return full(shape, *arguments)

    monkeypatch.setattr(glowmcu.ir.program_machine.np, "full", watched)
    verify_program(program)
    assert 0 < 4 * max(sizes) <= sum(buffer.size_bytes for buffer in program.lives)
