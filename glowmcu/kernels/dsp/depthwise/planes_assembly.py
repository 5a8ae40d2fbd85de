"""The Armv7E-M loop of `depthwise_conv_2d.planes_dsp`, as instructions: all rows of a channel.

A row is that of row_assembly.py. Weights stay in their registers from row to row; the row
that lacks one above the image comes first, the one that lacks one below it last, both with two rows
of weights and the same code. r3 says which there are: the number of rows between them in the upper
half, bit 1 the last and bit 0 the first.
"""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.ir.assembly_macros import Assembly, AssemblyLine, Macro
from glowmcu.kernels.dsp.depthwise.row_assembly import (
    RowCode,
    enter,
    frame_bytes_of,
    load_channel,
    loop_rounds,
    next_channel,
    row_code,
)
from glowmcu.kernels.dsp.depthwise.row_macros import (
    FRAME_BYTES,
    FRAME_ROWS,
    WITHOUT_LOWER_ROW,
    WITHOUT_UPPER_ROW,
)
from glowmcu.kernels.dsp.depthwise.row_shape import RowShape
from glowmcu.lazy_dataclass import dataclass

#: Farthest step that an instruction takes, most columns that are unrolled.
_MOST_STEP, _MOST_COLUMNS = 4095, 64
#: Behind the frame of a row: rows left, -1 after the last and 0 in the first; weights and start
#: while they are those of two rows.
_LEFT, _SAVED, _FRAME = FRAME_BYTES, FRAME_BYTES + 4, FRAME_BYTES + 20

_KEEP = Macro(
    "GLOWMCU_ROWS_KEEP",
    "To 3 where no row is above the image; else weights and start of three rows into the frame.",
    (),
    (
        *(f"ldr r2, [sp, #{FRAME_ROWS}]", "lsls r2, r2, #31", "bpl 3f"),
        *(f"add r3, sp, #{_SAVED}", "stm r3, {r4-r6, r9}"),
    ),
)

_COUNT = ("subs r2, #1", f"str r2, [sp, #{_LEFT}]", "bcs 4b")
_COUNT_TO_LAST = Macro(
    "GLOWMCU_ROWS_COUNT",
    "To the next row, at 4; after the last one to 2 where no row is below the image.",
    (),
    (
        *_COUNT,
        f"ldr r2, [sp, #{FRAME_ROWS}]",
        "lsls r2, r2, #31 /* carry: there is one */",
        "bcc 2f",
    ),
)


@dataclass(frozen=True)
class PlaneShape:
    """What the function is made for: `lacks_above` is whether a row's window begins there.

    `unrolled`: rows have no loop.
    """

    row: RowShape
    stride_y: int
    lacks_above: bool
    lacks_below: bool
    unrolled: bool

    @property
    def in_step(self) -> int:
        """Bytes from the window of a row to that of the next."""
        return self.stride_y * self.row.pitch

    @property
    def out_step(self) -> int:
        """Bytes from row to row of the result."""
        return self.row.out_width * self.row.channels

    @property
    def fits(self) -> bool:
        """Whether distances are within reach, and rows are few columns or have a loop."""
        if self.row.is_far or max(self.in_step, self.out_step) > _MOST_STEP:
            return False
        if self.unrolled:
            few = max(self.row.width, self.row.out_width) <= _MOST_COLUMNS
            return few and row_code(self.row, 3, 10, looped=False).is_within_reach
        return loop_rounds(self.row, 3) > 0


def planes_assembly(shape: PlaneShape) -> Assembly:
    """The whole function: arguments in, out, parameters, rows in r0 to r3."""
    edge = row_code(shape.row, 2, 20, looped=not shape.unrolled)
    frame_bytes = frame_bytes_of(shape.row, _FRAME)
    return (
        *enter(shape.row, frame_bytes),
        *load_channel(shape.row, frame_bytes),
        *(_first_row(shape, edge) if shape.lacks_above else ()),
        *_rows(shape),
        *(_last_row(edge, shape.lacks_above) if shape.lacks_below else ()),
        *next_channel(frame_bytes),
    )


def _first_row(shape: PlaneShape, edge: RowCode) -> Iterator[AssemblyLine]:
    """The row whose window begins above the image: so the next one's is nearer by a row."""
    yield _KEEP()
    yield WITHOUT_UPPER_ROW()
    if shape.lacks_below:
        yield from ("movs r2, #0", f"str r2, [sp, #{_LEFT}]", "b 6f", "7: /* behind the row */")
    else:
        yield from edge.lines
    yield from _step(shape, edge, shape.in_step - shape.row.pitch)
    yield from (f"add r3, sp, #{_SAVED}", "ldm r3, {r4-r6, r9}")
    yield "3:"


def _rows(shape: PlaneShape) -> Iterator[AssemblyLine]:
    """Rows with windows inside the image, any number."""
    row = row_code(shape.row, 3, 10, looped=not shape.unrolled)
    yield from (f"ldr r2, [sp, #{FRAME_ROWS}]", "lsrs r2, r2, #16", "b 5f")
    yield "4: /* a row */"
    yield from row.lines
    yield from _step(shape, row, shape.in_step)
    yield from (f"ldr r2, [sp, #{_LEFT}]", "5:")
    if not shape.lacks_below:
        yield from _COUNT


def _last_row(edge: RowCode, lacks_above: bool) -> Iterator[AssemblyLine]:
    """The row whose window ends below the image; the first one comes here, too."""
    yield _COUNT_TO_LAST()
    yield WITHOUT_LOWER_ROW()
    yield "6: /* a row of which two are in the image */"
    yield from edge.lines
    if lacks_above:
        yield from (f"ldr r2, [sp, #{_LEFT}]", "cmp r2, #0", "beq 7b")


def _step(shape: PlaneShape, row: RowCode, down: int) -> Iterator[str]:
    """Both pointers from where `row` has left them to the next row, its window `down` bytes on."""
    moves = (
        ("r0", down - row.columns * shape.row.in_channels),
        ("r1", shape.out_step - row.outputs * shape.row.channels),
    )
    for register, distance in moves:
        if distance:
            yield f"{'addw' if distance > 0 else 'subw'} {register}, {register}, #{abs(distance)}"
