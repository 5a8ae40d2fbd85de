"""Compile until code, constants and arena fit the board and the budgets, by what the cross compiler
makes of them if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from glowmcu.api.flash_advice import flash_advice, int8_advice
from glowmcu.board import Board, does_not_fit
from glowmcu.board.capacity import PLACED, CapacityCheck, RegionUse, check_regions
from glowmcu.board.placing import arena_region
from glowmcu.board.placing_auto import arena_room
from glowmcu.bundle import code_by_region
from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.goals import flash_budget_error
from glowmcu.manifest import BufferEntry, Manifest
from glowmcu.pipeline import emitted

#: Code is estimated first; if the compiler's is larger, kernels get this often less room.
_MOST_TRIES = 5
Compile = Callable[[Options], Compilation]
#: Bytes of code by region, None without a cross compiler.
Code = Mapping[str, int] | None


def compile_within(compiled: Compile, options: Options, board: Board) -> tuple[Compilation, Code]:
    """The compilation whose code, as compiled, is within the flash budget, and that code's sizes.

    Raises GM401 to GM403 for what does not fit; what would help with flash was tried.
    """
    try:
        return _within_budget(compiled, options, board)
    except GlowmcuError as cause:
        budget = options.budgets.flash_bytes
        if budget is None or cause.problems[0].code != "GM402":
            raise
        raise _with_ways(cause, compiled, options, board, budget) from cause


def _within_budget(compiled: Compile, options: Options, board: Board) -> tuple[Compilation, Code]:
    try:
        compilation = compiled(options)
    except GlowmcuError as cause:
        return _smallest(cause, compiled, options, board)
    result, code = _measured(compilation, board)
    if not result.fits:
        compilation = _smaller(compiled, options, board, compilation, result)
        code = _check_fit(compilation, board)
    budget = options.budgets.flash_bytes
    if budget is None or code is None:
        return compilation, code
    room = budget
    for rest in reversed(range(_MOST_TRIES)):
        flash_bytes = compilation.manifest.weights_bytes + sum(code.values())
        if flash_bytes <= budget:
            break
        room = room - flash_bytes + budget if rest else 1
        try:
            compilation = compiled(_with_flash(options, max(room, 1)))
        except GlowmcuError as cause:
            return _smallest(cause, compiled, options, board)
        code = _check_fit(compilation, board) or {}
    return compilation, code


def _smallest(
    cause: GlowmcuError, compiled: Compile, options: Options, board: Board
) -> tuple[Compilation, Code]:
    """What takes least by the estimate that `cause` refuses by, if as measured it is within budget.

    Raises GM402 with the measured size, a budget that is kept; other causes as they are.
    """
    budget, least = options.budgets.flash_bytes, _least_budget(cause)
    if budget is None or least is None:
        raise cause
    try:
        compilation = compiled(_with_flash(options, least))
    except GlowmcuError as other:
        if (_least_budget(other) or 0) <= least:
            raise
        return _smallest(other, compiled, options, board)  # rows, say, need other kernels
    code = _check_fit(compilation, board)
    constants = compilation.manifest.weights_bytes
    taken = least if code is None else constants + sum(code.values())
    if taken <= budget:
        return compilation, code
    takes = f"the smallest bundle that was found takes{' about' if code is None else ''}"
    where = cause.problems[0].where
    raise flash_budget_error(where, takes, taken, taken - constants, budget) from cause


def _with_flash(options: Options, flash_bytes: int) -> Options:
    asked = options.budgets.flash_bytes
    budgets = replace(options.budgets, flash_bytes=flash_bytes, flash_asked=asked)
    return replace(options, budgets=budgets)


def _least_budget(cause: GlowmcuError) -> int | None:
    """The budget that would do by GM402, None of other errors."""
    return cause.problems[0].flash_bytes


def _smaller(
    compiled: Compile, options: Options, board: Board, large: Compilation, result: CapacityCheck
) -> Compilation:
    """The fastest plan that the board has RAM for, with a note. Raises GM401 if there is none."""
    room = arena_room(board, arena_region(board, large.places))
    if (
        options.budgets.arena_bytes is not None
        or _constants_alone_exceed(large, board)  # no arena is small enough to mend that
        or room <= 0
        or large.manifest.arena_bytes <= room
    ):
        raise _too_large(compiled, options, board, large, result)
    budgets = replace(options.budgets, arena_bytes=room)
    try:
        small = compiled(replace(options, budgets=budgets))
    except GlowmcuError as least:
        # Says what the least is, since trying is no advice any more.
        tried = tuple(problem.message for problem in least.problems)
        raise _too_large(compiled, options, board, large, result, tried) from least
    slower = 100 * (small.estimated_cycles / max(large.estimated_cycles, 1.0) - 1)
    note = (
        f"{options.goal.value} needs an arena of {large.manifest.arena_bytes} B, more than "
        f"{board.name} has room for: this plan takes {small.manifest.arena_bytes} B and about "
        f"{slower:.0f} % more cycles"
    )
    return replace(small, notes=(*small.notes, note))


def _constants_alone_exceed(compilation: Compilation, board: Board) -> bool:
    """Whether the region that constants go to is smaller than they are, code apart."""
    manifest, usual = compilation.manifest, board.placement
    assert usual is not None
    elsewhere = any(entry.what == "weights" and entry.section for entry in manifest.placement)
    region = board.region(usual.constants)
    return not elsewhere and manifest.weights_bytes > region.size_bytes


def _too_large(
    compiled: Compile,
    options: Options,
    board: Board,
    large: Compilation,
    result: CapacityCheck,
    ram_options: Sequence[str] = (),
) -> GlowmcuError:
    """GM401 with what would help: with flash, what was tried and does."""
    flash_options: tuple[str, ...] = ()
    use = _flash_use(result)
    if use is not None and use.excess_bytes:
        taken, most = use.used_bytes, use.region.size_bytes

        def attempt(given: Options) -> int | None:
            fit, _ = _measured(compiled(given), board)
            other = _flash_use(fit)
            is_alone = all(each is other or not each.excess_bytes for each in fit.uses)
            # Where RAM was too small before, that is a problem of its own.
            is_fair = is_alone or any(each.excess_bytes for each in result.uses if each is not use)
            return other.used_bytes if other is not None and is_fair else None

        flash_options = int8_advice(large, taken, most) or flash_advice(
            attempt, options, taken, most, large.graph
        )
    peak = peak_description(large.manifest)
    return does_not_fit(result, ram_peak=peak, flash_options=flash_options, ram_options=ram_options)


def _flash_use(result: CapacityCheck) -> RegionUse | None:
    return next((use for use in result.uses if use.purpose == "flash"), None)


def _with_ways(
    cause: GlowmcuError, compiled: Compile, options: Options, board: Board, budget: int
) -> GlowmcuError:
    """GM402 with the options that keep the budget, in front of the budget that would do."""

    def attempt(given: Options) -> int | None:
        try:
            found, code = _within_budget(compiled, given, board)
        except GlowmcuError as larger:
            return _least_budget(larger)
        estimate = found.estimated_code_bytes if code is None else sum(code.values())
        return found.manifest.weights_bytes + estimate

    budgets = replace(options.budgets, flash_bytes=None)
    try:
        large = compiled(replace(options, budgets=budgets))
    except GlowmcuError:
        return cause  # of the arena's budget, say
    taken = large.manifest.weights_bytes + large.estimated_code_bytes
    ways = int8_advice(large, taken, budget) or flash_advice(
        attempt, options, min(taken, _least_budget(cause) or taken), budget, large.graph
    )
    first, *others = cause.problems
    hint = "; ".join((*ways, f"or {first.hint}"))
    return GlowmcuError([replace(first, hint=hint), *others], cause.exit_code)


def _check_fit(compilation: Compilation, board: Board) -> Code:
    """Bytes of code, None without a cross compiler.

    Raises GM401 when a region of the board is too small for what goes there.
    """
    result, code = _measured(compilation, board)
    if not result.fits:
        raise does_not_fit(result, ram_peak=peak_description(compilation.manifest))
    return code


def _measured(compilation: Compilation, board: Board) -> tuple[CapacityCheck, Code]:
    """Whether every region holds what goes there, by what the compiler makes of the code."""
    manifest = compilation.manifest
    with emitted(replace(compilation, files=_code_files(compilation))) as folder:
        code = code_by_region(folder, manifest, board)
    return _fit(compilation, board, code), code


def _code_files(compilation: Compilation) -> dict[str, str]:
    """The bundle's source and headers by file name: all that decides the size of its code."""
    manifest = compilation.manifest
    return {name: compilation.files[name] for name in (f"{manifest.name}.c", *manifest.headers)}


def _fit(compilation: Compilation, board: Board, code: Code) -> CapacityCheck:
    """Every region against what goes there; what is copied to RAM has its image in flash, too."""
    usual, manifest, places = board.placement, compilation.manifest, compilation.places
    if usual is None:
        return CapacityCheck(board, ())
    if code is None:
        code = {places.code: compilation.estimated_code_bytes}
    arena = arena_region(board, places)
    shares = arena.size_bytes - arena_room(board, arena)
    placed = [(region, size) for region, size in code.items() if region]
    placed += [
        (entry.region, entry.bytes or 0)
        for entry in manifest.placement
        if entry.what == "weights" and entry.section
    ]
    flash_bytes = manifest.weights_bytes + sum(code.values())
    flash_bytes -= sum(size for region, size in placed if board.region(region).kind == "flash")
    ram = ("RAM", arena.name, manifest.arena_bytes + shares)
    others = [(PLACED, region, size) for region, size in placed]
    return check_regions(board, [("flash", usual.constants, flash_bytes), ram, *others])


def peak_description(manifest: Manifest) -> str:
    """Where the arena is fullest: the step and the buffers alive in it."""
    steps = range(-1, len(manifest.layers) + 1)
    peak = max(steps, key=lambda step: (sum(b.bytes for b in _alive(manifest, step)), -step))
    names = ", ".join(f"{b.name[:40]} {b.bytes} B" for b in _alive(manifest, peak))
    if 0 <= peak < len(manifest.layers):
        return f"step {peak} {manifest.layers[peak].op} with {names}"
    return f"{'before the first' if peak < 0 else 'after the last'} step with {names}"


def _alive(manifest: Manifest, step: int) -> list[BufferEntry]:
    return [b for b in manifest.buffers if b.first_step <= step <= b.last_step]
