"""Portable kernels from energies to features: filter bank, roots, noise, gain, logarithms."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.kernels.common.overlap import element_overlaps
from glowmcu.kernels.kernel import (
    ConstantArray,
    Cost,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.kernels.portable.signal.fft import has_long_products
from glowmcu.ops.signal_filter_bank import (
    FilterBank,
    FilterBankLog,
    FilterBankSpectralSubtraction,
    FilterBankSquareRoot,
    Pcan,
    log_table,
)


def _packed(site: Site) -> tuple[Array, Array]:
    """Where each channel's energies are, and their weights in turn; ends that count for nothing
    are left out.
    """
    op, (_, weights, unweights) = site.node.op, site.constants
    assert isinstance(op, FilterBank)
    assert weights is not None
    assert unweights is not None
    places, packed = [], [np.empty((0, 2), np.int16)]
    for start, at, width in zip(op.starts, op.weight_starts, op.widths, strict=True):
        pairs = np.stack([weights[at : at + width], unweights[at : at + width]], 1)
        counted = np.flatnonzero(pairs.any(1))
        first, end = (counted[0], counted[-1] + 1) if counted.size else (0, 0)
        places.append((start + first, end - first))
        packed.append(pairs[first:end])
    return np.array(places), np.concatenate(packed).reshape(-1).astype(np.int16)


def _is_known(site: Site) -> bool:
    constants = site.constants[1] is not None and site.constants[2] is not None
    return constants and site.signature.inputs[0].element_count < 2**15


def _bank_code(site: Site, function: str, header: str) -> KernelCode:
    places, weights = _packed(site)
    fields = (
        Field("channels", site.signature.output.element_count),
        Field("places", ConstantArray("places", places.reshape(-1).astype(np.int16))),
        Field("weights", ConstantArray("weights", weights)),
    )
    parameters = Parameters("glowmcu_signal_filter_bank", fields)
    return KernelCode(function=function, operands=(0,), header=header, parameters=parameters)


def _bank_cost(site: Site, cycles: float, code_bytes: int) -> Cost:
    places, weights = _packed(site)
    total = cycles * int(places[:, 1].sum()) + 25.0 * len(places)
    return Cost(total, code_bytes, 12 + 4 * len(places) + weights.nbytes)


@kernel("signal_filter_bank.portable", FilterBank)
class PortableFilterBank(Kernel):
    """Weights that are known, products of 64 bits; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return _is_known(site)

    def cost(self, site: Site, target: Target) -> Cost:
        return _bank_cost(site, 15.0 if has_long_products(target.core) else 150.0, 130)

    def generate(self, site: Site, target: Target) -> KernelCode:
        is_signed = bool((_packed(site)[1] < 0).any())
        kind, ending = ("signed", "_signed") if is_signed else ("filter", "")
        function = f"glowmcu_signal_{kind}_bank_u32"
        return _bank_code(site, function, f"glowmcu_signal_filter_bank{ending}.h")


#: The weights of a channel together: times 2^16 - 1 they stay below 2^32.
_MOST_WEIGHT = 2**16


@kernel("signal_filter_bank.halves", FilterBank)
class HalvesFilterBank(Kernel):
    """Weights without a sign that are known, halves of energies by products of 32 bits; any core,
    and pays if there are no longer ones.
    """

    def accepts(self, site: Site, target: Target) -> bool:
        if not _is_known(site):
            return False
        places, weights = _packed(site)
        pairs = weights.reshape(-1, 2).astype(np.int64)
        ends = np.cumsum(places[:, 1])
        sums = [
            pairs[end - width : end].sum(0) for end, width in zip(ends, places[:, 1], strict=True)
        ]
        return bool((pairs >= 0).all() and np.max(sums) <= _MOST_WEIGHT)

    def cost(self, site: Site, target: Target) -> Cost:
        return _bank_cost(site, 22.0, 150)

    def generate(self, site: Site, target: Target) -> KernelCode:
        function = "glowmcu_signal_halves_bank_u32"
        return _bank_code(site, function, "glowmcu_signal_filter_bank_halves.h")


def _element_cost(
    site: Site, target: Target, cycles: float, without_long: float, code_bytes: int, flash: int
) -> Cost:
    """Cycles an element, with products of 64 bits and without."""
    each = cycles if has_long_products(target.core) else without_long
    return Cost(each * site.signature.output.element_count, code_bytes, flash)


@kernel("signal_square_root.portable", FilterBankSquareRoot)
class PortableSquareRoot(Kernel):
    """Any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        return _element_cost(site, target, 210.0, 290.0, 300, 4)

    def generate(self, site: Site, target: Target) -> KernelCode:
        count = Field("count", site.signature.output.element_count)
        return KernelCode(
            function="glowmcu_signal_square_root_u64",
            operands=(0, 1),
            header="glowmcu_signal_square_root.h",
            parameters=Parameters("glowmcu_signal_square_root", (count,)),
        )


@kernel("signal_spectral_subtraction.portable", FilterBankSpectralSubtraction)
class PortableSpectralSubtraction(Kernel):
    """Any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        return _element_cost(site, target, 35.0, 230.0, 160, 36)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, FilterBankSpectralSubtraction)
        fields = (
            Field("count", site.signature.output.element_count),
            Field("least_left", op.min_signal_remaining % 2**32),
            Field("smoothing_bits", op.smoothing_bits),
            Field("bits", op.spectral_subtraction_bits),
            Field("is_clamped", int(op.clamping)),
            Field("even", _smoothing(op.smoothing, op.one_minus_smoothing)),
            Field("odd", _smoothing(op.alternate_smoothing, op.alternate_one_minus_smoothing)),
        )
        return KernelCode(
            function="glowmcu_signal_subtraction_u32",
            operands=(0, 1),
            header="glowmcu_signal_spectral_subtraction.h",
            parameters=Parameters("glowmcu_signal_subtraction", fields),
            overlaps=element_overlaps(site.signature),
        )


def _smoothing(heard: int, before: int) -> Parameters:
    fields = (Field("heard", heard % 2**32), Field("before", before % 2**32))
    return Parameters("glowmcu_signal_smoothing", fields)


@kernel("signal_pcan.portable", Pcan)
class PortablePcan(Kernel):
    """Any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        return _element_cost(site, target, 48.0, 176.0, 150, 8)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, Pcan)
        fields = (
            Field("count", site.signature.output.element_count),
            Field("shift", op.snr_shift),
        )
        return KernelCode(
            function="glowmcu_signal_pcan_u32",
            operands=(0, 1, 2),
            header="glowmcu_signal_pcan.h",
            parameters=Parameters("glowmcu_signal_pcan", fields),
            overlaps=element_overlaps(site.signature),
        )


@kernel("signal_log.portable", FilterBankLog)
class PortableLog(Kernel):
    """Any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        return _element_cost(site, target, 44.0, 172.0, 130, 16 + 258)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, FilterBankLog)
        fields = (
            Field("count", site.signature.output.element_count),
            Field("input_bits", op.input_correction_bits),
            Field("output_scale", op.output_scale % 2**32),
            Field("table", ConstantArray("logarithms", log_table().astype(np.int16))),
        )
        return KernelCode(
            function="glowmcu_signal_log_u32",
            operands=(0,),
            header="glowmcu_signal_log.h",
            parameters=Parameters("glowmcu_signal_log", fields),
        )
