"""Constants that only a stand-in reads are not there where the device computes."""

from __future__ import annotations

import numpy as np

from glowmcu.emit_c.constant_pool import ConstantPool
from glowmcu.ir.kernel_code import ConstantArray

DATA = np.arange(8, dtype=np.int8)


def views(pool: ConstantPool) -> list[tuple[str, int]]:
    return [(view.unless, view.align) for view in pool.views()]


def test_what_the_core_reads_too_is_there_in_any_case() -> None:
    for first in (True, False):
        pool = ConstantPool("m")
        if not first:
            pool.symbol(ConstantArray("weights", DATA), 0)
        with pool.read_by_device(16, "GLOWMCU_USE_X"):
            pool.symbol(ConstantArray("weights", DATA), 1)
        if first:
            assert views(pool) == [("GLOWMCU_USE_X", 16)]
            assert (pool.size_bytes, list(pool.arrays())) == (0, [])
            pool.symbol(ConstantArray("weights", DATA), 2)
        assert views(pool) == [("", 16)]
        assert pool.size_bytes == 8
        assert len(list(pool.arrays())) == 1
        assert sum(part.bytes for step in range(3) for part in pool.parts(step)) == 8


def test_two_regions_share_what_they_read() -> None:
    pool = ConstantPool("m")
    for step in (0, 1):
        with pool.read_by_device(1, "GLOWMCU_USE_X"):
            pool.symbol(ConstantArray("weights", DATA), step)
    assert views(pool) == [("GLOWMCU_USE_X", 4)]
    pool.symbol(ConstantArray("bias", DATA.astype(np.int32)), 2)
    assert [unless for unless, _ in views(pool)] == ["GLOWMCU_USE_X", ""]
