"""The loop of float windows of few products whose inputs stay in registers, in assembly.

A tile is some pixels side by side: their inputs, a sum of each, and what is left for weights and
products. Products are added in their order, the bias comes last; a sum begins as its first product
instead of 0 and that product, which may be -0: a bias is no -0, so that results are the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.lazy_dataclass import dataclass

_REGISTERS = 32
#: Pointers to results are core registers.
_MOST_PIXELS = 6


@dataclass(frozen=True)
class Tile:
    """`pixels` windows of `height` rows and `width` columns of `depth` inputs, `stride` apart."""

    pixels: int
    height: int
    width: int
    depth: int
    stride: int

    @property
    def columns(self) -> int:
        """Of the image under the tile."""
        return (self.pixels - 1) * self.stride + self.width

    @property
    def inputs(self) -> int:
        """Registers of the image's numbers."""
        return self.height * self.columns * self.depth

    @property
    def products(self) -> int:
        """Of a result."""
        return self.height * self.width * self.depth

    @property
    def held(self) -> int:
        """Products in flight: a Cortex-M4 adds none right behind its multiplication."""
        return 1 if self.pixels <= 3 else 2

    @property
    def weights(self) -> int:
        """Registers for weights beside the last sum's, which has the first weight until then."""
        return _REGISTERS - self.inputs - self.pixels - self.held

    def chunks(self) -> list[int]:
        """Weights and bias of an output, as they are loaded at once."""
        found: list[int] = []
        left = self.products + 1
        while left:
            found.append(min(left, self.weights + (not found)))
            left -= found[-1]
        return found

    def input(self, pixel: int, product: int) -> int:
        """The register of this input of a pixel."""
        row, place = divmod(product, self.width * self.depth)
        return (row * self.columns + pixel * self.stride) * self.depth + place

    def sum(self, pixel: int) -> int:
        """The register of a pixel's sum."""
        return self.inputs + pixel + (self.held if pixel == self.pixels - 1 else 0)


def best_tile(height: int, width: int, depth: int, stride: int, pixels: int) -> Tile | None:
    """The tile that takes rows of so many pixels the fewest cycles; None if there is none."""
    tiles = [Tile(n, height, width, depth, stride) for n in range(_MOST_PIXELS, 2, -1)]
    fitting = [tile for tile in tiles if tile.weights > 0]
    return min(fitting, key=lambda tile: -(-pixels // tile.pixels) * _cycles(tile), default=None)


def _cycles(tile: Tile) -> int:
    """Of an output, on a Cortex-M4."""
    return loads(tile) + tile.pixels * (2 * tile.products + 3)


def loads(tile: Tile) -> int:
    """Cycles for an output's weights."""
    return tile.products + 1 + len(tile.chunks())


def tile_assembly(tile: Tile, outputs: int, limit: str) -> tuple[str, ...]:
    """All outputs of a tile. `limit` is "", "relu" or "most", of which the bits are in %[most].

    Operands: %[a] the image, then free; %[b] bytes from row to row, then free; %[w] weights;
    %[y0], ... results; %[c] and %[n] free. Labels: 1 all outputs, 2 two of them, 3 the second one,
    4 the end.
    """
    return (*_begin(tile), *_outputs(tile, outputs, limit), *_check(tile, outputs, limit))


def _begin(tile: Tile) -> Iterator[str]:
    row = tile.columns * tile.depth
    yield "/* inputs of all pixels */"
    for y in range(tile.height):
        if y:
            yield "add.w %[a], %[a], %[b]"
        yield f"vldmia %[a], {{{_range(y * row, row)}}}"


def _range(first: int, count: int) -> str:
    """So many registers."""
    return f"s{first}-s{first + count - 1}" if count > 1 else f"s{first}"


def _outputs(tile: Tile, outputs: int, limit: str) -> Iterator[str]:
    """Two outputs a turn. What a product would be waited for with is done in between: the first
    output counts turns, unless limits change flags, the second stores the first's last result.
    """
    results, count = list(_results(tile, limit)), "subs.w %[n], %[n], #1"
    counted = limit != "most" and outputs > 1
    stored = results.pop() if outputs % 2 == 0 else ""
    yield "1:"
    yield "/* outputs in twos: sums of all pixels, weights and a bias each */"
    yield f"movs.w %[n], #{outputs // 2 if counted else -(-outputs // 2)}"
    if outputs % 2 and outputs > 1:
        yield "b.w 3f"
    yield ".balign 4"
    yield "2:"
    if outputs > 1:
        yield from (*_Sums(tile, count if counted else "").all(), *results)
    yield "3:"
    yield from (*_Sums(tile, stored).all(), *results)
    if stored:
        yield stored
    if not counted:
        yield count
    yield "bne.w 2b"


class _Sums:
    """Instructions of an output up to its sums. A product is added right behind its multiplication
    only where nothing is `free` to stand in between.
    """

    def __init__(self, tile: Tile, free: str) -> None:
        self._tile, self._free = tile, [free] if free else []
        self._last_sum = tile.sum(tile.pixels - 1)
        self._registers = [tile.inputs + tile.pixels - 1 + i for i in range(tile.held)]
        self._waiting: list[tuple[int, int]] = []
        self._just_multiplied = -1
        self._weights: list[int] = []
        self._chunks = iter(tile.chunks())
        self.lines: list[str] = []

    def all(self) -> list[str]:
        """The instructions."""
        tile = self._tile
        for product in range(tile.products):
            weight = self._weight()
            for pixel in range(tile.pixels):
                self._multiply(pixel, product, weight)
        bias = self._weight()
        self._add(len(self._waiting))
        # The last pixel's, whose last product has just been added, is stored first.
        for pixel in (tile.pixels - 2, tile.pixels - 1, *range(tile.pixels - 2)):
            self.lines.append(f"vadd.f32 s{tile.sum(pixel)}, s{tile.sum(pixel)}, s{bias}")
        return [*self.lines, *self._free]

    def _weight(self) -> int:
        """The next one's register, loaded with those behind it when what they held is added."""
        if not self._weights:
            while any(register > self._last_sum for _, register in self._waiting):
                self._add()
            first, count = self._last_sum + bool(self.lines), next(self._chunks)
            self.lines.append(f"vldmia %[w]!, {{{_range(first, count)}}}")
            self._weights = list(range(first, first + count))
            self._just_multiplied = -1
        return self._weights.pop(0)

    def _multiply(self, pixel: int, product: int, weight: int) -> None:
        """A sum begins as its first product; the last pixel's others take the weight's place."""
        tile, is_last = self._tile, pixel == self._tile.pixels - 1
        to = weight if product else tile.sum(pixel)
        if product and not is_last:
            while not self._registers:
                self._add()
            to = self._registers.pop(0)
        line = f"vmul.f32 s{to}, s{tile.input(pixel, product)}, s{weight}"
        if product == 0 and is_last and tile.held == 1 < tile.products:
            self._free.append(line)
            return
        self.lines.append(line)
        self._just_multiplied = to
        if product:
            self._waiting.append((tile.sum(pixel), to))
        self._add(len(self._waiting) - tile.held)

    def _add(self, count: int = 1) -> None:
        """The products that have waited longest, but for the last instruction's."""
        for _ in range(count):
            ready = (i for i, (_, to) in enumerate(self._waiting) if to != self._just_multiplied)
            total, product = self._waiting.pop(next(ready, 0))
            if product == self._just_multiplied and self._free:
                self.lines.append(self._free.pop())
            self.lines.append(f"vadd.f32 s{total}, s{total}, s{product}")
            self._just_multiplied = -1
            if product < self._last_sum:
                self._registers.append(product)


def _results(tile: Tile, limit: str) -> Iterator[str]:
    """Stores the last pixel's first: those beyond the image have the address of the last inside.
    Each is limited and stored while the next are on their way to core registers, two at once.
    """
    last = tile.pixels - 1
    yield f"vmov %[a], s{tile.sum(last)}"
    kept, registers = [_stored("a", last, limit)], ["b", "c"]
    for pixel in range(last - 1, -1, -2):
        low, high = registers
        if pixel:
            yield f"vmov %[{low}], %[{high}], s{tile.sum(pixel - 1)}, s{tile.sum(pixel)}"
        else:
            yield f"vmov %[{high}], s{tile.sum(pixel)}"
        yield from kept.pop()
        yield from _stored(high, pixel, limit)
        registers = sorted({"a", "b", "c"} - {low})
        if pixel:
            kept.append(_stored(low, pixel - 1, limit))
    for lines in kept:
        yield from lines


def _stored(register: str, pixel: int, limit: str) -> tuple[str, ...]:
    """A result in a register, limited and stored."""
    return (*_limited(f"%[{register}]", limit), f"str.w %[{register}], [%[y{pixel}]], #4")


def _limited(result: str, limit: str) -> tuple[str, ...]:
    """Of such floats the order is that of their bits."""
    if limit == "most":
        return (
            f"cmp {result}, %[most]",
            "it hi",
            f"bichi.w {result}, %[most], {result}, asr #31",
        )
    return (f"bic.w {result}, {result}, {result}, asr #31",) if limit == "relu" else ()


def _check(tile: Tile, outputs: int, limit: str) -> Iterator[str]:
    """What is not a number as an input is in all of a pixel's sums, the last ones, too: if there
    may be such, results are stored once more as they are, and so are all from here on.
    """
    if limit != "most":
        return
    sums = [f"s{tile.sum(pixel)}" for pixel in range(tile.pixels)]
    sums += sums[-1:] * (len(sums) % 2)
    yield "/* a sum that is no number: all of the tile again, without a limit from here on */"
    for a, b in zip(sums[::2], sums[1::2], strict=True):
        yield f"vcmpe.f32 {a}, {b}"
    yield "vmrs %[n], fpscr"
    yield "lsls.w %[n], %[n], #31"
    yield "beq.w 4f"
    yield "cmn.w %[most], #1"
    yield "beq.w 4f"
    yield "mvn.w %[most], #0"
    for pixel in range(tile.pixels):
        yield f"subw %[y{pixel}], %[y{pixel}], #{4 * outputs}"
    taken = 4 * outputs * (tile.products + 1)
    yield f"movw %[n], #{taken & 0xFFFF}"
    yield f"movt %[n], #{taken >> 16}"
    yield "sub.w %[w], %[w], %[n]"
    yield "b.w 1b"
    yield "4:"
