"""Which macros of assembly a function for pairs of pixels or of tiles is, a statement at a time.

They are those of glowmcu_pixel_pairs.h and glowmcu_conv_2d_winograd.h. A statement has eight steps
at most: C99 promises no longer strings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glowmcu.kernels.requantization.forms import FormKind

Statements = tuple[tuple[str, ...], ...]

#: Steps of a statement.
_STEPS = 8
#: Accumulators of both pixels, by two channels: those of the first one, of the second one.
_PAIRS = (("r6", "r8", "r7", "r9"), ("r10", "r12", "r11", "lr"))


def pair_calls(
    kind: FormKind, shift: int, wide: bool, distance: int, loops: bool,
    offsets: Sequence[tuple[int, int]],
) -> Statements:  # fmt: skip
    """Pairs of pixels `distance` bytes apart; `offsets` are of both values of a chunk's steps."""
    floor = kind is FormKind.FLOOR and not wide
    peeled = floor and not loops and tuple(offsets[0]) == (0, 2)
    start = "WIDE" if wide else "FLOOR" if floor else "STARTED"
    first = f"FIRST_FLOOR(0, {distance})" if peeled else f"START_{start}"
    steps = [
        _pair_step(number, wide, distance, offset)
        for number, offset in enumerate(offsets)
        if number or not peeled
    ]
    words = 4 if wide else 2
    return (
        ("GLOWMCU_PAIRS_ENTER", f"GLOWMCU_PAIRS_{first}", *(('"1:\\n\\t"',) if loops else ())),
        *_in_statements(steps),
        (
            _after_steps(wide, loops, 4 * words * len(offsets) + 4),
            *_pair_results(kind, shift, wide),
            "GLOWMCU_PAIRS_LEAVE",
        ),
    )


def _pair_step(number: int, wide: bool, distance: int, offset: tuple[int, int]) -> str:
    x, y = offset
    joined = y != x + 2
    words = 4 if wide else 2
    places = (x, y, x + distance, y + distance) if joined else (x, x + distance)
    weights = (4 * (words * number + word + 1) for word in range(words))
    name = f"{'WIDE_' * wide}{'JOINED_' * joined}STEP"
    return f"GLOWMCU_PAIRS_{name}({', '.join(map(str, (*places, *weights)))})"


def _after_steps(wide: bool, loops: bool, weights_bytes: int) -> str:
    if loops:
        return f"GLOWMCU_PAIRS_{'WIDE_' * wide}LOOP({weights_bytes})"
    return f'"add r1, #{weights_bytes}\\n\\t"'


def _pair_results(kind: FormKind, shift: int, wide: bool) -> Iterator[str]:
    """Sums to int8."""
    last = () if kind is FormKind.LITERAL else (str(shift),)
    name = f"GLOWMCU_PAIRS_{kind.value.upper()}"
    for a, b, c, d in _PAIRS:
        if kind is FormKind.FLOOR and not wide:
            yield f"{name}({', '.join((a, c, b, d, *last))})"
            continue
        high = (f"{name}_LOW", a, b) if wide else (f"{name}_HIGH", a, b, c, d)
        for macro, *registers in (high, (f"{name}_LOW", c, d)):
            yield f"{macro}({', '.join((*registers, *last))})"


def tile_calls(kind: FormKind, shift: int, words: int) -> Statements:
    """Two tiles of Winograd's outputs, `words` of two channels."""
    steps = [_tile_step(number) for number in range(1, words)]
    first, second = (_tile_results(kind, shift, place) for place in (0, 16))
    return (
        ("GLOWMCU_WINOGRAD_ENTER", "GLOWMCU_WINOGRAD_FIRST(0, 4, 8, 12)"),
        *_in_statements(steps),
        (f"GLOWMCU_WINOGRAD_PLACE({8 * words}, {16 * words})", "GLOWMCU_WINOGRAD_FIRST_TILE"),
        (*first, "GLOWMCU_WINOGRAD_SECOND_TILE"),
        (*second, f"GLOWMCU_WINOGRAD_LEAVE({8 if kind is FormKind.FLOOR else 16})"),
    )


def _tile_step(number: int) -> str:
    values, weights = 8 * number, 16 * number
    places = (values, values + 4, *range(weights, weights + 16, 4))
    return f"GLOWMCU_WINOGRAD_STEP({', '.join(map(str, places))})"


def _tile_results(kind: FormKind, shift: int, place: int) -> Iterator[str]:
    """A tile's sums to int8, which go to `place`."""
    if kind is FormKind.FLOOR:
        yield '"ldrd r6, r7, [r1]\\n\\t"'
    else:
        yield '"ldr r12, [r1]\\n\\t"'
        yield from (f'"ldr r{6 + i}, [r1, #{4 * i + 4}]\\n\\t"' for i in range(3))
        yield "GLOWMCU_WINOGRAD_STARTED"
    last = () if kind is FormKind.LITERAL else (str(shift),)
    for register in ("r2", "r3", "r4", "r5"):
        yield f"GLOWMCU_WINOGRAD_{kind.value.upper()}({', '.join((register, *last))})"
    yield f"GLOWMCU_WINOGRAD_STORE({', '.join(str(place + at) for at in range(0, 16, 4))})"


def _in_statements(steps: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(steps), _STEPS):
        yield tuple(steps[start : start + _STEPS])
