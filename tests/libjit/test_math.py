"""The float32 functions of libjit against numpy in double: every exponent, both signs, specials.

The bound is a relative error of 2e-6, and half a last place of the least subnormal number.
"""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.verify.host_library import STRICT_FLAGS, host_compiler
from tests.support.kernel_files import include_flags

Array = npt.NDArray[Any]
RELATIVE, ABSOLUTE = 2e-6, 1.5e-45

UNARY: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "expf": ("expf", np.exp),
    "expm1f": ("expf", np.expm1),
    "logf": ("logf", np.log),
    "log1pf": ("log1pf", np.log1p),
    "tanhf": ("tanhf", np.tanh),
    "logisticf": ("logisticf", lambda x: 1 / (1 + np.exp(-x))),
    "softplusf": ("softplusf", lambda x: np.logaddexp(0, x)),
    "erff": ("erff", np.vectorize(math.erf)),
    "sqrtf": ("sqrtf", np.sqrt),
    "sinf": ("sinf", np.sin),
    "cosf": ("cosf", np.cos),
    "tanf": ("tanf", np.tan),
    "asinf": ("asinf", np.arcsin),
    "acosf": ("asinf", np.arccos),
    "atanf": ("atanf", np.arctan),
    "sinhf": ("sinhf", np.sinh),
    "coshf": ("sinhf", np.cosh),
    "asinhf": ("asinhf", np.arcsinh),
    "acoshf": ("asinhf", np.arccosh),
    "atanhf": ("asinhf", np.arctanh),
}
ROUNDINGS = {
    "floorf": ("roundf", np.floor),
    "ceilf": ("roundf", np.ceil),
    "truncf": ("roundf", np.trunc),
    "round_evenf": ("roundf", np.round),
}
BINARY: dict[str, tuple[str, Callable[[Array, Array], Array]]] = {
    "powf": ("powf", np.power),
    "fmodf": ("fmodf", np.fmod),
    "floor_modf": ("fmodf", np.mod),
    "atan2f": ("atan2f", np.arctan2),
}


def interesting_numbers() -> Array:
    """Every exponent of float32 at random, whole and half numbers, small arguments, specials."""
    generator = np.random.default_rng(3)
    wide = generator.integers(0, 2**32, 200_000, dtype=np.uint64).astype(np.uint32)
    near = generator.uniform(-2, 2, 50_000).astype(np.float32)
    middle = generator.uniform(-110, 110, 50_000).astype(np.float32)
    halves = np.arange(-400, 400, dtype=np.float32) / 2
    powers = np.ldexp(np.float32(1), np.arange(-149, 128)).astype(np.float32)
    quarter_turns = (np.arange(-2000, 2000) * np.pi / 4).astype(np.float32)
    specials = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1], np.float32)
    parts = [wide.view(np.float32), near, middle, halves, quarter_turns, specials]
    for base in (powers, -powers, 1 + powers[powers < 1]):
        parts += [base, np.nextafter(base, np.float32(9)), np.nextafter(base, np.float32(-9))]
    return np.concatenate(parts).astype(np.float32)


FLAGS = {"plain": ("-O2",), "unoptimized": ("-O0",), "fused": ("-O3", "-ffp-contract=fast")}


@pytest.fixture(scope="module", params=FLAGS)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Each function over arrays, compiled with the strict flags."""
    compiler = host_compiler() or pytest.skip("needs a C compiler")
    folder: Path = tmp_path_factory.mktemp("math")
    headers = sorted({h for h, _ in (*UNARY.values(), *ROUNDINGS.values(), *BINARY.values())})
    lines = [f'#include "glowmcu_{header}.h"' for header in headers]
    declarations = []
    for name in (*UNARY, *ROUNDINGS, *BINARY):
        second = ", y[i]" if name in BINARY else ""
        declaration = f"void all_{name}(const float *x, const float *y, float *out, int32_t n)"
        declarations.append(f"{declaration};")
        lines.append(
            f"{declaration};\n{declaration} {{ (void)y; for (int32_t i = 0; i < n; ++i) "
            f"{{ out[i] = glowmcu_{name}(x[i]{second}); }} }}"
        )
    source = folder / "math.c"
    source.write_text("\n".join(lines) + "\n")
    command = [compiler, *STRICT_FLAGS, *FLAGS[request.param], "-fPIC", "-shared", *include_flags()]
    if request.param == "plain":
        command += ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
    subprocess.run([*command, str(source), "-o", str(folder / "math.so")], check=True)
    ffi = cffi.FFI()
    ffi.cdef("\n".join(declarations))
    return ffi, ffi.dlopen(str(folder / "math.so"))


def call(library: Any, name: str, x: Array, y: Array | None = None) -> Array:
    ffi, functions = library
    y = x if y is None else y
    out = np.empty_like(x)
    pointers = [ffi.cast("float *", a.ctypes.data) for a in (x, y, out)]
    getattr(functions, f"all_{name}")(*pointers, len(x))
    return out


def expect_close(got: Array, want: Array, arguments: tuple[Array, ...]) -> None:
    with np.errstate(over="ignore"):
        rounded = want.astype(np.float32)
        close = np.abs(got - want) <= RELATIVE * np.abs(want) + ABSOLUTE
    # Where the true value is next to the overflow either may be infinite.
    edge = np.isinf(got) & (np.abs(want) > 3.4028e38) | np.isinf(rounded) & (
        np.abs(got) > 3.4028e38
    )
    same = np.isinf(rounded) & (got == rounded)
    good = close | same | edge | (np.isnan(got) & np.isnan(want))
    wrong = np.flatnonzero(~good)
    samples = [(*(float(a[i]) for a in arguments), float(got[i]), float(want[i]))
               for i in wrong[:6]]  # fmt: skip
    assert not len(wrong), f"{len(wrong)} of {len(got)}: {samples}"


@pytest.mark.parametrize("name", UNARY)
def test_functions_are_within_2e_6_of_numpy_for_all_arguments(library, name) -> None:
    x = interesting_numbers()
    with np.errstate(all="ignore"):
        want = UNARY[name][1](x.astype(np.float64))
    expect_close(call(library, name, x), want, (x,))


@pytest.mark.parametrize("name", ROUNDINGS)
def test_roundings_are_exact(library, name) -> None:
    x = interesting_numbers()
    x = x[~np.isnan(x)]
    want = ROUNDINGS[name][1](x)
    got = call(library, name, x)
    assert np.array_equal(got, want)
    assert np.array_equal(np.signbit(got), np.signbit(want))


def argument_pairs(name: str) -> tuple[Array, Array]:
    generator = np.random.default_rng(4)
    x = interesting_numbers()
    y = generator.permutation(x)
    if name == "powf":
        some = generator.uniform(0.001, 30, 100_000).astype(np.float32)
        near_one = (1 + generator.normal(0, 1e-3, 50_000)).astype(np.float32)
        x = np.concatenate([x, some, near_one, -np.round(some)])
        exponents = [generator.uniform(-30, 30, 100_000), generator.uniform(-9e4, 9e4, 50_000),
                     generator.integers(-20, 20, 100_000)]  # fmt: skip
        y = np.concatenate([y, *exponents]).astype(np.float32)
    corners = np.array([0.0, -0.0, 1, -1, 2, -3, 0.5, -0.5, np.inf, -np.inf, np.nan], np.float32)
    a, b = (grid.reshape(-1) for grid in np.meshgrid(corners, corners))
    return np.concatenate([x, a]), np.concatenate([y, b])


@pytest.mark.parametrize("name", ["powf", "fmodf", "atan2f"])
def test_functions_of_two_numbers_are_as_numpy(library, name) -> None:
    x, y = argument_pairs(name)
    with np.errstate(all="ignore"):
        want = BINARY[name][1](x.astype(np.float64), y.astype(np.float64))
    expect_close(call(library, name, x, y), want, (x, y))


def test_the_remainder_of_finite_numbers_has_the_divisor_s_sign(library) -> None:
    x, y = argument_pairs("floor_modf")
    finite = np.isfinite(x) & np.isfinite(y) & (y != 0)
    x, y = x[finite], y[finite]
    expect_close(call(library, "floor_modf", x, y), np.mod(x, y).astype(np.float64), (x, y))
