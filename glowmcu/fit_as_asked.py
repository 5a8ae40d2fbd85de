"""Kernels and plan of a model as its options ask for them: which fit is made, and what is done to
constants afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from glowmcu.board import Board, constant_waits, find_board
from glowmcu.board.placing import AUTO, room_for_arena
from glowmcu.board.placing_auto import is_slow
from glowmcu.compilation import Options, Prepared
from glowmcu.cores import core
from glowmcu.emit_c.sized_layers import SizedProgram
from glowmcu.errors import GlowmcuError
from glowmcu.goals import Goal
from glowmcu.interface_options import Weights
from glowmcu.ir.graph import Graph
from glowmcu.ir.kernel_code import Coding
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.memory_waits import MemoryWaits, memory_waits
from glowmcu.kernels.selection.known_costs import known_costs
from glowmcu.kernels.selection.select import Selection, code_bytes, over_flash_budget
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memory_fit import (
    FittedPlan,
    FlashSaver,
    FlashWaits,
    Partner,
    fit_in_steps,
    fit_memory,
    fit_on_board,
    in_dense_parts,
    pack_weights,
    quickest_on_board,
    stage_weights,
)
from glowmcu.planning_progress import PlanningWatch
from glowmcu.stack_use import KnownCosts

#: The least flash of kernels and plans for these goals is looked for.
_TRIED = (Goal.SIZE, Goal.BALANCED)
#: Of a budget of flash, what constants may take before they are coded, the least first.
_SHARES_OF_BUDGET = (1.0, 1.25, 1.5)
#: Weights of a part of a dense layer: as much scratch as a microcontroller has, or where the arena
#: has room for less than some times that.
_PART_BYTES, _SMALL_PART_BYTES, _ROOM_FOR_PARTS = 16384, 4096, 3
#: What an array that stays as it is could have saved of all flash, to be worth a note.
_WORTH_A_NOTE = 0.01


@dataclass(frozen=True, eq=False)
class Fitted:
    """A plan; of a model whose runs are given a size, what is one for every size besides. `notes`
    say what of the goal had to be left.
    """

    fit: FittedPlan
    sized: SizedProgram | None = None
    notes: tuple[str, ...] = ()


def fit_as_asked(
    model: Prepared, options: Options, streamed_input: str | None, planning: PlanningWatch
) -> Fitted:
    """Raises GM145, GM146, GM402, GM403, GM409, GM5xx."""
    return _Asked(model, options, streamed_input, planning).fitted()


@dataclass(frozen=True, eq=False)
class _Asked:
    model: Prepared
    options: Options
    streamed_input: str | None
    planning: PlanningWatch

    def fitted(self) -> Fitted:
        options, model = self.options, self.model
        why = _why_uncoded(options, model) if options.goal is Goal.FLASH else ""
        notes = (f"constants are stored as for --optimize size: {why}",) if why else ()
        if model.sizes is not None:
            from glowmcu.open_size.fit import fit_open

            target = self._target(options.goal)
            wanted = options.budgets, options.kernels, model.model_file
            return Fitted(*fit_open(model.sizes, target, *wanted), notes)
        if options.goal is Goal.FLASH and not why:
            return self._least_flash()
        if options.interface.cores == 1 and not options.interface.steps:
            fits = [self._finished(fit) for fit in self._on_board()]
            fit = quickest_on_board(fits, options.goal)
            return Fitted(fit, None, (*notes, *self._prefetch_notes(fit)))
        fit = self._plain(options.goal)
        if options.interface.cores > 1:
            from glowmcu.memory_fit.two_cores import share_between_cores

            free = options.kernels is None
            partner = _partner(options)
            shared = share_between_cores(fit, options.budgets, model.external, free, partner)
            return Fitted(shared, None, notes)
        return Fitted(fit, None, notes)

    def _on_board(self) -> list[FittedPlan]:
        """Plans of which the quickest on the board is taken once their constants are stored."""
        options, model = self.options, self.model
        target = self._target(options.goal)
        if target.waits is None:
            return [self._plain(options.goal)]
        return fit_on_board(
            model.lowered, target, options.budgets, self.streamed_input, model.external,
            self.planning,
        )  # fmt: skip

    def _finished(self, fit: FittedPlan) -> FittedPlan:
        """With four-bit weights packed and weights copied out of slow flash, where that pays."""
        options, model = self.options, self.model
        if "four_bit_weights" in model.said and options.interface.weights is Weights.LINKED:
            room = room_for_arena(options.placement, fit.arena_bytes)
            goal, budgets = options.goal, options.budgets
            fit = pack_weights(fit, goal, budgets, self.streamed_input, model.external, room)
        return self._staged(fit)

    def _prefetch_notes(self, fit: FittedPlan) -> tuple[str, ...]:
        """That no copy of weights begins early, where that was asked for."""
        if not self.options.interface.prefetch or fit.plan.program.prefetched:
            return ()
        return (
            "no weights are prefetched: they do not wait for flash where they lie, or no layer has "
            "room for them in the arena while the one before runs",
        )

    def _target(self, goal: Goal) -> Target:
        """With waits for the board's memories where they are to decide about kernels."""
        options = self.options
        board = options.placement.board or find_board(options.board)
        if options.kernels is not None or board.core != options.core:
            return Target(core(options.core), goal)
        return Target(core(options.core), goal, self._waits(board))

    def _waits(self, board: Board) -> MemoryWaits | None:
        """Of code and constants where the rules of placement leave them."""
        rules, usual = self.options.placement.rules, board.placement
        if usual is None:
            return None
        quick = AUTO in rules
        code, weights = rules.get("code", usual.code), rules.get("weights", usual.constants)
        return memory_waits(
            board,
            quick_code=(quick and bool(usual.fast_code)) or not is_slow(board, code),
            quick_constants=quick or not is_slow(board, weights),
        )

    def _plain(self, goal: Goal, graph: Graph | None = None) -> FittedPlan:
        """Constants as kernels store them."""
        options, model = self.options, self.model
        planned = fit_in_steps if options.interface.steps else fit_memory
        return planned(
            graph or model.lowered, self._target(goal), options.budgets, options.kernels,
            self.streamed_input, model.external, self.planning,
        )  # fmt: skip

    def _least_flash(self) -> Fitted:
        """A budget of flash is looked at when constants are coded. Raises GM402, GM403."""
        budgets = replace(self.options.budgets, flash_bytes=None)
        free = replace(self, options=replace(self.options, budgets=budgets))
        fits = free._fits()
        room = room_for_arena(self.options.placement, max(fit.arena_bytes for fit in fits))
        saver = FlashSaver(
            self.options.core, budgets, room, self.streamed_input, self.model.external
        )
        best = saver.best(fits)
        most = self.options.budgets.flash_bytes
        if most is not None and best.flash_bytes > most:
            slower = self._fits_of_any_time(most)
            fits += slower
            best = min((best, *map(saver.coded, slower)), key=_flash_bytes)
        if most is not None and best.flash_bytes > most:
            best = self._least_of_any_time(best, saver)
            raise over_flash_budget(
                self.model.lowered.name,
                best.flash_bytes,
                code_bytes(best.selections.values()),
                most,
            )
        plain = min((fit for fit in fits if fit.graph is best.graph), key=_flash_bytes)
        return Fitted(free._staged(best), None, _what_it_takes(best, plain, saver))

    def _fits(self) -> list[FittedPlan]:
        """Plans that are coded and compared: by two goals, with dense layers as they are and in
        parts that may be decoded one by one. Raises GM403 if there is none within the budget.
        """
        found, problems = [], []
        for graph in self._graphs():
            for goal in _TRIED:
                try:
                    found.append(self._plain(goal, graph))
                except GlowmcuError as cause:
                    problems.append(cause)
        if not found:
            raise problems[0]
        return found

    def _fits_of_any_time(self, most: int) -> list[FittedPlan]:
        """Plans with kernels however slow, that take no more than `most` bytes of flash as they
        are, or so little more that coding may make up for it.
        """
        found = []
        for graph in self._graphs():
            for share in _SHARES_OF_BUDGET:
                budgets = replace(self.options.budgets, flash_bytes=int(most * share))
                other = replace(self, options=replace(self.options, budgets=budgets))
                try:
                    found.append(other._plain(Goal.SIZE, graph))
                except GlowmcuError:
                    continue
                break
        return found

    def _least_of_any_time(self, best: FittedPlan, saver: FlashSaver) -> FittedPlan:
        """The least flash that can be had, below which no budget would find a plan."""
        while True:
            fits = self._fits_of_any_time(best.flash_bytes - 1)
            least = min((best, *map(saver.coded, fits)), key=_flash_bytes)
            if least.flash_bytes == best.flash_bytes:
                return best
            best = least

    def _graphs(self) -> list[Graph]:
        """Where somebody has chosen kernels for the layers, these stay as they are."""
        whole, options = self.model.lowered, self.options
        if options.kernels is not None:
            return [whole]
        rooms = [room_for_arena(options.placement, 0), options.budgets.arena_bytes]
        small = any(room is not None and room < _ROOM_FOR_PARTS * _PART_BYTES for room in rooms)
        parts = in_dense_parts(whole, _SMALL_PART_BYTES if small else _PART_BYTES)
        return [whole] if parts is whole else [whole, parts]

    def _staged(self, fit: FittedPlan) -> FittedPlan:
        """With weights copied to scratch where the board's flash makes the core wait for them,
        unless the user has placed them.
        """
        options = self.options
        rules = options.placement.rules
        board = options.placement.board or find_board(options.board)
        prefetch = options.interface.prefetch
        # All of them in one region may be where they wait.
        region = rules.get("weights") if prefetch else None
        waits = constant_waits(board, region)
        others = [rule for rule in rules if region is None or rule != "weights"]
        placed = AUTO in rules or any(rule.partition(":")[0] == "weights" for rule in others)
        if placed or waits is None or options.budgets.flash_bytes is not None:
            return fit
        room = room_for_arena(options.placement, fit.arena_bytes)
        return stage_weights(
            fit, options.goal, options.budgets, FlashWaits(*waits, prefetch), self.streamed_input,
            self.model.external, room,
        )  # fmt: skip


def costs_of(options: Options, cycles: float, selections: Iterable[Selection]) -> KnownCosts:
    """What is known of a bundle's costs, on both cores where another one shares its runs."""
    second = _partner(options).core if options.interface.cores > 1 else None
    name = "" if second is None else second.name
    return known_costs(options.core, options.goal, cycles, selections, name)


def _partner(options: Options) -> Partner:
    """The second core of the board, as far as it is another one than the first."""
    board = options.placement.board or find_board(options.board)
    second = board.second_core
    if second is None or board.core != options.core or board.clock_hz is None:
        return Partner()
    ratio = board.clock_hz / second.clock_hz
    other = None if second.core == board.core else core(second.core)
    return Partner(other, ratio, second.line_bytes)


def _why_uncoded(options: Options, model: Prepared) -> str:
    """Why no constants are coded; nothing if they may be."""
    if model.sizes is not None:
        return "each run is given a size"
    if options.interface.cores > 1:
        return "two cores read them at the same time"
    if options.interface.steps:
        return "a run that is done in steps would decode in one of them for long"
    if options.interface.weights is not Weights.LINKED:
        return "others that take their place need not be as short"
    return ""


def _what_it_takes(fit: FittedPlan, plain: FittedPlan, saver: FlashSaver) -> tuple[str, ...]:
    """Sentences: what decoding takes and saves, and the layers that stay as they are."""
    taken = [node for node, chosen in fit.selections.items() if _is_coded(chosen)]
    saved = plain.flash_bytes - fit.flash_bytes
    slower = fit.cycles / max(plain.cycles, 1.0)
    notes = []
    if taken:
        notes.append(
            f"constants of {len(taken)} layers are coded: about {saved} B of flash less than the "
            f"least without, {fit.arena_bytes} B of arena in place of {plain.arena_bytes} B, about "
            f"{slower:.2f} times the cycles"
        )
    left = {
        node: size
        for node, size in saver.could_save(fit).items()
        if size > _WORTH_A_NOTE * fit.flash_bytes
    }
    for node, size in sorted(left.items(), key=lambda item: -item[1]):
        notes.append(
            f'"{node.name}" keeps its constants as they are: decoded they would save {size} B of '
            "flash and need more of the arena than there is, or than that is worth"
        )
    if fit.cascaded:
        notes.append(
            f"{len(fit.cascaded)} layers hand on rows: theirs stay as they are, since each row "
            "would decode them again"
        )
    return tuple(notes)


def _is_coded(chosen: Selection) -> bool:
    staged = chosen.code.staged
    return staged is not None and staged.coding is not Coding.COPY


def _flash_bytes(fit: FittedPlan) -> int:
    return fit.flash_bytes
