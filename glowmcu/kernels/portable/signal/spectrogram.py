"""Kernel of `spectrogram`: a function of the layer's own, a frame at a time in scratch memory.

The transform is by radices in place, in words of 32 bits with twiddles of 16
(glowmcu_spectrum.h); the same C on every core. Filters keep their weights that count alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.kernels.kernel import (
    ConstantArray,
    Cost,
    Kernel,
    KernelCode,
    Site,
    Target,
    kernel,
    once_a_site,
)
from glowmcu.kernels.portable.signal.fft import First, has_long_products, stage_twiddles, sums_order
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.mixed_radix_fft import Complex, radices
from glowmcu.ops.signal_filter_bank import log_table
from glowmcu.ops.spectrogram import Spectrogram
from glowmcu.ops.spectrogram_features import Features
from glowmcu.ops.spectrum_words import real_phases, root, stage_phases, turns, window_shift


@dataclass(frozen=True)
class Bins:
    """Those that count."""

    first: int
    count: int


@dataclass(frozen=True)
class Bank:
    """Where each filter begins among the bins that count, how many it takes, and their weights."""

    places: Array
    weights: Array


def _op(site: Site) -> Spectrogram:
    op = site.node.op
    assert isinstance(op, Spectrogram)
    return op


@once_a_site
def _bins(site: Site) -> Bins:
    first, end = _op(site).used_bins(site.constants[2] if len(site.constants) == 3 else None)
    return Bins(first, end - first)


@once_a_site
def _bank(site: Site) -> Bank | None:
    if len(site.constants) < 3:
        return None
    bank, first = site.constants[2], _bins(site).first
    assert bank is not None
    places, weights = [], [np.empty(0, np.int16)]
    for row in bank:
        counted = np.flatnonzero(row)
        begin, end = (counted[0], counted[-1] + 1) if counted.size else (first, first)
        places.append((begin - first, end - begin))
        weights.append(row[begin:end])
    return Bank(np.array(places, np.int16).reshape(-1), np.concatenate(weights))


@kernel("spectrogram.portable", Spectrogram)
class PortableSpectrogram(Kernel):
    """Samples of int16; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        is_known = all(data is not None for data in site.constants[1:])
        return is_known and site.signature.inputs[0].element is ElementType.I16

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return 4 * (_op(site).length + 2)

    def cost(self, site: Site, target: Target) -> Cost:
        op, bank = _op(site), _bank(site)
        core = target.core
        number, each = (14.0, 10.0) if core.has_dsp else (24.0, 12.0)
        if not has_long_products(core):
            number, each = 55.0, 26.0
        stages = len(radices(op.length // 2)) + 1
        features = site.signature.output.shape[2]
        cycles = number * stages * op.length / 2 + each * _bins(site).count
        cycles += each * (0 if bank is None else len(bank.weights)) + 12.0 * each * features
        cycles += 150.0 * _bins(site).count * op.is_magnitude
        weights = 0 if bank is None else bank.weights.nbytes + bank.places.nbytes
        frames = site.signature.output.shape[0] * op.frames
        return Cost(
            cycles * frames, 0, 7 * op.length + weights + 258, self.scratch_bytes(site, target),
            layer_code_bytes=900 + 200 * len(set(radices(op.length // 2))),
        )  # fmt: skip

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x = _op(site), site.signature.inputs[0]
        window, bank = site.constants[1], _bank(site)
        assert window is not None
        code = op.features(site.signature, window)
        headers = ["glowmcu_spectrum.h"]
        if op.is_magnitude:
            headers.append("glowmcu_spectrum_roots.h")
        view: dict[str, Any] = {
            "out_type": site.signature.output.element.c_name,
            "batches": x.shape[0],
            "batch_samples": x.shape[1],
            "frames": op.frames,
            "step": op.step,
            "first": op.first,
            "samples": window.size,
            "window": ConstantArray("window", window),
            "shift": window_shift(window, op.length),
            **_transform(op.length),
            "bins": _bins(site),
            "is_magnitude": op.is_magnitude,
            "features": site.signature.output.shape[2],
            "bank": None if bank is None else ConstantArray("bank", bank.places),
            "weights": None if bank is None else ConstantArray("weights", bank.weights),
            "code": code,
            **_tables(code),
            "headers": tuple(headers),
        }
        return KernelCode(
            "", (0,), template="portable/signal/spectrogram.c.j2", view=view,
            scratch_bytes=self.scratch_bytes(site, target),
        )  # fmt: skip


def _transform(length: int) -> dict[str, Any]:
    half, factors = length // 2, radices(length // 2)
    stages, twiddles = stage_twiddles(half, factors, _halves(turns(stage_phases(half))))
    real = _halves(turns(real_phases(half)))
    return {
        "length": length,
        "half": half,
        "radices": sorted(set(factors)),
        "first_stage": First(factors[-1], 2 * half // factors[-1]),
        "stages": stages,
        "roots": {p: root(p) for p in factors if p in (3, 5)},
        "turns": ConstantArray("turns", twiddles),
        "real_turns": ConstantArray("real_turns", np.stack([real.re, real.im], -1).reshape(-1)),
        "places": ConstantArray("places", sums_order(factors)[:: factors[-1]].astype(np.int16)),
    }


def _halves(z: Complex) -> Complex:
    return Complex(z.re.astype(np.int16), z.im.astype(np.int16))


def _pairs(name: str, pair: Sequence[Array]) -> ConstantArray:
    """Numbers with their powers, in turn."""
    return ConstantArray(name, np.stack(pair, -1).reshape(-1).astype(np.int32))


def _tables(code: Features) -> dict[str, Any]:
    """Constants of the features; a single number for units that are all the same."""
    found: dict[str, Any] = {
        "floors": None if code.floors is None else _pairs("floors", code.floors)
    }
    if not code.is_logarithm:
        return {**found, "factors": _pairs("factors", code.factors)}
    units = code.log_units
    is_one = bool((units == units[0]).all())
    return {
        **found,
        "logarithms": ConstantArray("logarithms", log_table().astype(np.int16)),
        "has_units": not is_one,
        "units": int(units[0]) if is_one else ConstantArray("units", units.astype(np.int32)),
    }
