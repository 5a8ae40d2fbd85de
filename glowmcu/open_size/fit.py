"""Kernels and one plan for all sizes, proved for each."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from glowmcu.emit_c.c_text import c_identifier
from glowmcu.emit_c.sized_codes import stored, trial_text
from glowmcu.emit_c.sized_layers import SizedProgram
from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.goals import Budgets, Goal
from glowmcu.ir.graph import Node, VerificationError
from glowmcu.ir.kernel_code import KernelCode
from glowmcu.ir.program import ARENA_ALIGN, Program, aligned
from glowmcu.ir.verify_program import verify_program
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.kernels.selection.select import Selection, select_kernels
from glowmcu.memory_fit.bodies import BodyPlanner
from glowmcu.memory_fit.fitted_plan import FittedPlan
from glowmcu.memory_fit.peak import over_arena_budget
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.planner import plan_memory
from glowmcu.open_size.graphs import OpenGraphs
from glowmcu.open_size.kernels import open_kernels
from glowmcu.open_size.programs import program_at

#: Names that the C around a layer has.
_TAKEN = frozenset({"a", "arena", "b", "crc", "p", "status", "wrong"})


def fit_open(
    graphs: OpenGraphs,
    target: Target,
    budgets: Budgets,
    choices: KernelChoices | None,
    file_name: str,
) -> tuple[FittedPlan, SizedProgram]:
    """A plan for the largest size in which every other one runs, too.

    No layers go row by row. Raises GM145, GM146, GM402, GM403 and what selection raises.
    """
    if target.goal is Goal.RAM:
        target = replace(target, goal=Goal.BALANCED)
    found = open_kernels(graphs, target, choices, file_name)
    chosen = select_kernels(graphs.largest, target, found.choices, budgets.flash_bytes)
    planner = BodyPlanner(target, graphs.largest.rounding)
    most = graphs.size.largest
    selections = planner.with_bodies(
        {node: _alone(one, found.codes[node][most]) for node, one in chosen.items()}
    )
    plan = plan_memory(build_program(graphs.largest, selections))
    fit = FittedPlan(selections, plan, graphs.largest)
    if budgets.arena_bytes is not None and fit.arena_bytes > budgets.arena_bytes:
        raise over_arena_budget(fit, budgets.arena_bytes)
    return fit, _sized(fit, graphs, found.codes, file_name)


def _alone(selection: Selection, code: KernelCode | None) -> Selection:
    """What may overlap at one size need not at another: results share bytes with no operand, but
    for those that are computed in place.
    """
    assert code is not None
    return replace(selection, code=replace(stored(code), overlaps={}))


def _sized(
    fit: FittedPlan,
    graphs: OpenGraphs,
    codes: Mapping[Node, Mapping[int, KernelCode | None]],
    file_name: str,
) -> SizedProgram:
    program, size = fit.plan.program, graphs.size
    programs: dict[int, Program] = {}
    by_step: dict[int, Sequence[KernelCode | None]] = {}
    for at in size.sizes:
        by_step[at] = [codes[run.node][at] for run in program.runs]
        programs[at] = program_at(program, graphs.largest, graphs.by_size[at], by_step[at])
        try:
            verify_program(programs[at], aligned(fit.plan.arena_bytes, ARENA_ALIGN))
        except VerificationError as cause:
            raise _unplanned(graphs, at, str(cause), file_name) from cause
    return SizedProgram(size, _variable(size.symbol, by_step[size.largest]), programs, by_step)


def _variable(symbol: str, codes: Collection[KernelCode | None]) -> str:
    """What the size is called in C: no name that a layer's code has."""
    name = c_identifier(symbol) or "size"
    texts = [trial_text(code) for code in codes if code and code.template and not code.is_shared]
    words = _TAKEN.union(*(re.findall(r"[A-Za-z_]\w*", text) for text in texts))
    return f"{name}_size" if name in words else name


def _unplanned(graphs: OpenGraphs, at: int, what: str, file_name: str) -> GlowmcuError:
    size = graphs.size
    return error(
        "GM146",
        f"the memory planned for {size.symbol}={size.largest} does not serve "
        f"{size.symbol}={at}: {what}",
        file_name,
        f"give a fixed size: --define {size.symbol}={size.largest}",
        ExitCode.UNSUPPORTED,
    )
