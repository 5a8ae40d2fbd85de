"""1x1 convolutions of at most eight inputs on cores with DSP instructions.

Two pixels' inputs are kept in registers while the constants of all channels pass by: with so few
inputs most of the time would go into starting and ending sums. See few_inputs_assembly.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glowmcu.goals import Goal
from glowmcu.ir.function_names import specialized
from glowmcu.ir.operation import Array
from glowmcu.kernels.common.dense_layer import (
    dense_weights,
    is_dense_layer,
    layer_bound_note,
    pixel_grid,
)
from glowmcu.kernels.common.overlap import Overlaps, block_overlaps, first_pixels, pixel_blocks
from glowmcu.kernels.dsp.dense.few_inputs_assembly import MOST_WORDS, FewShape, few_inputs_assembly
from glowmcu.kernels.dsp.dense.stream import COMMON_POSTSHIFTS, PACKED_SCALE, input_steps
from glowmcu.kernels.dsp.dense.stream_code import clamp_fields
from glowmcu.kernels.dsp.order.blocks import ordered
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
from glowmcu.kernels.requantization.forms import (
    Form,
    FormKind,
    find_form,
    largest_postshift,
    requantization_task,
)
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D

#: Channels of a block: the loop is unrolled that often.
_MOST_CHANNELS = {Goal.BALANCED: 8, Goal.SPEED: 16, Goal.SIZE: 2, Goal.RAM: 8}
#: Stores reach both pixels from the first one's first channel.
_MOST_OUT_STEP = 2040


def _overlaps(site: Site) -> Overlaps:
    """Pixels are read before they are written, one by one in the portable branch; the last of an
    odd run takes its neighbour along once more.
    """
    op, grid = site.node.op, pixel_grid(site)
    assert isinstance(op, Conv2D)
    first = first_pixels(op, site.signature, (1, 1))
    blocks = np.concatenate([
        pixel_blocks(len(first)),
        pixel_blocks(len(first), 2, row=grid.runs[1], shifted=True),
    ])  # fmt: skip
    order = np.lexsort((blocks[:, 0], blocks[:, 1]))
    return block_overlaps(site.signature, first, blocks[order], reads_first=True)


@dataclass(frozen=True)
class _Blocks:
    """How channels are cut into blocks: all of one size, the last one may overlap its neighbour."""

    count: int
    size: int

    def firsts(self, channels: int) -> list[int]:
        return [min(block * self.size, channels - self.size) for block in range(self.count)]


def _blocks(channels: int, goal: Goal) -> _Blocks:
    count = -(-channels // _MOST_CHANNELS[goal])
    return _Blocks(count, -(-channels // count))


def _form(site: Site) -> Form | None:
    task = requantization_task(site)
    most = largest_postshift(task, 8)
    common = [shift for shift in COMMON_POSTSHIFTS[FormKind.FLOOR] if shift <= most][:1]
    return find_form(task, (8,), (*common, most), (FormKind.FLOOR,))


def _stream(weights: Array, form: Form, blocks: _Blocks) -> npt.NDArray[np.int32]:
    """A channel: start, words of scaled weights, multiplier. A block of several ends with the way.

    The way is what the first pixel's address moves by, 0 after the last block.
    """
    halves = PACKED_SCALE * input_steps(weights)
    assert np.abs(halves).max(initial=0) <= 2**15
    words = (halves[..., 0] & 0xFFFF) | ((halves[..., 1] & 0xFFFF) << 16)
    columns = (form.addend[:, np.newaxis], words, form.multiplier[:, np.newaxis])
    rows = np.concatenate(columns, axis=1)
    firsts = blocks.firsts(len(weights))
    parts = [rows[first : first + blocks.size].reshape(-1) for first in firsts]
    if blocks.count > 1:
        ways = np.array([*np.diff(firsts), 0])
        parts = [np.append(part, way) for part, way in zip(parts, ways, strict=True)]
    return (np.concatenate(parts) & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


@kernel("conv_2d.few_inputs_dsp", Conv2D)
class FewInputsDsp(Kernel):
    """Two pixels' inputs in registers, a channel at a time; up to eight inputs."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or not is_dense_layer(site):
            return False
        channels, depth = (site.signature.inputs[1].shape[axis] for axis in (0, 3))
        # A last odd pixel goes with the one before, so that a row must have one.
        if depth > 2 * MOST_WORDS or channels > _MOST_OUT_STEP or pixel_grid(site).columns < 2:
            return False
        # Scaled weights of 16 bits: a zero point of weights could exceed them.
        fits = np.abs(dense_weights(site) + 0.5).max(initial=0) < 2**7
        return bool(fits) and _form(site) is not None

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        shape, grid, blocks = self._shape(site, target), pixel_grid(site), self._cut(site, target)
        runs, count = grid.runs
        pairs = runs * -(-count // 2)
        form = _form(site)
        return {
            "channel": pairs * blocks.count * blocks.size,
            "step": pairs * blocks.count * blocks.size * shape.words,
            "block": pairs * blocks.count if shape.looped else 0,
            "pair": pairs,
            "input": pairs * shape.depth,
            "run": runs * (1 + count % 2),
            "clamped": site.signature.output.element_count if form and form.clamp else 0,
        }

    def cost(self, site: Site, target: Target) -> Cost:
        shape = self._shape(site, target)
        work = self.work(site, target)
        return Cost(
            sum(_CYCLES[name] * amount for name, amount in work.items()),
            _CODE_BYTES + shape.channels * (_CHANNEL_CODE + 8 * shape.words),
            self.flash_bytes(site, target),
            code_key=self.code_key(site, target),
            around="conv_2d_few_inputs",
            around_bytes=_PIXELS_CODE_BYTES,
        )

    def flash_bytes(self, site: Site, target: Target) -> int:
        blocks, shape = self._cut(site, target), self._shape(site, target)
        return 4 * blocks.count * (blocks.size * (2 + shape.words) + int(shape.looped))

    def code_key(self, site: Site, target: Target) -> str:
        shape = self._shape(site, target)
        return specialized(
            "few",
            f"{shape.depth} to {shape.out_step} channels",
            f"by {shape.channels}",
            "loop" if shape.looped else "",
            f"shift {shape.postshift}",
        )

    def generate(self, site: Site, target: Target) -> KernelCode:
        shape, grid, form = self._shape(site, target), pixel_grid(site), _form(site)
        assert form is not None
        stream = _stream(dense_weights(site).astype(np.int32), form, self._cut(site, target))
        comment = "a channel: start, weights, multiplier"
        fields = (
            Field("stream", ConstantArray("stream", stream, comment)),
            Field("out_step", shape.out_step),
            Field("out_width", grid.columns),
            Field("in_step", grid.step),
            Field("in_row", grid.row_step),
            Field("is_dense", int(grid.is_dense)),
            *clamp_fields(form),
        )
        chosen = replace(shape, single_loads=target.core.dual_issue)
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="dsp/dense/conv_2d_few_inputs_dsp.c.j2",
            view={
                "headers": ("glowmcu_conv_2d_few_inputs.h",),
                "assembly": ordered(few_inputs_assembly(chosen), target, apart=("r1",)),
                "depth": shape.depth,
                "out_step": shape.out_step,
                "channels": shape.channels,
                "looped": shape.looped,
                "postshift": shape.postshift,
            },
            parameters=Parameters("glowmcu_conv_2d_few_inputs", fields),
            rows=grid.rows,
            batches=grid.batches,
            overlaps=_overlaps(site),
            notes=(layer_bound_note(site),),
            weight_passes=self.work(site, target)["pair"],
        )

    @staticmethod
    def _cut(site: Site, target: Target) -> _Blocks:
        return _blocks(site.signature.output.shape[3], target.goal)

    def _shape(self, site: Site, target: Target) -> FewShape:
        form, blocks = _form(site), self._cut(site, target)
        assert form is not None
        return FewShape(
            site.signature.inputs[0].shape[3],
            site.signature.output.shape[3],
            blocks.size,
            blocks.count > 1,
            form.postshift,
        )


#: Cycles of each amount of work on a Cortex-M4, until the layer is calibrated.
_CYCLES = {
    "channel": 10.0,
    "step": 3.25,
    "block": 7.0,
    "pair": 18.0,
    "input": 1.6,
    "run": 60.0,
    "clamped": 8.0,
}
_CODE_BYTES, _CHANNEL_CODE, _PIXELS_CODE_BYTES = 150, 27, 100
