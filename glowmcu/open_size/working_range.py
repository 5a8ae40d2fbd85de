"""The sizes at which a model is one network, if it is none over the whole range.

Joining paths of different strides (U-Nets) works at every second or fourth size alone, a window
without padding from its own size on. Ranges are tried with steps, the finest first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.open_size.graphs import Sized, open_graphs
from glowmcu.size_forms import OpenSize

_STEPS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 32, 48, 64)
#: Up to this step every remainder is tried, then the usual ones.
_ALL_RESTS = 8
#: Sizes at the end that are read before a range is tried.
_LAST = 3
#: Ranges that are tried, and sizes at the beginning that may be too small.
_MOST_RANGES, _MOST_DROPPED = 24, 16
#: Sizes at which the model is read in all.
_MOST_READ = 96


def working_range(size: OpenSize, sized: Sized, file_name: str) -> OpenSize | None:
    """A range within `size` that `open_graphs` makes graphs for, if one was found."""
    known: dict[int, tuple[Graph, Graph] | GlowmcuError] = {}

    def read(at: int) -> tuple[Graph, Graph]:
        if at not in known:
            try:
                known[at] = sized(at)
            except GlowmcuError as problem:
                known[at] = problem
        found = known[at]
        if isinstance(found, GlowmcuError):
            raise found
        return found

    if _fails_alike(size, read):
        return None
    tried = 0
    for stepped in _in_steps(size):
        for some in _ranges(stepped, read):
            if some == size:
                continue
            if tried == _MOST_RANGES or len(known) > _MOST_READ:
                return None
            tried += 1
            try:
                open_graphs(some, read, file_name, quantized=False)
            except GlowmcuError:
                continue
            return some
    return None


def _fails_alike(size: OpenSize, read: Sized) -> bool:
    """Whether the last sizes are refused in the same words, which then are of no size."""
    said = set()
    for at in size.sizes[-_LAST:]:
        try:
            read(at)
        except GlowmcuError as problem:
            said.add(str(problem))
        else:
            return False
    return len(said) == 1


def _in_steps(size: OpenSize) -> Iterator[OpenSize]:
    for step in _STEPS:
        rests = range(step) if step <= _ALL_RESTS else (0, 1, step - 1)
        for rest in rests:
            smallest = size.smallest + (rest - size.smallest) % step
            largest = size.largest - (size.largest - rest) % step
            if largest > smallest:
                yield OpenSize(size.symbol, smallest, largest, step)


def _ranges(size: OpenSize, read: Sized) -> Iterator[OpenSize]:
    """From the first size on at which the model can be read, and from the next one on."""
    if not all(_is_read(at, read) for at in size.sizes[-_LAST:]):
        return
    for place, at in enumerate(size.sizes[:_MOST_DROPPED]):
        if _is_read(at, read):
            for smallest in size.sizes[place : place + 2]:
                if smallest < size.largest:
                    yield replace(size, smallest=smallest)
            return


def _is_read(at: int, read: Sized) -> bool:
    try:
        read(at)
    except GlowmcuError:
        return False
    return True
