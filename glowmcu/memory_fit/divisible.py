"""Ways to share a layer between two cores: what each allows of memory, and what it takes.

A way is an `Overlap` that the planner may use, room in a stash, and cycles. Which rows a core then
has follows from the offsets (`memplan/divide_rows.py`): a way is good for the offsets it allows.
Of a second core that is another one, `Partner` says how much slower it computes a layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property

from glowmcu.errors import GlowmcuError
from glowmcu.ir.division import Division, Phase
from glowmcu.ir.instructions import Buffer, Run, aligned
from glowmcu.ir.kernel_code import KernelCode, Overlap, RowRule
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.kernels.selection.pieces import band_code, channel_codes
from glowmcu.kernels.selection.row_kernels import row_rules
from glowmcu.kernels.selection.select import Selection
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memory_fit.partner import Partner, best_split
from glowmcu.memplan.divide_rows import (
    Costs,
    Layout,
    Operand,
    best_phases,
    one_phase,
    share,
    stash_range,
    walk,
    with_stash,
)

#: Cycles of a meeting, and of a call beside what it computes; layers of fewer stay whole.
MEETING_CYCLES, CALL_CYCLES, LEAST_CYCLES = 60.0, 150.0, 1200.0
#: A division that saves less of a layer than this is not worth its memory.
_LEAST_GAIN = 0.05
#: Kernels with less scratch are tried if they take at most 1.7 times the cycles.
_MOST_SLOWDOWN = 1.7
#: Rows that a stash may have.
_MOST_STASHED = 8
#: How many rows lower than it must a result may begin, so that a walk takes larger strides.
_LOWER_ROWS = (0, 1, 2, 3, 4, 6, 8)


@dataclass(frozen=True, eq=False)
class Way:
    """`overlaps` by position are what the plan may use; without `is_divided` the layer is whole."""

    layer: Divisible
    cycles: float
    overlaps: Mapping[int, Overlap]
    stash_units: int = 0
    is_divided: bool = True


@dataclass(frozen=True, eq=False)
class Divisible:
    """A layer that two cores can share. `rules` are of its inputs, `codes` of its pieces."""

    run: Run
    chosen: Selection
    units: int
    rules: tuple[RowRule | None, ...]
    codes: Mapping[tuple[int, int], KernelCode] = field(default_factory=dict)
    #: Where pieces meet that are layers of their own, else 0.
    split: int = 0
    partner: Partner = field(default_factory=Partner)
    _bands: dict[tuple[int, int, int], KernelCode | None] = field(default_factory=dict)

    @property
    def unit_bytes(self) -> int:
        return self.run.outputs[0].size_bytes // self.units

    @property
    def costs(self) -> Costs:
        cycles, output = self.chosen.cost.cycles, self.run.node.signature.output
        pixels = 2 if self.codes else output.shape[2]
        shown = self.partner.cycles_to_show(self.run)
        return Costs(
            cycles / self.units, CALL_CYCLES, MEETING_CYCLES, pixels, self.slower, shown
        )  # fmt: skip

    @cached_property
    def slower(self) -> float:
        """How many times as long the second core takes."""
        return self.partner.slower(self.chosen)

    @cached_property
    def line_at(self) -> int:
        """Bytes of the result before the second core's, where a line should begin."""
        line = self.partner.line_bytes
        if line == 1:
            return 0
        split = self.split or best_split(self.units, self.unit_bytes, self.slower, line)
        return split * self.unit_bytes

    def layout(self, gaps: tuple[int | None, ...], line_offset: int | None = None) -> Layout:
        """The layer where its operands lie so far from its result, which begins so far into a line,
        unless that is given where it is best.
        """
        line = self.partner.line_bytes
        offset = -self.line_at % line if line_offset is None else line_offset
        operands = tuple(
            Operand(rule, buffer.size_bytes)
            for rule, buffer in zip(self.rules, self.run.inputs, strict=True)
        )
        return Layout(
            self.units, self.unit_bytes, operands, gaps, self.split, self.slower, line, offset
        )

    def promises(self, first: int, end: int, number: int, gap: int) -> bool:
        """Whether units may be written while operand `number` is read, so far above them."""
        rule = self.promise(first, end).get(self.run.positions[number])
        return rule is not None and rule.is_kept(gap)

    def promise(self, first: int, end: int) -> Mapping[int, Overlap]:
        """By operand position, the bytes that a call for units [first, end) may share with it."""
        if self.codes:
            code = self.codes.get((first, end))
            return {} if code is None else code.overlaps
        if self.chosen.kernel.rows_overlap_as_layers:
            return dict(self._as_layer(first))
        band = self._band(first, end)
        return {} if band is None else band.overlaps

    def _as_layer(self, first: int) -> Iterator[tuple[int, Overlap]]:
        """The whole layer's promise, for a call from row `first` on: its operand and result begin
        later, each by the rows before them.
        """
        for number, position in enumerate(self.run.positions):
            whole, rule = self.chosen.code.overlaps.get(position), self.rules[number]
            if whole is None or rule is None:
                continue
            pitch = self.run.inputs[number].size_bytes // rule.rows
            nearer = first * self.unit_bytes - rule.first(first) * pitch
            ends = (
                None if gap is None else gap - nearer
                for gap in (whole.least_gap_bytes, whole.only_gap_bytes)
            )
            yield position, Overlap(*ends)

    def _band(self, first: int, end: int) -> KernelCode | None:
        """The same kernel's code for rows [first, end), made once for bands with equal borders."""
        rules = [rule for rule in self.rules if rule is not None]
        rule = rules[0]
        above = max(rule.before - first * rule.stride, 0)
        below = max((end - 1) * rule.stride - rule.before + rule.extent - rule.rows, 0)
        key = above, below, end - first
        if key not in self._bands:
            assert self.chosen.site is not None and self.chosen.target is not None
            code = band_code(
                self.chosen.kernel, self.chosen.site, self.chosen.target, rules, first, end
            )
            self._bands[key] = code if code is None or _alike(code, self.chosen.code) else None
        return self._bands[key]

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """The quickest first; the last one leaves the layer whole."""
        whole = Way(self, self.chosen.cost.cycles, self.run.overlaps, 0, False)
        worth = (1 - _LEAST_GAIN) * whole.cycles
        found = sorted(self._divided(), key=lambda way: (way.cycles, way.stash_units))
        return (*(way for way in found if way.cycles < worth), whole)

    def _divided(self) -> Iterator[Way]:
        count = len(self.run.inputs)
        free = one_phase(self.layout((None,) * count), self.promises)
        if free is None:
            assert not self.partner.is_alike, "halves of a layer need each other"
            return
        cycles = self.costs.of(free)
        overlaps = dict(self._in_place())
        yield Way(self, cycles, overlaps)
        if count > 1 or self.codes:
            return
        position = self.run.positions[0]
        for gap in self._gaps():
            phases = with_stash(self.layout((gap,)), self.promises, _MOST_STASHED)
            if phases is not None and not overlaps:
                first, end = stash_range(phases)
                gaps = {position: Overlap(None, gap)}
                yield Way(self, self.costs.of(phases), gaps, end - first)
        yield from self._walks(position)

    def _walks(self, position: int) -> Iterator[Way]:
        """Ever lower results, as long as a walk becomes quicker by that."""
        rule = self.run.overlaps.get(position)
        if rule is None or rule.least_gap_bytes is None:
            return
        least, quickest = aligned(rule.least_gap_bytes), float("inf")
        step = aligned(self.unit_bytes)
        for rows in _LOWER_ROWS:
            gap = self._reached(least + rows * step)
            phases = walk(self.layout((gap,)), self.promises, self.costs)
            if phases is None:
                continue
            cycles = self.costs.of(phases)
            if cycles < quickest:
                quickest = cycles
                yield Way(self, cycles, {position: Overlap(gap)})

    def _gaps(self) -> list[int]:
        """Distances at which a result may lie in the operand, as high as it goes."""
        rule = self.run.overlaps.get(self.run.positions[0])
        if rule is None:
            return []
        found = [rule.only_gap_bytes] if rule.only_gap_bytes is not None else []
        if rule.least_gap_bytes is not None:
            found.append(self._reached(aligned(rule.least_gap_bytes)))
        return [gap for gap in dict.fromkeys((*found, 0)) if rule.is_kept(gap) and gap % 4 == 0]

    def _reached(self, gap: int) -> int:
        """The least distance from there on at which an operand lies that begins with a line."""
        line = self.partner.line_bytes
        lead = -self.line_at % line
        return aligned(gap + lead, line) - lead

    def _in_place(self) -> Iterator[tuple[int, Overlap]]:
        """Operands of which the halves may be overwritten where they are."""
        count = len(self.run.inputs)
        for number, position in enumerate(self.run.positions):
            rule = self.run.overlaps.get(position)
            gaps = tuple(0 if other == number else None for other in range(count))
            if rule is None or not rule.is_kept(0):
                continue
            if one_phase(self.layout(gaps), self.promises) is not None:
                yield position, Overlap(None, 0)

    def divided_run(self, way: Way) -> Run:
        """The run for the planner: with memory for the second core and for the stash."""
        scratch = self.run.scratch
        second = None if scratch is None else Buffer(f"{scratch.name} of core 1", scratch.type)
        stash = None
        if way.stash_units:
            size = way.stash_units * self.unit_bytes
            stash = Buffer(f"{self.run.node.name}/stash", TensorType((size,), ElementType.I8))
        division = Division(
            self.units, self.rules, (), second, stash, codes=self.codes, line_at=self.line_at
        )
        return replace(self.run, division=division, overlaps=way.overlaps, rows=None)

    def phases(
        self, gaps: tuple[int | None, ...], stash_units: int, line_offset: int
    ) -> tuple[Phase, ...] | None:
        """The quickest way at these offsets."""
        layout = self.layout(gaps, line_offset)
        return best_phases(layout, self.promises, stash_units, self.costs)


def divisible(run: Run, chosen: Selection, partner: Partner | None = None) -> Divisible | None:
    """The layer as two cores can share it; None if they cannot, or if it is too small."""
    partner = partner or Partner()
    if chosen.site is None or chosen.target is None or chosen.bodies:
        return None
    if chosen.cost.cycles < LEAST_CYCLES or len(run.outputs) > 1 or not run.inputs:
        return None
    found = _by_rows(run, chosen, partner)
    found = found if found is not None else _by_channels(run, chosen, partner)
    return found if found is not None and _is_aligned(found) else None


def _is_aligned(found: Divisible) -> bool:
    """Whether rows begin where kernels may read and write."""
    codes = (found.chosen.code, *found.codes.values())
    align = max(code.operand_align for code in codes)
    pitches = [
        buffer.size_bytes // rule.rows
        for buffer, rule in zip(found.run.inputs, found.rules, strict=True)
        if rule is not None
    ]
    return not any(size % align for size in (found.unit_bytes, *pitches))


def _alike(band: KernelCode, whole: KernelCode) -> bool:
    """Whether the walk over a band is the whole layer's: loops may be unrolled for their layer."""
    structs = [code.parameters and code.parameters.struct for code in (band, whole)]
    return (band.template, structs[0]) == (whole.template, structs[1])


def _by_rows(run: Run, chosen: Selection, partner: Partner) -> Divisible | None:
    code, output = chosen.code, run.node.signature.output
    images = [run.node.signature.inputs[position] for position in run.positions]
    is_image = all(type_.rank == 4 and type_.shape[0] == 1 for type_ in (*images, output))
    if not is_image or output.shape[1] < 2 or code.accumulates or code.batches > 1:
        return None
    rules = row_rules(run.node, run.positions)
    units = output.shape[1]
    if rules is None:
        return None
    if code.rows == units:
        return Divisible(run, chosen, units, rules, partner=partner)
    return _by_bands(run, chosen, rules, partner) if code.rows == 0 else None


def _by_bands(
    run: Run, chosen: Selection, rules: tuple[RowRule, ...], partner: Partner
) -> Divisible | None:
    """Pieces of what has no rows of its own: each a layer by itself."""
    assert chosen.site is not None and chosen.target is not None
    if not all(rule.is_same_row for rule in rules):
        return None
    units = run.node.signature.output.shape[1]
    slower, codes = partner.slower(chosen), dict[tuple[int, int], KernelCode]()
    unit_bytes = run.outputs[0].size_bytes // units
    split = share(units, slower)
    if partner.line_bytes > 1:
        split = best_split(units, unit_bytes, slower, partner.line_bytes)
    if split >= units:
        return None
    for first, end in ((0, split), (split, units)):
        code = band_code(chosen.kernel, chosen.site, chosen.target, rules, first, end)
        if code is None or code.operands != chosen.code.operands or code.accumulates:
            return None
        if code.scratch_bytes > chosen.code.scratch_bytes or code.batches > 1:
            return None
        codes[first, end] = code
    fixed = 0 if partner.is_alike else split
    return Divisible(run, chosen, units, rules, codes, fixed, partner)


def _by_channels(run: Run, chosen: Selection, partner: Partner) -> Divisible | None:
    assert chosen.site is not None and chosen.target is not None
    if run.positions != (0,):
        return None
    slower = partner.slower(chosen)
    codes = channel_codes(chosen.kernel, chosen.site, chosen.target, slower)
    if not codes or any(
        code.operands != chosen.code.operands or code.scratch_bytes > chosen.code.scratch_bytes
        for code in codes.values()
    ):
        return None
    split = max(first for first, _ in codes)
    units = run.node.signature.output.shape[-1]
    return Divisible(run, chosen, units, (None,), codes, split, partner)


def with_other_kernels(layer: Divisible) -> Iterator[Divisible]:
    """The layer by kernels with less scratch, of which the arena may have room for two."""
    chosen, run = layer.chosen, layer.run
    if chosen.site is None or chosen.site.scratch_limit is not None or run.scratch is None:
        return
    short = replace(chosen, site=replace(chosen.site, scratch_limit=0, memory={}))
    for variant in chosen.possible:
        try:
            other = short.exchanged(variant)
        except GlowmcuError:
            continue
        quick = other.cost.cycles <= _MOST_SLOWDOWN * chosen.cost.cycles
        if not quick or other.code.operands != chosen.code.operands:
            continue
        if other.scratch_bytes < chosen.scratch_bytes:
            found = divisible(_by_kernel(run, other), other, layer.partner)
            if found is not None:
                yield found


def _by_kernel(run: Run, other: Selection) -> Run:
    assert run.scratch is not None
    scratch = None
    if other.scratch_bytes:
        type_ = TensorType((other.scratch_bytes,), ElementType.I8)
        scratch = Buffer(run.scratch.name, type_)
    return replace(
        run, kernel=other.kernel_name, scratch=scratch, operand_align=other.operand_align,
        overlaps=other.overlaps, rows=None,
    )  # fmt: skip
