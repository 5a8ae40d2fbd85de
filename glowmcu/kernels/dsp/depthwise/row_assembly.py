"""The Armv7E-M loop of `depthwise_conv_2d.row_dsp`, as instructions: an output row, all channels.

Channel by channel along the row, a column of the window at a time: bytes x, y, z of three input
rows become {x, y} and z, which add to the outputs that they belong to. With weights k(row, column)
times 2^8 as P_i = {k0i, k1i}, Q0 = {k20, k21} and Q1 = {k22, rounds left},

    finished = sum0 + {x, y}.P2 + z * k22
    sum0     = sum1 + {x, y}.P1 + z * k21        (from sum0 with stride 2)
    sum1     = start + {x, y}.P0 + z * k20       (sum0 with stride 2)

so that two sums are open, no word is shuffled, and weights never leave their registers. Distances
are built in. A row above or below the image needs two rows and only P: its zero points go into the
start. Columns beside the image are a constant.

r0 in, r1 out, r2 {x, y}, r3 y and the finished sum, r4-r6 P, r7 and r8 Q, r9 start, r10 multiplier,
r11 and r12 the sums, lr z.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from glowmcu.ir.assembly_macros import Assembly, AssemblyLine, MacroCall, plain
from glowmcu.kernels.dsp.depthwise.row_macros import (
    CHANNEL,
    CLAMP,
    ENTER,
    FAR_COLUMN,
    FRAME_BYTES,
    FRAME_ROWS,
    LOAD_CHANNEL,
    MULTIPLIER,
    NEAR_COLUMN,
    NEXT_CHANNEL,
    P_CLAMP,
    P_ROUNDING,
    ROUNDING,
    SHIFT,
    TAKE_CHANNEL_APART,
    WITHOUT_LOWER_ROW,
    WITHOUT_UPPER_ROW,
    result,
    result_parameters,
    sums,
)
from glowmcu.kernels.dsp.depthwise.row_shape import RowShape
from glowmcu.kernels.requantization.forms import FormKind
from glowmcu.lazy_dataclass import dataclass

#: Farthest byte that a load or store reaches from its pointer, longest row of any.
_MOST_OFFSET, _MOST_PITCH = 4095, 0xFFFF
#: Outputs in a round of the loop, by stride: with three rows, with two.
_UNROLLED = {1: (3, 2), 2: (2, 1)}
#: Weights that a channel's words hold, (row, column), byte by byte; the last one is elsewhere.
PACKED_WEIGHTS = ((0, 1), (0, 0), (1, 1), (1, 0), (2, 0), (0, 2), (2, 1), (1, 2))
LAST_WEIGHT = (2, 2)


@dataclass(frozen=True)
class _Column:
    """A column of the image, or beside it, with the outputs if it is column 0, 1, 2."""

    x: int
    inside: bool
    outputs: tuple[int | None, int | None, int | None]

    @property
    def work(self) -> tuple[bool, ...]:
        """Equal for columns that do the same, somewhere else; nothing beside the image."""
        return tuple(o is None for o in self.outputs) if self.inside else ()


def _columns(shape: RowShape) -> list[_Column]:
    """All columns under the outputs, from left to right."""

    def output(x: int, kx: int) -> int | None:
        o, beside = divmod(x + shape.pad_left - kx, shape.stride)
        return o if not beside and 0 <= o < shape.out_width else None

    first = -shape.pad_left
    end = first + (shape.out_width - 1) * shape.stride + 3
    return [
        _Column(x, 0 <= x < shape.width, (output(x, 0), output(x, 1), output(x, 2)))
        for x in range(first, end)
    ]


def _repeated(columns: Sequence[_Column], stride: int) -> tuple[int, int]:
    """Where the longest run of equal steps begins, and how many: a step is an output."""
    works = [column.work for column in columns]
    #: How many columns from each on, `stride` apart, do the same.
    like = [bool(work) * 1 for work in works]
    for at in reversed(range(len(columns) - stride)):
        if works[at] and works[at] == works[at + stride]:
            like[at] += like[at + stride]
    best = (0, 0)
    for start in range(len(columns) - stride + 1):
        steps = min(like[start : start + stride])
        if columns[start].outputs[2] is not None and steps > best[1]:
            best = (start, steps)
    return best


@cache
def loop_rounds(shape: RowShape, rows: int) -> int:
    """How often the loop of windows with `rows` rows runs for a channel; 0 if there is none."""
    _, steps = _repeated(_columns(shape), shape.stride)
    unrolled = _UNROLLED[shape.stride][3 - rows]
    return -(-steps // unrolled) if steps > unrolled + 1 else 0


class _Row:
    """Instructions of one row of a channel. The pointers move; `x` and `o` say how far they are."""

    def __init__(self, shape: RowShape, rows: int) -> None:
        self.shape, self.rows = shape, rows
        self.x = self.o = 0
        self.reach = 0

    def instructions(self, label: int) -> Iterator[AssemblyLine]:
        """The whole row; the loop's labels are `label` and the one after it."""
        columns, stride = _columns(self.shape), self.shape.stride
        start, steps = _repeated(columns, stride)
        unrolled = _UNROLLED[stride][3 - self.rows]
        rounds = loop_rounds(self.shape, self.rows)
        if not rounds:
            yield from self._each(columns)
            return
        skipped = rounds * unrolled - steps
        first = columns[start]
        assert first.outputs[2] is not None
        yield from self._each(columns[:start])
        if self.shape.is_far:
            self.x -= skipped * stride  # columns that are not loaded do not move r0
        yield from self._move(first.x - skipped * stride, first.outputs[2] - skipped)
        yield f"movt r8, #{rounds - 1}"
        if skipped:
            yield f"b {label + 1}f"
        yield f"{label}: /* a round: {unrolled} {'outputs' if unrolled > 1 else 'output'} */"
        end = (self.x + unrolled * stride, self.o + unrolled)
        for step in range(unrolled):
            if skipped and step == skipped:
                yield f"{label + 1}:"
            for column in columns[start : start + stride]:
                yield from self._column(column, step - skipped)
        yield from self._move(*end)
        yield "subs r8, r8, #0x10000"
        yield f"bcs {label}b"
        self.x, self.o = first.x + steps * stride, first.outputs[2] + steps
        yield from self._each(columns[start + steps * stride :])

    def straight(self) -> Iterator[AssemblyLine]:
        """The whole row without a loop, pointers unmoved."""
        yield from self._each(_columns(self.shape))

    def _each(self, columns: Sequence[_Column]) -> Iterator[AssemblyLine]:
        for column in columns:
            yield from self._column(column, 0)

    def _move(self, x: int, o: int) -> Iterator[str]:
        """Both pointers to column x and output o."""
        distances = (x - self.x) * self.shape.in_channels, (o - self.o) * self.shape.channels
        for register, distance in zip(("r0", "r1"), distances, strict=True):
            self._within_reach(distance)
            if distance:
                move = "addw" if distance > 0 else "subw"
                yield f"{move} {register}, {register}, #{abs(distance)}"
        self.x, self.o = x, o

    def _within_reach(self, distance: int) -> int:
        self.reach = max(self.reach, abs(distance))
        return distance

    def _column(self, column: _Column, later: int) -> Iterator[MacroCall]:
        """What `column` does, or the one as many steps `later`."""
        shape, x, last = self.shape, column.x + later * self.shape.stride, column.outputs[2]
        met = "".join(str(kx) for kx, output in enumerate(column.outputs) if output is not None)
        title = f"column {x}" if column.inside else "a column beside the image"
        if column.inside:
            yield self._load(x, title)
            title = ""
        numbers = []
        if last is not None:
            offset = self._within_reach((last + later - self.o) * shape.channels)
            numbers = [shape.postshift, offset][-len(result_parameters(shape)) :]
        products = sums(shape, self.rows, met, column.inside)
        is_result = bool(products.parameters)
        yield products(*numbers * is_result, title=title, goes_on=column.inside)
        if last is not None and not is_result:
            yield result(shape)(*numbers, goes_on=True)

    def _load(self, x: int, title: str) -> MacroCall:
        """Column x of all rows; r0 goes on from a far one."""
        pitch, step = self.shape.pitch, self.shape.in_channels
        if self.shape.is_far:
            assert x == self.x
            self.x += 1
            return FAR_COLUMN[self.rows](self._within_reach(step), title=title)
        offsets = [(x - self.x) * step + row * pitch for row in range(self.rows)]
        return NEAR_COLUMN[self.rows](*map(self._within_reach, offsets), title=title)


def is_within_reach(shape: RowShape) -> bool:
    """Whether the distances fit the instructions."""
    near = all(row_code(shape, rows, 10).is_within_reach for rows in (3, 2))
    return near and shape.pitch <= _MOST_PITCH


def row_assembly(shape: RowShape) -> Assembly:
    """The whole function: arguments in, out, parameters, missing row in r0 to r3."""
    edges = _edges(shape) if shape.has_edges else ()
    has_missing: tuple[str, ...] = ()
    if shape.has_edges:
        has_missing = (f"ldr r3, [sp, #{FRAME_ROWS}]", "cmp r3, #0", "bne 3f")
    row = _Row(shape, 3).instructions(10)
    frame_bytes = frame_bytes_of(shape)
    return (
        *enter(shape, frame_bytes),
        *load_channel(shape, frame_bytes),
        *has_missing,
        *row,
        *next_channel(frame_bytes),
        *edges,
    )


def instruction_count(lines: Iterable[AssemblyLine]) -> int:
    """How many of the lines are neither labels nor comments."""
    return sum(not line.startswith("/*") and ":" not in line for line in plain(lines))


@dataclass(frozen=True)
class RowCode:
    """A row of a channel, and by how many columns and outputs it moves the pointers.

    Of a loop r8's upper half is the counter.
    """

    lines: Assembly
    columns: int
    outputs: int
    reach: int

    @property
    def is_within_reach(self) -> bool:
        """Whether the distances fit the instructions."""
        return self.reach <= _MOST_OFFSET


@cache
def row_code(shape: RowShape, rows: int, label: int, looped: bool = True) -> RowCode:
    """With `rows` of weights; a loop's labels are `label` and the one after it."""
    row = _Row(shape, rows)
    lines = tuple(row.instructions(label) if looped else row.straight())
    return RowCode(lines, row.x, row.o, row.reach)


def frame_bytes_of(shape: RowShape, least: int = FRAME_BYTES) -> int:
    """Of a function that keeps `least`; its last word counts how often a channel is read."""
    return least + 4 * (shape.multiplier > 1)


def enter(shape: RowShape, frame_bytes: int) -> Iterator[AssemblyLine]:
    """The frame: r3, what is to be done, is at `FRAME_ROWS`."""
    yield ENTER(frame_bytes)
    if shape.clamped:
        yield f"ldrd r4, r5, [r2, #{P_CLAMP}]"
        yield f"strd r4, r5, [sp, #{CLAMP}]"
    if shape.kind is FormKind.LITERAL:
        yield f"ldr r4, [r2, #{P_ROUNDING}]"
        yield f"str r4, [sp, #{ROUNDING}]"
    if shape.multiplier > 1:
        yield from (f"movs r4, #{shape.multiplier}", f"str r4, [sp, #{frame_bytes - 4}]")


def load_channel(shape: RowShape, frame_bytes: int) -> Iterator[AssemblyLine]:
    """Weights and constants of a channel into registers; the frame moves to the next channel."""
    yield "1: /* channel */"
    if shape.multiplier == 1:
        yield CHANNEL()
    else:
        yield LOAD_CHANNEL()
        yield from _same_input(shape, frame_bytes)
        yield TAKE_CHANNEL_APART()
    if shape.kind is FormKind.LITERAL:
        yield f"ldr r11, [sp, #{ROUNDING}]"
        yield from ("and r12, r9, #31", "bic r9, r9, #31", "lsls r9, r9, #3")
        yield "lsl r11, r11, r12"
        yield f"strd r12, r11, [sp, #{SHIFT}]"
    if shape.is_far:
        yield f"str r10, [sp, #{MULTIPLIER}]"
        yield f"movw r10, #{shape.pitch}"


def _same_input(shape: RowShape, frame_bytes: int) -> Iterator[str]:
    """r11: the next channel of the image, or the same one while outputs read it."""
    yield from (f"ldr r5, [sp, #{frame_bytes - 4}]", "mov r11, r0", "subs r5, #1", "itt eq")
    yield from (f"moveq r5, #{shape.multiplier}", "addeq r11, r0, #1")
    yield f"str r5, [sp, #{frame_bytes - 4}]"


def next_channel(frame_bytes: int) -> Iterator[AssemblyLine]:
    """Ends the function after the last channel."""
    yield "2: /* the next channel */"
    yield NEXT_CHANNEL(frame_bytes)


def _edges(shape: RowShape) -> Iterator[AssemblyLine]:
    """A row above (r3 < 0) or below the image: what it would add goes into the start.

    Then P_i = {weight of the lower row, of the upper one}.
    """
    yield "3: /* a row of the window is missing */"
    yield "blt 4f"
    yield WITHOUT_LOWER_ROW()
    yield "b 5f"
    yield "4: /* above the image */"
    yield WITHOUT_UPPER_ROW()
    yield "5: /* the other two */"
    yield from _Row(shape, 2).instructions(20)
    yield "b 2b"
