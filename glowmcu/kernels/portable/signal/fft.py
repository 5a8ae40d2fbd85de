"""Kernel of `signal_rfft` and `signal_irfft`: a function of the layer's own, by radices in place.

Twiddles stand in the order that the sums read them: those of a stage together, place by place.
The same C on every core; with DSP instructions a number of int16 is a word
(glowmcu_complex_s16.h).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from glowmcu.cores import Core
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.kernels.kernel import ConstantArray, Cost, Kernel, KernelCode, Site, Target, kernel
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.mixed_radix_fft import Arithmetic, Complex, arithmetic_of, radices, real_twiddles
from glowmcu.ops.mixed_radix_fft import twiddles as roots_of_one
from glowmcu.ops.signal_fft import Fft, Irfft, Rfft

#: Type of numbers and header in C.
_COMPLEX = {
    ElementType.I16: ("glowmcu_c16", "glowmcu_complex_s16.h"),
    ElementType.I32: ("glowmcu_c32", "glowmcu_complex_s32.h"),
    ElementType.F32: ("glowmcu_cf32", "glowmcu_complex_f32.h"),
}
#: Cycles of a number in a stage: if the core has DSP instructions, products of 64 bits, an FPU,
#: and if it does not.
_CYCLES = {
    ElementType.I16: (16.0, 52.0),
    ElementType.I32: (67.0, 268.0),
    ElementType.F32: (23.0, 1015.0),
}


def has_long_products(core: Core) -> bool:
    """Whether two words multiply to 64 bits in an instruction."""
    return not core.architecture.startswith("armv6")


@dataclass(frozen=True)
class Stage:
    """Sums of `radix` numbers that lie `m` apart; its twiddles begin at element `offset`."""

    radix: int
    m: int
    offset: int


@dataclass(frozen=True)
class First:
    """The first sums: `step` elements lie between their numbers."""

    radix: int
    step: int


def _pairs(z: Complex) -> Array:
    return np.stack([z.re, z.im], -1).reshape(-1)


def sums_order(factors: tuple[int, ...]) -> Array:
    """Which sample stands where before the first sums: part q is every p-th from q on."""
    order = np.zeros(1, np.int64)
    for radix in reversed(factors):
        order = (radix * order[np.newaxis, :] + np.arange(radix)[:, np.newaxis]).reshape(-1)
    return order


def stage_twiddles(
    half: int, factors: tuple[int, ...], roots: Complex
) -> tuple[tuple[Stage, ...], Array]:
    """Stages behind the first, and all their twiddles; the first element is the root 1."""
    found, m = [_pairs(roots.at(slice(0, 1)))], factors[-1]
    stages, offset = [], 2
    for radix in reversed(factors[:-1]):
        step = half // (m * radix)
        places = np.arange(m)[:, np.newaxis] * np.arange(1, radix) * step
        found.append(_pairs(roots.at(places.reshape(-1))))
        stages.append(Stage(radix, m, offset))
        offset += found[-1].size
        m *= radix
    return tuple(stages), np.concatenate(found)


def _roots(radix: int, half: int, roots: Complex) -> dict[str, int | float]:
    """Numbers of the sums of 3 and 5."""
    first, second = roots.at(half // radix), roots.at(2 * half // radix)
    parts = {"re": first.re, "im": first.im, "second_re": second.re, "second_im": second.im}
    return {name: part.item() for name, part in parts.items()}


def _shares(factors: tuple[int, ...], numbers: Arithmetic) -> Mapping[int, int]:
    if numbers.is_float:
        return {}
    one = 2**numbers.fraction_bits - 1
    return {radix: one // radix for radix in (2, *factors)}


@kernel("signal_fft.portable", Rfft, Irfft)
class PortableFft(Kernel):
    """In the memory of the result; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        op, x = site.node.op, site.signature.inputs[0]
        assert isinstance(op, Fft)
        factors = radices(op.length // 2)
        is_fast = {
            ElementType.I16: target.core.has_dsp,
            ElementType.I32: has_long_products(target.core),
            ElementType.F32: target.core.has_fpu,
        }[x.element]
        cycles = _CYCLES[x.element][not is_fast] * (len(factors) + 1) * op.length / 2
        outer = x.element_count // x.shape[-1]
        flash = 3 * op.length * x.element.size_bytes
        return Cost(cycles * outer, 0, flash, layer_code_bytes=400 + 150 * len(set(factors)))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x = site.node.op, site.signature.inputs[0]
        assert isinstance(op, Fft)
        numbers, half = arithmetic_of(x.element.numpy), op.length // 2
        inverse, factors = isinstance(op, Irfft), radices(half)
        roots = roots_of_one(half, inverse, numbers)
        stages, twiddles = stage_twiddles(half, factors, roots)
        order = sums_order(factors)
        # Forward the first sums fetch their numbers, inverse they are put where they are summed.
        places = np.argsort(order) if inverse else order[:: factors[-1]]
        name, header = _COMPLEX[x.element]
        view = {
            "type": x.element.c_name,
            "c": name,
            "length": op.length,
            "half": half,
            "samples": x.shape[-1],
            "outer": x.element_count // x.shape[-1],
            "inverse": inverse,
            "is_float": numbers.is_float,
            "radices": sorted(set(factors)),
            "first": First(factors[-1], 2 * half // factors[-1]),
            "stages": stages,
            "shares": _shares(factors, numbers),
            "roots": {p: _roots(p, half, roots) for p in factors if p in (3, 5)},
            "twiddles": ConstantArray("twiddles", twiddles),
            "real_twiddles": ConstantArray(
                "real_twiddles", _pairs(real_twiddles(half, inverse, numbers))
            ),
            "places": ConstantArray("places", places.astype(np.int16)),
            "headers": (header,),
        }
        return KernelCode(
            function="", operands=(0,), template="portable/signal/signal_fft.c.j2", view=view
        )
