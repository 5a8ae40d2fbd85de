"""conv_2d and fully_connected on int16 with int8 weights, on cores with Helium.

Windows are runs of neighbours that are read where they lie, so that no scratch is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glowmcu.ir.function_names import specialized
from glowmcu.ir.operation import Array
from glowmcu.kernels.common.layer_fields import constant
from glowmcu.kernels.common.wide_layer import (
    WideGeometry,
    fits_int32,
    is_wide_layer,
    wide_geometry,
    wide_note,
    wide_overlaps,
    wide_range,
    wide_scales,
    window_edges,
    window_taps,
)
from glowmcu.kernels.helium.int16.windows_assembly import (
    CHANNELS,
    LANES,
    VectorCode,
    vector_assembly,
)
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
    once_a_site,
)
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.wide import ACCUMULATOR_END

#: Instructions of each amount of work, until the layer is priced from measurements.
_AMOUNTS = {"pair": 16.0, "one": 11.0, "masked": 7.0, "run": 9.0, "block": 46.0, "pixel": 60.0,
            "row": 60.0, "call": 60.0}  # fmt: skip
#: Words behind a block's weights.
_SCALE_WORDS = 3 * CHANNELS
_STREAM = "weights and scales, 4 channels a block"


@dataclass(frozen=True, eq=False)
class _Vectors:
    """A layer's code and constants."""

    code: VectorCode
    geometry: WideGeometry

    @property
    def blocks(self) -> int:
        """Of all groups."""
        return self.geometry.groups * -(-self.geometry.group_outputs // CHANNELS)

    @property
    def run_vectors(self) -> int:
        return -(-self.geometry.run // LANES)

    @property
    def size_bytes(self) -> int:
        """Of the constants."""
        runs = self.geometry.kernel_height * self.geometry.parts
        weights = runs * self.run_vectors * LANES * CHANNELS
        return self.blocks * (weights + 4 * _SCALE_WORDS)


@kernel("wide.windows_mve", Conv2D, FullyConnected)
class WideWindowsMve(Kernel):
    """Two pixels by four channels where neighbours see the same taps; any window."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_mve or not is_wide_layer(site) or wide_scales(site) is None:
            return False
        return int(max(wide_range(site), default=0)) < ACCUMULATOR_END

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return _amounts(site)

    def flash_bytes(self, site: Site, target: Target) -> int:
        return _vectors(site).size_bytes

    def code_key(self, site: Site, target: Target) -> str:
        return specialized("vectors", *_vectors(site).code.facts)

    def cost(self, site: Site, target: Target) -> Cost:
        amounts = self.work(site, target)
        code = _vectors(site).code
        return Cost(
            sum(_AMOUNTS[name.split()[0]] * amount for name, amount in amounts.items()),
            700 if code.wide else 900,
            self.flash_bytes(site, target),
            code_key=self.code_key(site, target),
        )

    def generate(self, site: Site, target: Target) -> KernelCode:
        code, geometry = _vectors(site).code, _vectors(site).geometry
        is_dense = isinstance(site.node.op, FullyConnected)
        shape = site.signature.output.shape
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="helium/int16/wide_windows_mve.c.j2",
            view={
                "headers": ("glowmcu_wide_windows_mve.h",),
                "functions": _functions(code),
                "has_pair": not code.wide,
                "code": code,
            },
            parameters=Parameters("glowmcu_wide_vectors", _fields(site, geometry)),
            rows=1 if is_dense else shape[1],
            batches=1 if is_dense else shape[0],
            overlaps=wide_overlaps(site, 2, CHANNELS),
            notes=(wide_note(site),),
            weight_passes=_passes(site),
        )


def _functions(code: VectorCode) -> dict[str, tuple[str, ...]]:
    """Endings of names, and assembly; sums of 64 bits leave no registers for a second pixel."""
    one = {"px": vector_assembly(code, is_pair=False)}
    return one if code.wide else one | {"pair": vector_assembly(code, is_pair=True)}


def _passes(site: Site) -> float:
    """How often all weights are read: a pixel or a pair of them each."""
    return _amounts(site)["pixel"] / _vectors(site).geometry.groups


@once_a_site
def _vectors(site: Site) -> _Vectors:
    geometry = _geometry(site)
    is_trimmed, is_empty = window_edges(site, wide_geometry(site))
    cut = geometry.group_inputs if is_trimmed and geometry.parts == 1 else geometry.run
    code = VectorCode(
        wide=not fits_int32(site),
        masked=bool(geometry.run % LANES or cut % LANES or is_empty),
        parts=geometry.parts > 1,
        single=geometry.kernel_height == geometry.parts == 1 and not is_trimmed and not is_empty,
    )
    return _Vectors(code, geometry)


def _geometry(site: Site) -> WideGeometry:
    """Of a fully connected layer rows are neighbours: pixels of one row."""
    geometry = wide_geometry(site)
    if isinstance(site.node.op, FullyConnected):
        rows = geometry.in_height
        return replace(geometry, in_height=1, in_width=rows, out_width=rows)
    return geometry


def _fields(site: Site, geometry: WideGeometry) -> tuple[Field, ...]:
    op = site.node.op
    assert isinstance(op, Conv2D | FullyConnected)
    names = (
        "in_height", "in_width", "in_channels", "out_width", "kernel_height", "kernel_width",
        "stride_y", "stride_x", "dilation_y", "dilation_x", "pad_top", "pad_left", "groups",
        "group_inputs", "group_outputs", "parts",
    )  # fmt: skip
    least, most = op.clamp_range(site.signature)
    return (
        *(Field(name, getattr(geometry, name)) for name in names),
        Field("clamp_min", least),
        Field("clamp_max", most),
        Field("stream", ConstantArray("stream", _stream(site), _STREAM)),
    )


def _stream(site: Site) -> npt.NDArray[np.int32]:
    vectors = _vectors(site)
    weights = constant(site, 1).astype(np.int8)
    blocks = _by_blocks(weights.reshape(len(weights), -1), vectors)
    runs = blocks.reshape(vectors.blocks, CHANNELS, -1, vectors.geometry.run)
    room = -vectors.geometry.run % LANES
    runs = np.pad(runs, ((0, 0), (0, 0), (0, 0), (0, room)))
    parts = runs.reshape(vectors.blocks, CHANNELS, -1, LANES).transpose(0, 2, 1, 3)
    words = np.ascontiguousarray(parts).reshape(vectors.blocks, -1).view("<i4")
    scales = _by_blocks(_scales(site), vectors)
    ordered = scales if vectors.code.wide else scales.transpose(0, 2, 1)
    return np.concatenate(
        [words, np.ascontiguousarray(ordered).reshape(vectors.blocks, -1)], axis=1
    ).astype(np.int32).reshape(-1)  # fmt: skip


def _scales(site: Site) -> Array:
    """(channels, words): bias, multiplier and shift, or the bias in two words and both in one."""
    known = wide_scales(site)
    assert known is not None
    multipliers, shifts = known
    bias = constant(site, 2).astype(np.int64)
    if fits_int32(site):
        return np.stack([bias, multipliers << 16, -shifts], axis=1)
    words = np.stack([bias, bias >> 32, (multipliers << 16) | shifts], axis=1)
    return words.astype(np.uint32).view(np.int32).astype(np.int64)


def _by_blocks(rows: Array, vectors: _Vectors) -> Array:
    """(outputs, n) to (blocks, channels, n), with zeros behind the last channels of a group."""
    geometry = vectors.geometry
    groups = rows.reshape(geometry.groups, geometry.group_outputs, -1)
    room = -geometry.group_outputs % CHANNELS
    padded = np.pad(groups, ((0, 0), (0, room), (0, 0)))
    return padded.reshape(vectors.blocks, CHANNELS, -1)


@once_a_site
def _amounts(site: Site) -> dict[str, float]:
    """Amounts of work: vectors of inputs and what else there is, a block or a pixel at a time."""
    vectors = _vectors(site)
    geometry, code = vectors.geometry, vectors.code
    down, along = window_taps(site, wide_geometry(site))
    if isinstance(site.node.op, FullyConnected):
        down, along = [1], [1] * geometry.out_width
    batches = 1 if isinstance(site.node.op, FullyConnected) else site.signature.output.shape[0]
    found = {"pair": 0, "one": 0, "masked": 0, "run": 0, "block pair": 0, "block one": 0}
    pixels = at = 0
    while at < len(along):
        together = geometry.parts == 1
        is_pair = not code.wide and at + 1 < len(along) and along[at] == along[at + 1]
        inputs = (along[at] if together else 1) * geometry.group_inputs
        runs = sum(down) * (1 if together else along[at])
        found["pair" if is_pair else "one"] += runs * (inputs // LANES)
        found["masked"] += runs * bool(inputs % LANES)
        found["run"] += 0 if code.single else runs
        found["block pair" if is_pair else "block one"] += len(down)
        pixels += len(down)
        at += 1 + is_pair
    each = batches * vectors.blocks
    amounts = {name: each * amount for name, amount in found.items()}
    wide = " wide" * code.wide
    return {
        "call": batches,
        "row": batches * len(down),
        "pixel": batches * geometry.groups * pixels,
        **{f"{name}{wide}": amount for name, amount in amounts.items()},
    }
