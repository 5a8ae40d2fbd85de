"""Which rows of a run each of two cores computes, and when they wait for each other.

What one core writes may be what the other still reads, where a result begins in an operand that
dies there. Three ways keep them apart, the quickest that holds is taken:

    one phase   a core the upper rows, the other the lower ones
    a stash     rows at the split go beside the result first; then both may write over the operand
    a walk      phase by phase as many rows as the bytes allow, both cores near to each other

Where one core is slower than the other it has fewer rows, by its speed. Where caches of one do not
show what the other writes, no line of them is written by both in a phase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor

from glowmcu.ir.division import Bytes, Phase, Place, Turn, meet
from glowmcu.ir.kernel_code import RowRule
from glowmcu.lazy_dataclass import dataclass

#: Whether a kernel may write units [first, end) with its operand `number` `gap` bytes above them.
Promise = Callable[[int, int, int, int], bool]
#: A walk of more phases is no gain.
_MOST_PHASES = 16


@dataclass(frozen=True)
class Operand:
    """An operand of `size_bytes`, of which a unit reads the rows of `rule`, or all."""

    rule: RowRule | None
    size_bytes: int


@dataclass(frozen=True)
class Costs:
    """Cycles: of a unit, of a call of the kernel, of a meeting. Kernels take pixels in pairs: the
    odd one of a call, with `pixels` a unit, costs as much as two. Units and calls take the second
    core `slower` times as long. `shown`: of showing the other core what is in caches.
    """

    unit: float
    call: float
    meeting: float
    pixels: int = 2
    slower: float = 1.0
    shown: float = 0.0

    def of(self, phases: Sequence[Phase]) -> float:
        """Cycles of a whole run in these phases."""
        return self.shown + self.meeting * (len(phases) + 1) + sum(map(self.of_phase, phases))

    def of_phase(self, phase: Phase) -> float:
        """Cycles from one meeting to the next."""
        first, second = map(self._turns, phase)
        return max(first, self.slower * second)

    def _turns(self, turns: Sequence[Turn]) -> float:
        units = (turn.end - turn.first for turn in turns if turn.computes)
        return sum(self.call + self.unit * self._pairs(count) * 2 / self.pixels for count in units)

    def _pairs(self, units: int) -> int:
        return (units * self.pixels + 1) // 2


@dataclass(frozen=True)
class Layout:
    """A result of equal units and its operands; `gaps[i]` is operand i's start less the result's,
    None if they have no byte in common. Pieces of one phase meet at `split`, 0: where both cores
    are done at a time, of which the second is `slower`. The result's first byte is byte
    `line_offset` of a line of `line_bytes`, which both cores may not write in a phase.
    """

    units: int
    unit_bytes: int
    operands: tuple[Operand, ...]
    gaps: tuple[int | None, ...]
    split: int = 0
    slower: float = 1.0
    line_bytes: int = 1
    line_offset: int = 0

    def split_of(self, first: int, end: int) -> int:
        """The first unit that is the second core's of [first, end): where both take about as long,
        or near that where a line begins; `end` if it is none.
        """
        ideal = first + share(end - first, self.slower)
        if self.line_bytes == 1:
            return ideal
        above = next(filter(self.begins_line, range(ideal, first, -1)), end)
        below = next(filter(self.begins_line, range(ideal, end)), end)
        spans = {split: max(split - first, (end - split) * self.slower) for split in (above, below)}
        return min(spans, key=lambda split: spans[split])

    def begins_line(self, unit: int) -> bool:
        """Whether no line has bytes of a unit and of those before it."""
        return (self.line_offset + unit * self.unit_bytes) % self.line_bytes == 0

    def share_line(self, a: Bytes, b: Bytes) -> bool:
        """Whether two ranges, from the result's start, have a line of caches in common."""
        return self.line_bytes > 1 and meet(self._lines(a), self._lines(b))

    def _lines(self, span: Bytes) -> Bytes:
        low, high = span[0] + self.line_offset, span[1] + self.line_offset
        return low // self.line_bytes, -(-high // self.line_bytes)

    def written(self, first: int, end: int) -> Bytes:
        """Bytes of units, from the result's start."""
        return first * self.unit_bytes, end * self.unit_bytes

    def part(self, number: int, first: int, end: int) -> Bytes:
        """Bytes [start, end) of an operand that units [first, end) read, from its first byte."""
        operand = self.operands[number]
        if operand.rule is None:
            return 0, operand.size_bytes
        pitch = operand.size_bytes // operand.rule.rows
        return operand.rule.first(first) * pitch, operand.rule.end(end - 1) * pitch

    def disturbs(self, written: Bytes, first: int, end: int) -> bool:
        """Whether bytes are read for units [first, end)."""
        if first >= end:
            return False
        for number, gap in enumerate(self.gaps):
            if gap is not None:
                low, high = self.part(number, first, end)
                if meet(written, (low + gap, high + gap)):
                    return True
        return False

    def can_take(self, first: int, end: int, promise: Promise) -> bool:
        """Whether one call may compute units, though it writes over what it reads."""
        written = self.written(first, end)
        for number, gap in enumerate(self.gaps):
            if gap is None:
                continue
            low, high = self.part(number, first, end)
            reads = low + gap, high + gap
            if meet(written, reads) and not promise(first, end, number, reads[0] - written[0]):
                return False
        return True

    def are_apart(self, a: tuple[int, int], b: tuple[int, int]) -> bool:
        """Whether two cores may compute these units at a time."""
        both = self.written(*a), self.written(*b)
        if self.share_line(*both):
            return False
        return not self.disturbs(both[0], *b) and not self.disturbs(both[1], *a)


def share(units: int, slower: float) -> int:
    """How many of them the first core takes, so that both are done as soon as can be."""
    exact = units * slower / (1 + slower)
    least = int(exact)
    return least + ((exact - least) * (1 + slower) >= 1)


def best_phases(
    layout: Layout, promise: Promise, stash_units: int, costs: Costs
) -> tuple[Phase, ...] | None:
    """The quickest way, None if there is none. The stash has room for `stash_units`."""
    whole = one_phase(layout, promise)
    if whole is not None:
        return whole
    ways = (walk(layout, promise, costs), with_stash(layout, promise, stash_units))
    known = [way for way in ways if way is not None]
    return min(known, key=costs.of, default=None)


def one_phase(layout: Layout, promise: Promise) -> tuple[Phase, ...] | None:
    """Two pieces at once."""
    split = layout.split or layout.split_of(0, layout.units)
    upper, lower = (0, split), (split, layout.units)
    if split >= layout.units > 1 or not layout.are_apart(upper, lower):
        return None
    if not layout.can_take(*upper, promise) or not layout.can_take(*lower, promise):
        return None
    return (((Turn(*upper),), (Turn(*lower),)),)


def with_stash(layout: Layout, promise: Promise, most_units: int) -> tuple[Phase, ...] | None:
    """As few units beside the split as will do."""
    for count in range(1, min(most_units, layout.units - 2) + 1):
        for above in _places_of_stash(layout, count):
            found = _around(layout, above, above + count, promise)
            if found is not None:
                return found
    return None


def _places_of_stash(layout: Layout, count: int) -> Iterator[int]:
    """The units before it, so that both cores have about as much to do beside it."""
    rest = layout.units - count
    exact = rest * layout.slower / (1 + layout.slower)
    found = [ceil(exact), floor(exact)]
    if layout.line_bytes > 1:
        split = layout.split_of(0, layout.units)
        found += [split - count, split]
    return (above for above in dict.fromkeys(found) if 0 < above < rest)


def _around(layout: Layout, above: int, below: int, promise: Promise) -> tuple[Phase, ...] | None:
    """Units [above, below) come first and go to the stash; then one core copies them."""
    upper, lower = (0, above), (below, layout.units)
    if not layout.can_take(*upper, promise) or not layout.can_take(*lower, promise):
        return None
    for split in (below, above):
        if layout.share_line(layout.written(0, split), layout.written(split, layout.units)):
            continue
        upsets_lower = layout.disturbs(layout.written(0, split), *lower)
        if not upsets_lower and not layout.disturbs(layout.written(split, layout.units), *upper):
            break
    else:
        return None
    middle = _middle_of_stash(layout, above, below)
    first = _some(above, middle, Place.STASH), _some(middle, below, Place.STASH)
    copies = _some(above, split, Place.FROM_STASH), _some(split, below, Place.FROM_STASH)
    return first, ((Turn(*upper), *copies[0]), (Turn(*lower), *copies[1]))


def _middle_of_stash(layout: Layout, above: int, below: int) -> int:
    """The first unit of the stash that is the second core's. Who has fewer units afterwards
    computes more; a line that both would write is the first core's, like all that follows.
    """
    count = below - above
    if layout.slower == 1.0:
        middle = above + (count + (layout.units - below > above)) // 2
    else:
        middle = above + share(count, layout.slower)
    # The stash begins with a line.
    return middle if (middle - above) * layout.unit_bytes % layout.line_bytes == 0 else below


def _some(first: int, end: int, place: Place) -> tuple[Turn, ...]:
    return (Turn(first, end, place),) if first < end else ()


def stash_range(phases: Sequence[Phase]) -> tuple[int, int]:
    """The units that go to the stash; an empty range if none does."""
    stashed = [
        turn for phase in phases for turns in phase for turn in turns if turn.place is Place.STASH
    ]
    if not stashed:
        return 0, 0
    return min(turn.first for turn in stashed), max(turn.end for turn in stashed)


def walk(layout: Layout, promise: Promise, costs: Costs) -> tuple[Phase, ...] | None:
    """The quickest way from the first row to the last. Rows that only one core can do at a time are
    the first's.
    """
    broken: set[Phase] = set()
    while True:
        phases = _cheapest(layout, costs, broken)
        if phases is None or len(phases) > _MOST_PHASES:
            return None
        wrong = [
            phase
            for phase in phases
            for turns in phase
            for turn in turns
            if not layout.can_take(turn.first, turn.end, promise)
        ]
        if not wrong:
            return phases
        broken.update(wrong)


def _cheapest(layout: Layout, costs: Costs, broken: set[Phase]) -> tuple[Phase, ...] | None:
    """By bytes alone, without phases that are known to break a promise."""
    best: list[tuple[float, tuple[Phase, ...]] | None] = [None] * (layout.units + 1)
    best[0] = 0.0, ()
    for first in range(layout.units):
        known = best[first]
        if known is None:
            continue
        for phase, end in _steps(layout, first):
            cost = known[0] + costs.of((phase,)) - costs.meeting
            other = best[end]
            if phase not in broken and (other is None or cost < other[0]):
                best[end] = cost, (*known[1], phase)
    found = best[layout.units]
    return None if found is None else found[1]


def _steps(layout: Layout, first: int) -> Iterator[tuple[Phase, int]]:
    """Phases that may follow, with the unit after their last."""
    for end in range(first + 1, layout.units + 1):
        if layout.disturbs(layout.written(first, end), end, layout.units):
            continue
        yield ((Turn(first, end),), ()), end
        split = layout.split_of(first, end)
        if split < end and layout.are_apart((first, split), (split, end)):
            yield ((Turn(first, split),), (Turn(split, end),)), end
