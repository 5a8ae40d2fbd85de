"""The step with the most alive: what is around it, and which kernels could take less there."""

from __future__ import annotations

from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.graph import Node
from glowmcu.ir.program import Program, Run, Step
from glowmcu.kernels.selection.select import Selection
from glowmcu.memory_fit.fitted_plan import FittedPlan
from glowmcu.memplan.planner import aligned


def around_peak(item: FittedPlan) -> list[Node]:
    """The layers that run at the peak, right before and right after it."""
    steps, ends = item.plan.program.steps, tops(item.plan.program)
    peak = max(range(len(ends)), key=lambda step: (ends[step], -step), default=0)
    near = steps[max(peak - 1, 0) : peak + 3]
    return [step.node for step in near if not isinstance(step, Cascade)]


def less_scratch(item: FittedPlan, budget: int) -> dict[str, int]:
    """New limits by node name for kernels of steps that reach beyond the budget.

    In a cascade those count whose turn has the most in it, since one turn's bytes are another's.
    """
    limits = {}
    for step, top in zip(item.plan.program.steps, tops(item.plan.program), strict=True):
        if top <= budget:
            continue
        is_cascade = isinstance(step, Cascade)
        runs = step.runs if isinstance(step, Cascade) else (step,)
        beside = {run: _single_rows_bytes(step, run) for run in runs}
        turns = {run: beside[run] + _scratch_bytes(run) for run in runs}
        most = max(turns.values()) - (top - budget)
        for run in runs:
            chosen, now = item.selections[run.node], _scratch_bytes(run)
            least = _least_scratch(chosen, is_cascade)
            if turns[run] > most and least < now:
                limits[run.node.name] = max(min(most - beside[run], now - 4), least)
    return limits


def _single_rows_bytes(step: Step, run: Run) -> int:
    """Rows that come and go in a cascade, of what a run reads and writes."""
    if not isinstance(step, Cascade):
        return 0
    local = {*step.locals}
    rows = [buffer for buffer in (*run.inputs, *run.outputs) if buffer in local]
    return sum(buffer.size_bytes for buffer in rows if buffer.type.shape[1] == 1)


def _least_scratch(chosen: Selection, by_rows: bool) -> int:
    if by_rows:
        return chosen.row_kernel.least_scratch_bytes if chosen.row_kernel else 0
    return min((cost.scratch_bytes for _, cost in chosen.alternatives), default=0)


def _scratch_bytes(run: Run) -> int:
    return run.scratch.size_bytes if run.scratch is not None else 0


def tops(program: Program) -> list[int]:
    """The highest byte that is alive at each step."""
    found = [0] * len(program.steps)
    for buffer, life in program.lives.items():
        end = program.offsets[buffer] + aligned(buffer.size_bytes)
        for step in range(max(life.first, 0), min(life.last + 1, len(found))):
            found[step] = max(found[step], end)
    return found


def over_arena_budget(least: FittedPlan, budget: int) -> GlowmcuError:
    """GM403 with the layer at the peak; a model whose outputs are its inputs has no layer."""
    program = least.plan.program
    ends = tops(program)
    where = "inputs and outputs alone need that"
    if ends:
        peak = max(range(len(ends)), key=lambda step: (ends[step], -step))
        step = program.steps[peak]
        node = (step.runs[0] if isinstance(step, Cascade) else step).node
        where = f'the peak is step {peak}, {node.op.name} "{node.name}"'
    return error(
        "GM403",
        f"the arena budget is {budget} B, {least.arena_bytes} B are the least that was found",
        where,
        f"give at least --arena-budget {least.arena_bytes}, or make this layer's tensors smaller "
        "in the model",
        ExitCode.DOES_NOT_FIT,
    )
