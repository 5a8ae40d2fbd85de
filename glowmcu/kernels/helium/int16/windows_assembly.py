"""The Helium loops of `wide.windows_mve`: four channels of one pixel or of two.

Eight inputs are a vector, and so are eight weights of a channel, which VLDRB widens; VMLADAVA adds
their products to a sum in a register, VMLALDAVA to one of 64 bits in two. Inputs of a run that fill
no vector are loaded under a mask, so that no more is read than there is; weights are padded.
Registers: r5 weights (VLDRB takes low ones), r7 the job.
"""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.lazy_dataclass import dataclass

#: Inputs of a vector, and channels of a block.
LANES = 8
CHANNELS = 4

#: The stack frame: arguments, what is left of runs, parts, channels.
_IN, _OUT, _JOB, _RUNS, _PARTS, _LEFT, _FRAME = range(0, 28, 4)
#: Places in `glowmcu_wide_vector_job`.
(
    _STREAM, _CHANNELS, _FIRST, _VECTORS, _LAST, _IN_STEP, _W_STEP, _BEFORE, _JOB_RUNS, _AFTER,
    _JOB_PARTS, _IN_ROW, _W_ROW, _CLAMP_MIN, _CLAMP_MAX, _IN_APART, _OUT_APART,
) = range(0, 68, 4)  # fmt: skip


@dataclass(frozen=True)
class VectorCode:
    """What of a layer is part of the code.

    `wide`: sums have 64 bits. `masked`: runs may begin or end within a vector. `parts`: a row of a
    window is several runs. `single`: all windows are one run of the same length.
    """

    wide: bool
    masked: bool
    parts: bool
    single: bool

    @property
    def facts(self) -> tuple[str, ...]:
        """What tells functions apart (`specialized`)."""
        return (
            "wide" * self.wide,
            "masked" * self.masked,
            "parts" * self.parts,
            "single" * self.single,
        )


@dataclass(frozen=True)
class _Registers:
    """Inputs and sums of each pixel; sums of 64 bits are two registers each."""

    inputs: tuple[str, ...]
    sums: tuple[tuple[tuple[str, ...], ...], ...]
    count: str
    spare: str

    @property
    def is_pair(self) -> bool:
        return len(self.inputs) > 1


_FIRST_SUMS = (("r0",), ("r2",), ("r4",), ("r6",))
_PAIR = _Registers(("r1", "r3"), (_FIRST_SUMS, (("r8",), ("r10",), ("r12",), ("lr",))), "r9", "r11")
_ONE = _Registers(("r1",), (_FIRST_SUMS,), "r9", "r11")
_WIDE = _Registers(
    ("r4",), ((("r0", "r1"), ("r2", "r3"), ("r8", "r9"), ("r10", "r11")),), "r12", "r6"
)


def vector_assembly(code: VectorCode, is_pair: bool) -> tuple[str, ...]:
    """The whole function: r0 is the job, r1 the inputs, r2 the results."""
    registers = _PAIR if is_pair else _WIDE if code.wide else _ONE
    return (
        *_enter(),
        *_block(code, registers),
        *_runs(code, registers),
        *_results(code, registers),
        "bgt 8b",
        f"add sp, #{_FRAME}",
        "pop {r4-r11, pc}",
    )


def _enter() -> Iterator[str]:
    yield from ("push {r4-r11, lr}", f"sub sp, #{_FRAME}")
    yield from (f"str r1, [sp, #{_IN}]", f"str r2, [sp, #{_OUT}]", "mov r7, r0")
    yield from (f"ldr r5, [r7, #{_STREAM}]", f"ldr r3, [r7, #{_CHANNELS}]")
    yield f"str r3, [sp, #{_LEFT}]"


def _block(code: VectorCode, registers: _Registers) -> Iterator[str]:
    yield "8: /* a block of four channels */"
    first, *second = registers.inputs
    yield f"ldr {first}, [sp, #{_IN}]"
    for x in second:
        yield from (f"ldr {x}, [r7, #{_IN_APART}]", f"add {x}, {first}")
    if not code.single:
        yield from (f"ldr {registers.spare}, [r7, #{_BEFORE}]", f"add r5, {registers.spare}")
        yield f"ldr {registers.spare}, [r7, #{_JOB_RUNS}]"
        yield f"str {registers.spare}, [sp, #{_RUNS}]"
    for pixel in registers.sums:
        yield from (f"mov {register}, #0" for channel in pixel for register in channel)


def _runs(code: VectorCode, registers: _Registers) -> Iterator[str]:
    """All runs of a window."""
    count, spare = registers.count, registers.spare
    if code.parts:
        yield from ("7: /* a row of the window */", f"ldr {spare}, [r7, #{_JOB_PARTS}]")
        yield f"str {spare}, [sp, #{_PARTS}]"
    if not code.single:
        yield "6: /* a run of neighbours */"
    if code.masked:
        yield from _masked(registers, _FIRST, "3")
    yield f"ldr {count}, [r7, #{_VECTORS}]"
    if code.masked:
        yield from (f"cmp {count}, #0", "beq 4f")
    yield from ("5: /* eight inputs */", *_eight(registers))
    yield from (f"subs {count}, {count}, #1", "bne 5b")
    if code.masked:
        yield "4:"
        yield from _masked(registers, _LAST, "2")
    if not code.single:
        yield from _next_run(code, registers)


def _masked(registers: _Registers, place: int, label: str) -> Iterator[str]:
    """Some of eight inputs, if the job has a mask there."""
    spare = registers.spare
    yield from (f"ldr {spare}, [r7, #{place}]", f"cmp {spare}, #0", f"beq {label}f")
    yield f"vmsr p0, {spare}"
    yield from ("vpstt" if registers.is_pair else "vpst",)
    yield from (f"vldrht.u16 q{n}, [{x}], #16" for n, x in enumerate(registers.inputs))
    yield from _products(registers)
    yield f"{label}:"


def _eight(registers: _Registers) -> Iterator[str]:
    """Eight inputs: a load stands beside a product wherever it can."""
    yield from (f"vldrh.u16 q{n}, [{x}], #16" for n, x in enumerate(registers.inputs))
    yield from _products(registers)


def _products(registers: _Registers) -> Iterator[str]:
    """q0 and q1 with the weights of four channels."""
    yield "vldrb.s16 q2, [r5], #8"
    for channel in range(CHANNELS):
        weights, ahead = f"q{2 + channel % 2}", f"q{3 - channel % 2}"
        for place, pixel in enumerate(registers.sums):
            yield _sum(pixel[channel], f"q{place}", weights)
            if place == 0 and channel + 1 < CHANNELS:
                yield f"vldrb.s16 {ahead}, [r5], #8"


def _sum(sum_: tuple[str, ...], x: str, weights: str) -> str:
    name = "vmlaldava" if len(sum_) > 1 else "vmladava"
    return f"{name}.s16 {', '.join(sum_)}, {x}, {weights}"


def _next_run(code: VectorCode, registers: _Registers) -> Iterator[str]:
    spare = registers.spare
    yield from _moved(registers, _IN_STEP, _W_STEP)
    left = _PARTS if code.parts else _RUNS
    yield from (f"ldr {spare}, [sp, #{left}]", f"subs {spare}, {spare}, #1")
    yield from (f"str {spare}, [sp, #{left}]", "bne 6b")
    if code.parts:
        yield from _moved(registers, _IN_ROW, _W_ROW)
        yield from (f"ldr {spare}, [sp, #{_RUNS}]", f"subs {spare}, {spare}, #1")
        yield from (f"str {spare}, [sp, #{_RUNS}]", "bne 7b")


def _moved(registers: _Registers, in_step: int, w_step: int) -> Iterator[str]:
    spare, count = registers.spare, registers.count
    yield from (f"ldr {spare}, [r7, #{in_step}]", f"ldr {count}, [r7, #{w_step}]")
    yield from (f"add {x}, {spare}" for x in registers.inputs)
    yield f"add r5, {count}"


def _results(code: VectorCode, registers: _Registers) -> Iterator[str]:
    """Sums to int16 in memory; flags tell whether there are more channels."""
    yield "/* sums to int16 */"
    if not code.single:
        yield from (f"ldr {registers.spare}, [r7, #{_AFTER}]", f"add r5, {registers.spare}")
    vectors = tuple(f"q{place}" for place in range(len(registers.sums)))
    if code.wide:
        for low, high in registers.sums[0]:
            yield from _wide_result(low, high)
    for vector, pixel in zip(vectors, registers.sums, strict=True):
        a, b, c, d = (channel[0] for channel in pixel)
        yield from (f"vmov {vector}[2], {vector}[0], {a}, {c}",)
        yield from (f"vmov {vector}[3], {vector}[1], {b}, {d}",)
    if not code.wide:
        yield from ("vldrw.32 q2, [r5], #16", "vldrw.32 q3, [r5], #16")
        yield from (f"vadd.i32 {vector}, {vector}, q2" for vector in vectors)
        yield "vldrw.32 q2, [r5], #16"
        yield from (f"vmulh.s32 {vector}, {vector}, q3" for vector in vectors)
        yield from (f"vrshl.s32 {vector}, {vector}, q2" for vector in vectors)
    yield from (f"ldr r0, [r7, #{_CLAMP_MIN}]", f"ldr r2, [r7, #{_CLAMP_MAX}]")
    yield from ("vdup.32 q2, r0", "vdup.32 q3, r2", f"ldr r4, [sp, #{_OUT}]")
    yield from (f"vmax.s32 {vector}, {vector}, q2" for vector in vectors)
    yield f"ldr r6, [sp, #{_LEFT}]"
    yield from (f"vmin.s32 {vector}, {vector}, q3" for vector in vectors)
    if registers.is_pair:
        yield from (f"ldr r0, [r7, #{_OUT_APART}]", "add r0, r4")
    yield "vctp.32 r6"
    yield "vpstt" if registers.is_pair else "vpst"
    if registers.is_pair:
        yield "vstrht.32 q1, [r0]"
    yield "vstrht.32 q0, [r4], #8"
    yield from (f"str r4, [sp, #{_OUT}]", f"subs r6, #{CHANNELS}", f"str r6, [sp, #{_LEFT}]")


def _wide_result(low: str, high: str) -> Iterator[str]:
    """A sum and what it starts from, less than 48 bits, times 15 bits, to the right."""
    yield from ("ldr r4, [r5], #4", "ldr r6, [r5], #4", f"adds {low}, {low}, r4")
    yield from (f"adc {high}, {high}, r6", "ldr r4, [r5], #4", "lsr r6, r4, #16")
    yield from (f"umull r12, lr, {low}, r6", f"mla {high}, {high}, r6, lr")
    yield from (f"lsr {low}, r12, #16", f"orr {low}, {low}, {high}, lsl #16")
    yield from (f"asr {high}, {high}, #16", "rsb r6, r4, #32", f"lsl {high}, {high}, r6")
    yield from (f"lsrs {low}, {low}, r4", f"orr {low}, {low}, {high}", f"adc {low}, {low}, #0")
