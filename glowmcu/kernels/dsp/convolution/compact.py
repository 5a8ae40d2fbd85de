"""Small kernels for cores with DSP instructions: one function for all convolutions and dense rows.

The loops of `conv_2d.pointwise_dsp` and `fully_connected.dsp`, two steps a round instead of 16. A
window becomes a pixel: its values are copied together, two windows at a time. Requantization is the
literal form's, so that all layers share one function, or a proved one, with less constants, which
most layers of a model may have in common. For `--optimize size` and flash budgets.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from glowmcu.ir.function_names import specialized
from glowmcu.kernels.common.dense_layer import (
    dense_weights,
    is_dense_layer,
    layer_bound_note,
    pixel_grid,
)
from glowmcu.kernels.common.four_bits import FOUR_BITS_NOTES
from glowmcu.kernels.common.overlap import Overlaps, window_overlaps
from glowmcu.kernels.dsp.convolution.rows import is_plain_int8_conv
from glowmcu.kernels.dsp.dense.fully_connected import FullyConnectedDsp
from glowmcu.kernels.dsp.dense.layer import layer_stream, pair_overlaps
from glowmcu.kernels.dsp.dense.pointwise import APART, dense_fields
from glowmcu.kernels.dsp.dense.pointwise_assembly import STEP_BYTES, pairs_assembly
from glowmcu.kernels.dsp.dense.stream import BlockLayout, DenseStream, packs_badly
from glowmcu.kernels.dsp.dense.stream_code import pairs_headers, stream_view
from glowmcu.kernels.dsp.order.blocks import ordered
from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.kernels.requantization.forms import FormKind, find_form, requantization_task
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected

#: Steps of a round: the fewer, the smaller and slower.
_ROUND_STEPS = 2
_CHANNELS = 4
#: Weights from which on a single pixel should not go through the function for two.
_LARGE_ROW = 4096
#: Of one function with proved steps and the C around it, alone in a bundle.
_PROVED_CODE_BYTES = 1004


@kernel("conv_2d.compact_dsp", Conv2D, FullyConnected)
class CompactConv2D(Kernel):
    """Two pixels by four channels in a short loop; windows are copied together."""

    #: What the function is called.
    kind: ClassVar[str] = "compact"
    round_steps: ClassVar[int] = _ROUND_STEPS

    def carries(self, stream: DenseStream, target: Target) -> bool:
        """Whether a step loads for the next one, which makes the code longer."""
        return False

    def find_stream(self, site: Site) -> DenseStream | None:
        """The constants, None if the form is not exact."""
        task, weights = requantization_task(site), dense_weights(site)
        form = find_form(task, kinds=(FormKind.LITERAL,))
        if form is None:
            return None
        wide = packs_badly(task, form, weights, _CHANNELS)
        return DenseStream(form, BlockLayout(form.kind, wide, _CHANNELS), weights)

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp:
            return False
        if isinstance(site.node.op, Conv2D):
            suits = is_plain_int8_conv(site)
        else:
            suits = is_dense_layer(site)
        return suits and not _is_single_and_large(site) and self.find_stream(site) is not None

    def work(self, site: Site, target: Target) -> dict[str, float]:
        stream, grid = self._stream(site), pixel_grid(site)
        pairs = grid.batches * -(-grid.rows * grid.columns // 2)
        wide = " wide" if stream.layout.wide else ""
        windows = grid.batches * grid.rows * grid.columns if patch_bytes(site) else 0
        kind = "" if stream.form.kind is FormKind.LITERAL else f" {stream.form.kind.value}"
        return {
            "call": 1.0,
            f"step{wide}": pairs * stream.blocks * stream.steps,
            f"block{kind}{wide}": pairs * stream.blocks,
            "input": pairs * stream.depth,
            "pair": pairs,
            "window": windows,
            "copied row": windows * _window(site)[0],
            "copied byte": windows * stream.depth,
            "clamped": site.signature.output.element_count if stream.form.clamp else 0,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return self._stream(site).size_bytes

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return STEP_BYTES * self._stream(site).steps + 2 * patch_bytes(site)

    def code_key(self, site: Site, target: Target) -> str:
        return specialized(self.kind, *self._stream(site).facts)

    def generate(self, site: Site, target: Target) -> KernelCode:
        stream, grid = self._stream(site), pixel_grid(site)
        carried = self.carries(stream, target)
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="dsp/convolution/conv_2d_compact_dsp.c.j2",
            view={
                "struct": "glowmcu_conv_2d_compact",
                "headers": ("glowmcu_conv_2d_compact.h", *pairs_headers(stream)),
                "assembly": ordered(
                    pairs_assembly(stream.layout, stream.form.postshift, self.round_steps, carried),
                    target,
                    apart=APART if carried else (),
                ),
                **stream_view(stream),
            },
            parameters=Parameters(
                "glowmcu_conv_2d_compact",
                _compact_fields(site, stream, self.round_steps, carried),
            ),
            rows=grid.rows,
            batches=grid.batches,
            overlaps=_overlaps(site),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(layer_bound_note(site), *FOUR_BITS_NOTES[: self.stores_four_bits]),
            weight_passes=self.work(site, target)["pair"],
        )

    def _stream(self, site: Site) -> DenseStream:
        stream = self.find_stream(site)
        assert stream is not None
        return stream


@kernel("conv_2d.compact_proved_dsp", Conv2D, FullyConnected)
class ProvedCompactConv2D(CompactConv2D):
    """The same with fewer steps a result: for layers whose requantization has a proved form."""

    def cost(self, site: Site, target: Target) -> Cost:
        """As calibrated, but for the code: its samples have functions that share most of it."""
        return replace(super().cost(site, target), code_bytes=_PROVED_CODE_BYTES)

    def find_stream(self, site: Site) -> DenseStream | None:
        stream = layer_stream(site, _CHANNELS)
        return None if stream is None or stream.form.kind is FormKind.LITERAL else stream


def _overlaps(site: Site) -> Overlaps:
    """Pairs of pixels of all rows together, read or copied first."""
    op = site.node.op
    if isinstance(op, Conv2D):
        return window_overlaps(op, site.signature, _window(site), size=2, reads_first=True)
    return pair_overlaps(site)


def _window(site: Site) -> tuple[int, int]:
    """Height and width."""
    shape = site.signature.inputs[1].shape
    return (shape[1], shape[2]) if isinstance(site.node.op, Conv2D) else (1, 1)


def _is_single_and_large(site: Site) -> bool:
    weights = site.signature.inputs[1]
    return pixel_grid(site).runs == (1, 1) and weights.element_count > _LARGE_ROW


def patch_bytes(site: Site) -> int:
    """Of a window's copy; 0 if windows are evenly spaced pixels of the image."""
    if is_dense_layer(site) and pixel_grid(site).is_dense:
        return 0
    return (int(dense_weights(site).shape[1]) + 3) // 4 * 4


def _compact_fields(
    site: Site, stream: DenseStream, round_steps: int, carried: bool
) -> tuple[Field, ...]:
    grid, step = pixel_grid(site), patch_bytes(site)
    if step:
        grid = replace(grid, step=step)
    op, x = site.node.op, site.signature.inputs[0]
    height, width = _window(site)
    is_window = isinstance(op, Conv2D)
    dilations = op.dilations if isinstance(op, Conv2D) else (1, 1)
    return (
        Field(
            "dense",
            Parameters(
                "glowmcu_conv_2d_pointwise", dense_fields(grid, stream, round_steps, carried)
            ),
        ),
        Field("is_copied", int(step > 0)),
        Field("in_height", x.shape[1] if is_window else 1),
        Field("in_width", x.shape[2] if is_window else 1),
        Field("in_channels", x.shape[-1]),
        Field("kernel_height", height),
        Field("kernel_width", width),
        Field("stride_y", op.strides[0] if isinstance(op, Conv2D) else 1),
        Field("stride_x", op.strides[1] if isinstance(op, Conv2D) else 1),
        Field("dilation_y", dilations[0]),
        Field("dilation_x", dilations[1]),
        Field("pad_top", op.padding[0] if isinstance(op, Conv2D) else 0),
        Field("pad_left", op.padding[1] if isinstance(op, Conv2D) else 0),
        Field("in_zero_point", x.zero_point),
        Field("together", width if dilations[1] == 1 else 1),
    )


@kernel("fully_connected.compact_dsp", Conv2D, FullyConnected)
class CompactFullyConnected(FullyConnectedDsp):
    """As `fully_connected.dsp`, in a short loop."""

    kind: ClassVar[str] = "fccompact"
    round_steps: ClassVar[int] = _ROUND_STEPS
