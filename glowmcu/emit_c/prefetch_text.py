"""Weights that come in while the layer before runs, in C: what stands before a layer's call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from glowmcu.emit_c.c_text import wrap_call
from glowmcu.emit_c.layer_text import LayerText
from glowmcu.emit_c.views import StepView
from glowmcu.ir.graph import Node
from glowmcu.ir.kernel_code import KernelCode


class Coded(Protocol):
    """What was chosen for a node."""

    @property
    def code(self) -> KernelCode: ...


def with_prefetches(step: StepView, layer: LayerText, chosen: Mapping[Node, Coded]) -> StepView:
    """The step that waits for its own weights, and then lets those of the next one begin."""
    lines = [_wait(layer)] if layer.is_prefetched else []
    program = layer.program
    coming = program.prefetched.get(program.steps.index(layer.run))
    for run in program.runs if coming is not None else ():
        if run.scratch is coming:
            later = replace(layer, index=layer.index + 1, run=run, code=chosen[run.node].code)
            lines.append(_begin(later))
    return replace(step, call="\n".join([*lines, step.call])) if lines else step


def _wait(layer: LayerText) -> str:
    staged, parameters = layer.code.staged, layer.code.parameters
    assert staged is not None
    assert parameters is not None
    return wrap_call("GLOWMCU_PREFETCHED", layer.staged_arguments(staged, parameters), 4)


def _begin(layer: LayerText) -> str:
    staged = layer.code.staged
    assert staged is not None
    weights = f"p_{layer.label}.{staged.field}"
    given = [layer.staged_place(staged), weights, str(staged.size_bytes)]
    return wrap_call("glowmcu_prefetch", given, 4)
