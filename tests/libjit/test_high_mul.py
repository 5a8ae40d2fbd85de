"""The product of cores without 64-bit multiplication equals the one of all others."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np

from tests.support.kernel_files import include_flags

_SOURCE = """
#include "glowmcu_requantize.h"
void products(const int32_t *a, const int32_t *b, int32_t *out, int count)
{
    for (int i = 0; i < count; ++i) {
        out[i] = glowmcu_doubling_high_mul(a[i], b[i]);
    }
}
"""


def test_four_short_products_make_the_long_one(tmp_path: Path) -> None:
    edges = [-(2**31), -(2**31) + 1, -(2**30), -65536, -65535, -32768, -1, 0, 1, 32767, 65535]
    edges += [65536, 2**30 - 1, 2**30, 2**31 - 1]
    generator = np.random.default_rng(3)
    grid = np.stack(np.meshgrid(edges, edges)).reshape(2, -1)
    free = generator.integers(-(2**31), 2**31, (2, 200_000))
    a, b = np.concatenate([grid, free], axis=1).astype(np.int32)
    keep = (a != -(2**31)) | (b != -(2**31))
    a, b = np.ascontiguousarray(a[keep]), np.ascontiguousarray(b[keep])
    (tmp_path / "m.c").write_text(_SOURCE, encoding="utf-8")
    library = tmp_path / "m.so"
    flags = ["-std=c99", "-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
    subprocess.run(
        ["gcc", *flags, "-D__ARM_ARCH_ISA_THUMB=1", *include_flags(), "-shared", "-fPIC",
         str(tmp_path / "m.c"), "-o", str(library)],
        check=True,
    )  # fmt: skip
    out = np.empty_like(a)
    pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (a, b, out))
    ctypes.CDLL(str(library)).products(*pointers, len(a))
    assert (out == (a.astype(np.int64) * b + 2**30) >> 31).all()
