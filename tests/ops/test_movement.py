"""Regions, their coalescing and the C function that copies them, against numpy views.

The C function is compiled once; every example hands it another parameter struct.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glowmcu.kernels.portable.movement import MAX_LOOPS, StridedCopy, coalesce, longest_innermost
from glowmcu.ops.movement import Copy, Region, whole
from glowmcu.verify.host_library import host_compiler
from tests.support.kernel_files import include_flags

cffi = pytest.importorskip("cffi", reason="pip install cffi")

_DECLARATION = """
typedef struct {
    int32_t unit_bytes;
    int32_t in_first;
    int32_t out_first;
    int32_t loop_count;
    const int32_t *loops;
} glowmcu_strided_copy;
void copy_bytes(const glowmcu_strided_copy *p, const void *in, void *out);
"""
_SOURCE = """
#include "glowmcu_strided_copy.h"
void copy_bytes(const glowmcu_strided_copy *p, const void *in, void *out);
void copy_bytes(const glowmcu_strided_copy *p, const void *in, void *out)
{
    glowmcu_strided_copy_bytes(p, in, out);
}
"""


class StridedCopyInC:
    """libjit's function, loaded."""

    def __init__(self, folder: Path) -> None:
        source, library = folder / "copy.c", folder / "copy.so"
        source.write_text(_SOURCE)
        flags = ["-std=c99", "-O1", "-shared", "-fPIC", *include_flags()]
        compiler = host_compiler()
        if compiler is None:
            pytest.skip("no C compiler: apt-get install gcc, or set CC")
        subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True)
        self.ffi = cffi.FFI()
        self.ffi.cdef(_DECLARATION)
        self.library = self.ffi.dlopen(str(library))

    def run(self, copy: StridedCopy, source: npt.NDArray[Any], target: npt.NDArray[Any]) -> None:
        flat = [number for loop in copy.loops for number in loop]
        loops = self.ffi.new("int32_t[]", flat) if flat else self.ffi.NULL
        parameters = self.ffi.new(
            "glowmcu_strided_copy *",
            [copy.unit_bytes, copy.in_first, copy.out_first, len(copy.loops), loops],
        )
        self.library.copy_bytes(
            parameters,
            self.ffi.cast("void *", source.ctypes.data),
            self.ffi.cast("void *", target.ctypes.data),
        )


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> StridedCopyInC:
    return StridedCopyInC(tmp_path_factory.mktemp("strided_copy"))


@dataclass(frozen=True)
class Example:
    """The same elements twice: as a region and as a numpy view of `data`."""

    data: npt.NDArray[Any]
    region: Region
    view: npt.NDArray[Any]


def _sliced(draw: st.DrawFn, region: Region, view: npt.NDArray[Any], axis: int) -> Any:
    length = view.shape[axis]
    start = draw(st.integers(0, length - 1))
    step = draw(st.sampled_from([1, 1, 2, 3, -1, -2]))
    room = (length - 1 - start) // step if step > 0 else start // -step
    count = draw(st.integers(1, room + 1))
    index = start + step * np.arange(count)
    key = tuple(index if i == axis else slice(None) for i in range(view.ndim))
    return region.along(axis, start, count, step), view[key]


@st.composite
def sources(draw: st.DrawFn) -> Example:
    """A tensor of any element size, sliced, permuted, split and repeated."""
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=0, max_size=4)))
    dtype = draw(st.sampled_from([np.uint8, np.uint16, np.uint32, np.uint64]))
    count = int(np.prod(shape))
    data = (np.arange(1, count + 1) * 0x0102030405060708 % 251 + 1).astype(dtype).reshape(shape)
    region, view = whole(shape), data
    for axis in range(len(shape)):
        if draw(st.booleans()):
            region, view = _sliced(draw, region, view, axis)
    if view.ndim and draw(st.booleans()):
        axis = draw(st.integers(0, view.ndim - 1))
        length = view.shape[axis]
        inner = draw(st.sampled_from([n for n in range(1, length + 1) if length % n == 0]))
        region = region.split(axis, inner)
        view = view.reshape(*view.shape[:axis], length // inner, inner, *view.shape[axis + 1 :])
    if draw(st.booleans()):
        axis, times = draw(st.integers(0, view.ndim)), draw(st.integers(1, 3))
        region = region.repeated(axis, times)
        view = np.repeat(np.expand_dims(view, axis), times, axis)
    order = draw(st.permutations(range(view.ndim)))
    return Example(data, region.permuted(order), view.transpose(order))


@st.composite
def copies(draw: st.DrawFn) -> tuple[Example, Region, tuple[int, ...]]:
    """A source and a box of the same shape within a tensor: source, box, the tensor's shape."""
    source = draw(sources())
    shape = source.view.shape
    paddings = [
        (draw(st.integers(0, 2)), draw(st.integers(0, 2))) if draw(st.booleans()) else (0, 0)
        for _ in shape
    ]
    outer = tuple(a + n + b for n, (a, b) in zip(shape, paddings, strict=True))
    region = whole(outer)
    for axis, (before, _) in enumerate(paddings):
        region = region.along(axis, before, shape[axis])
    return source, region, outer


@settings(max_examples=400)
@given(example=copies())
def test_copying_coalesced_regions_equals_assigning_numpy_views(
    in_c: StridedCopyInC, example: tuple[Example, Region, tuple[int, ...]]
) -> None:
    source, target, outer = example
    strided = coalesce(Copy(source.region, target), source.data.itemsize)
    assert len(strided.loops) <= MAX_LOOPS
    guard = 16
    size = int(np.prod(outer))
    got = np.zeros(size + 2 * guard, source.data.dtype)
    in_c.run(strided, source.data, got[guard:])
    want = np.zeros_like(got)
    place = np.lib.stride_tricks.as_strided(
        want[guard + target.first :],
        target.shape,
        [stride * want.itemsize for _, stride in target.loops],
    )
    place[...] = source.view
    np.testing.assert_array_equal(got, want)


@settings(max_examples=200)
@given(source=sources())
def test_contiguous_regions_are_exactly_those_that_need_no_loop(source: Example) -> None:
    strided = coalesce(Copy(source.region, whole(source.region.shape)), source.data.itemsize)
    if source.region.contiguous:
        assert strided.loops == ()
    if not strided.loops:
        assert source.region.contiguous


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_a_copy_of_a_whole_tensor_has_no_loops(shape: list[int]) -> None:
    region = whole(tuple(shape))
    assert coalesce(Copy(region, region), 4) == StridedCopy(4 * int(np.prod(shape)), 0, 0, ())


@pytest.mark.parametrize(
    ("copy", "loops"),
    [
        (Copy(whole((4, 6)).along(1, 0, 3), whole((4, 3))), ((4, 6, 3),)),
        (Copy(whole((2, 3, 4)).permuted((1, 0, 2)), whole((3, 2, 4))), ((3, 4, 8), (2, 12, 4))),
        (Copy(whole((2, 3, 4)).permuted((2, 0, 1)), whole((4, 2, 3))), ((4, 1, 6), (6, 4, 1))),
        (Copy(Region(0, ((5, 0), (3, 1))), whole((5, 3))), ((5, 0, 3),)),
    ],
    ids=["rows cut", "rows of channels change places", "two axes move as one", "rows repeated"],
)
def test_loops_are_as_few_as_they_can_be(copy: Copy, loops: tuple[tuple[int, ...], ...]) -> None:
    assert coalesce(copy, 1).loops == loops


@pytest.mark.parametrize(
    ("channels", "innermost"), [(3, (40, 1, 3)), (4, (40, 1, 4)), (50, (50, 40, 1))]
)
def test_the_longest_loop_is_innermost(channels: int, innermost: tuple[int, ...]) -> None:
    """Planes of 5x8 to pixels: a loop over few channels would be entered again for each pixel."""
    planes = whole((channels, 5, 8)).permuted((1, 2, 0))
    found = coalesce(Copy(planes, whole((5, 8, channels))), 1)
    assert longest_innermost(found).loops[-1] == innermost
    assert sorted(longest_innermost(found).loops) == sorted(found.loops)
    in_one = coalesce(Copy(planes, whole((5, 8, channels))), 16)
    assert longest_innermost(in_one) == in_one


@pytest.mark.parametrize("unit_bytes", [1, 2, 3, 4, 5, 15, 16, 17])
@pytest.mark.parametrize("count", [1, 3, 4, 5, 9])
def test_units_of_any_size(in_c: StridedCopyInC, unit_bytes: int, count: int) -> None:
    data = np.random.default_rng(0).integers(0, 256, 400).astype(np.uint8)
    step, apart = unit_bytes + 2, unit_bytes + 1
    found = np.zeros(400, np.uint8)
    in_c.run(StridedCopy(unit_bytes, 3, 5, ((count, step, apart),)), data, found)
    expected = np.zeros(400, np.uint8)
    for i in range(count):
        source, target = 3 + i * step, 5 + i * apart
        expected[target : target + unit_bytes] = data[source : source + unit_bytes]
    np.testing.assert_array_equal(found, expected)


def test_data_that_is_in_place_already_is_left_alone(in_c: StridedCopyInC) -> None:
    data = np.arange(12, dtype=np.uint8)
    in_c.run(StridedCopy(4, 8, 8, ()), data, data)
    np.testing.assert_array_equal(data, np.arange(12))
