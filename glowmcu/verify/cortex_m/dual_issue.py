"""Cores whose instructions issue in order and overlap (M7, M33): issue slots and result latencies.

An instruction issues in the first cycle in which every operand is there and the units it needs are
free; cycles(block) = the cycle after its last issue. What an operand is needed for decides when it
is needed, so latencies are a table: kind of result by kind of use.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum, auto

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.cortex_m.cost_model import BlockCost, Place, Places, Sureness
from glowmcu.verify.cortex_m.decode import Instruction
from glowmcu.verify.cortex_m.kinds import BRANCHES, MEMORY, MULTIPLIES, Kind
from glowmcu.verify.cortex_m.pairing import Pairing, goes_with

FLAGS, FLOAT_UNIT = -1, -2
"""Register numbers of ours: the condition flags, and what float instructions share."""


class Result(Enum):
    """What kind of instruction a value comes from."""

    ARITHMETIC = auto()
    EARLY = auto()
    """Arithmetic that was simple enough, and had its operands soon enough, for the first stage."""
    SHIFTED = auto()
    """Arithmetic on a shifted operand or a shifted constant."""
    TAKEN_APART = auto()
    """Extensions, bit fields, reversals."""
    SIMD = auto()
    EXTENDED_SUM = auto()
    PRODUCT = auto()
    WORD = auto()
    NARROW = auto()
    """A loaded byte or half-word."""
    BASE = auto()
    """An address that an access updated."""
    FLOAT = auto()
    FLOAT_SUM_OF_PRODUCTS = auto()
    FLOAT_LOADED = auto()
    FLOAT_MOVED = auto()
    FLOAT_UNIT = auto()
    """The float unit, free for its next instruction after a sum of products."""


@dataclass(frozen=True)
class Latency:
    """Cycles from issue until an instruction can issue that uses the result, by use.

    `arithmetic` is every use that is not listed; `early` = shifted or taken apart first; `address`
    of an access; `product` = factor; `sum` = what products are added to, `extended_sum` the same
    for SXTAB and its like; `stored` = data of a store.
    """

    arithmetic: int
    early: int
    address: int
    product: int
    sum: int
    extended_sum: int
    stored: int


def latency(arithmetic: int, **uses: int) -> Latency:
    """The same for all uses but those given."""
    same = dict.fromkeys(Latency.__dataclass_fields__, arithmetic)
    return Latency(**{**same, **uses})


@dataclass(frozen=True)
class DualIssue:
    """In-order issue of up to two instructions a cycle.

    `busy` = cycles in which nothing else issues (1 unless listed), `words_per_cycle` of accesses
    to several. `early_arithmetic`: additions and moves whose operands are there run a stage sooner.
    `two_stage_flags`: a multiplication or shifted constant that sets flags takes a cycle more.
    `taken` = cycles of a taken branch by kind besides its slot, `refill` of loads of the program
    counter; `paired_taken` of a branch that goes with the instruction before it, one more where
    that one decides.
    `unaligned` = cycles more of a load whose bytes lie in two words. `store_buffer` stores wait for
    memory; each takes `store_cycles` there by its bytes.
    `mispredicted` = cycles of a wrong prediction with flags as old as `flags_ahead` cycles, and
    with younger ones; None if nothing is predicted.
    """

    source: str
    sureness: Sureness
    latencies: Mapping[Result, Latency]
    pairing: Pairing
    busy: Mapping[Kind, int] = field(default_factory=dict)
    words_per_cycle: int = 1
    early_arithmetic: bool = False
    two_stage_flags: bool = False
    taken: Mapping[Kind, int] = field(default_factory=dict)
    refill: int = 0
    paired_taken: int | None = None
    unaligned: int = 0
    store_buffer: int = 0
    store_cycles: Mapping[int, float] = field(default_factory=dict)
    mispredicted: tuple[int, int] | None = None
    flags_ahead: int = 3

    def cost(
        self, block: Sequence[Instruction], places: Places, entry: Hashable, jumped: bool
    ) -> BlockCost:
        """As `Core.cost`."""
        issue = _Issue(self, entry if isinstance(entry, InFlight) else InFlight(), jumped)
        for instruction, place in zip(block, places, strict=True):
            issue.add(instruction, place)
        return issue.result()

    def jump(self, instruction: Instruction, target: Instruction) -> int:
        """As `Core.jump`."""
        return 0


@dataclass(frozen=True)
class InFlight:
    """What a block leaves to the next: results by register with the cycles since they issued, the
    last group of instructions, which another may still join, and cycles of buffered stores.
    """

    results: tuple[tuple[int, Result, int], ...] = ()
    group: tuple[tuple[Instruction, Place | None], ...] = ()
    buffered: float = 0.0


#: Cycles after which any result is there for any use.
_LONGEST = 8


class _Issue:
    """The instructions of one block, one after the other.

    `now` is the cycle in which `group` issues, `end` the cycle after which nothing of it blocks.
    """

    def __init__(self, table: DualIssue, entry: InFlight, jumped: bool) -> None:
        self.table = table
        self.results = {register: (kind, -age) for register, kind, age in entry.results}
        self.group = [] if jumped else list(entry.group)
        self.now = -1 if self.group else 0
        self.end = 0
        self.cycles: list[int] = []
        self.stored_at = entry.buffered  # when the store buffer will be empty
        self.extra = 0
        self.mispredicted = 0

    def add(self, instruction: Instruction, place: Place | None) -> None:
        """Issue it."""
        table = self.table
        earliest = max((self._there(*need) for need in needs(instruction)), default=0)
        joins = (
            bool(self.group)
            and earliest <= self.now
            and goes_with(table.pairing, instruction, place, self.group)
            and _busy(table, instruction) <= 1
            and (self.end <= self.now + 1 or table.pairing.narrow_second)
        )
        if not joins:
            self.now, self.group = max(self.end, earliest), []
        self.group.append((instruction, place))
        for register, kind in self._gives(instruction):
            self.results[register] = (kind, self.now + max(0, _busy(table, instruction) - 1))
        busy = _busy(table, instruction) + self._unaligned(instruction, place)
        spent = max(self.end, self.now + busy) - self.end
        self.end += spent
        if instruction.kind is Kind.STORE:
            late = self._store(instruction.access_bytes)
            self.end, spent = self.end + late, spent + late
        if instruction.writes_pc:
            spent += self._leave(instruction, joins)
        self.cycles.append(spent)

    def _store(self, size_bytes: int) -> int:
        """Cycles by which a full store buffer delays what comes."""
        cycles = self.table.store_cycles.get(size_bytes, 0.0)
        self.stored_at = max(self.stored_at, float(self.now)) + cycles
        return max(0, round(self.stored_at - self.table.store_buffer * cycles - self.end))

    def _leave(self, instruction: Instruction, joins: bool) -> int:
        """Cycles that continuing elsewhere takes at once; those of a condition are `extra`."""
        table = self.table
        more = table.taken.get(instruction.kind, table.refill)
        if joins and table.paired_taken is not None:
            first = self.group[0][0]
            decides = first.sets_flags or bool(first.writes & instruction.reads)
            more = table.paired_taken + decides
        if not instruction.conditional:
            self.end += more
            return more
        self.extra = more
        if table.mispredicted is not None:
            read = instruction.reads or frozenset((FLAGS,))
            known = [self.results[each][1] for each in read if each in self.results]
            ahead = self.now - max(known, default=-_LONGEST) >= table.flags_ahead
            self.mispredicted = table.mispredicted[0 if ahead else 1]
        return 0

    def result(self) -> BlockCost:
        """What the block costs."""
        flying = tuple(
            (register, kind, self.end - at)
            for register, (kind, at) in sorted(self.results.items())
            if self.end - at < _LONGEST
        )
        joinable = tuple(self.group) if self.now == self.end - 1 else ()
        after = InFlight(flying, joinable, max(0.0, self.stored_at - self.end))
        return BlockCost(tuple(self.cycles), self.extra, after, self.mispredicted)

    def _there(self, register: int, use: str) -> int:
        """The first cycle in which an instruction can issue that needs the register for `use`."""
        if register not in self.results:
            return 0
        kind, at = self.results[register]
        known = self.table.latencies.get(kind) or self.table.latencies[Result.ARITHMETIC]
        return at + int(getattr(known, use))

    def _gives(self, instruction: Instruction) -> Iterator[tuple[int, Result]]:
        kind = _result(instruction)
        if self.table.early_arithmetic and self._runs_early(instruction):
            kind = Result.EARLY
        bases = instruction.address_registers if instruction.updates_base else frozenset()
        for register in instruction.writes:
            yield register, Result.BASE if register in bases else kind
        if instruction.sets_flags:
            yield FLAGS, Result.SHIFTED if kind is Result.SHIFTED else Result.ARITHMETIC
        if instruction.kind is Kind.FLOAT_MULTIPLY_ADD:
            yield FLOAT_UNIT, Result.FLOAT_UNIT

    def _runs_early(self, instruction: Instruction) -> bool:
        """Whether a simple instruction, already in its group, has its operands a stage sooner."""
        simple = instruction.kind in (Kind.ADD, Kind.MOVE) and len(self.group) == 1
        if not (simple or instruction.kind is Kind.SHIFT):
            return False
        if instruction.shifts or instruction.shifted_constant or instruction.conditional:
            return False
        return all(self._there(register, "early") <= self.now for register in instruction.reads)

    def _unaligned(self, instruction: Instruction, place: Place | None) -> int:
        if place is None or instruction.kind is not Kind.LOAD:
            return 0
        across = place.address % 4 + instruction.access_bytes > 4
        return self.table.unaligned if across else 0


def needs(instruction: Instruction) -> Iterator[tuple[int, str]]:
    """Registers that it reads, and what for (fields of `Latency`)."""
    kind = instruction.kind
    if kind in BRANCHES:
        return  # predicted, or decided at the end of the pipeline
    for register in instruction.reads:
        if register in instruction.address_registers:
            yield register, "address"
        elif kind in MEMORY:
            yield register, "stored"
        elif register in instruction.accumulates:
            yield register, "extended_sum" if kind is Kind.EXTEND_ADD else "sum"
        elif register in instruction.early:
            yield register, "early"
        elif kind in (*MULTIPLIES, Kind.FLOAT_MULTIPLY_ADD):
            yield register, "product"
        else:
            yield register, "arithmetic"
    if instruction.conditional:
        yield FLAGS, "arithmetic"
    if kind in _FLOATS:
        yield FLOAT_UNIT, "arithmetic"


_FLOATS = (
    Kind.FLOAT,
    Kind.FLOAT_MULTIPLY_ADD,
    Kind.FLOAT_DIVIDE,
    Kind.FLOAT_MOVE,
    Kind.FLOAT_LOAD,
    Kind.FLOAT_STORE,
)
_RESULTS = {
    **dict.fromkeys(MULTIPLIES, Result.PRODUCT),
    **dict.fromkeys((Kind.EXTEND, Kind.INSERT, Kind.EXTRACT), Result.TAKEN_APART),
    Kind.REVERSE: Result.TAKEN_APART,
    Kind.EXTEND_ADD: Result.EXTENDED_SUM,
    Kind.PACK: Result.SIMD,
    Kind.SIMD: Result.SIMD,
    Kind.LOAD: Result.WORD,
    Kind.LOAD_MULTIPLE: Result.WORD,
    Kind.FLOAT: Result.FLOAT,
    Kind.FLOAT_DIVIDE: Result.FLOAT,
    Kind.FLOAT_MULTIPLY_ADD: Result.FLOAT_SUM_OF_PRODUCTS,
    Kind.FLOAT_LOAD: Result.FLOAT_LOADED,
    Kind.FLOAT_MOVE: Result.FLOAT_MOVED,
}


def _result(instruction: Instruction) -> Result:
    if instruction.kind is Kind.LOAD and instruction.access_bytes < 4:
        return Result.NARROW
    if instruction.kind is Kind.EXTEND and "16" in instruction.text.split()[0]:
        return Result.SIMD
    plain = _RESULTS.get(instruction.kind, Result.ARITHMETIC)
    if plain is Result.ARITHMETIC and (instruction.shifts or instruction.shifted_constant):
        return Result.SHIFTED
    return plain


def _busy(table: DualIssue, instruction: Instruction) -> int:
    if instruction.kind in MEMORY and instruction.words > 1:
        return max(1, -(-instruction.words // table.words_per_cycle))
    if table.two_stage_flags and instruction.sets_flags:
        shifted = instruction.shifted_constant and instruction.kind is not Kind.MOVE
        if shifted or instruction.kind is Kind.MULTIPLY:
            return 2
    return table.busy.get(instruction.kind, 1)
