"""Small kernels for cores with DSP instructions: one function for all convolutions and dense rows.

The loops of `conv_2d.pointwise_dsp` and `fully_connected.dsp`, two steps a round instead of 16. A
window becomes a pixel: its values are copied together, two pixels at a time. Requantization is the
literal form's, so that all layers share one function. For `--optimize size` and flash budgets.
"""

from __future__ import annotations

from typing import ClassVar

from glowmcu.kernels.convolution_dsp import is_plain_int8_conv
from glowmcu.kernels.dense_layer import dense_weights, is_dense_layer, layer_bound_note, pixel_grid
from glowmcu.kernels.dense_stream import BlockLayout, DenseStream, packs_badly
from glowmcu.kernels.fully_connected_dsp import FullyConnectedDsp
from glowmcu.kernels.kernel import Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.kernels.pointwise_assembly import STEP_BYTES, pairs_assembly
from glowmcu.kernels.pointwise_dsp import dense_fields
from glowmcu.kernels.requantization import FormKind, find_form, requantization_task
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected

#: Steps of a round: the fewer, the smaller and slower.
_ROUND_STEPS = 2
_CHANNELS = 4
#: Weights from which on a single pixel should not go through the function for two.
_LARGE_ROW = 4096


@kernel("conv_2d.compact_dsp", Conv2D, FullyConnected)
class CompactConv2D(Kernel):
    """Two pixels by four channels in a short loop; windows are copied together."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp:
            return False
        if isinstance(site.node.op, Conv2D):
            suits = is_plain_int8_conv(site)
        else:
            suits = is_dense_layer(site)
        return suits and not _is_single_and_large(site) and _literal_stream(site) is not None

    def work(self, site: Site, target: Target) -> dict[str, float]:
        stream, grid = _stream(site), pixel_grid(site)
        pairs = grid.batches * -(-grid.rows * grid.columns // 2)
        wide = " wide" if stream.layout.wide else ""
        windows = grid.batches * grid.rows * grid.columns if _patch_bytes(site) else 0
        return {
            "call": 1.0,
            f"step{wide}": pairs * stream.blocks * stream.steps,
            f"block{wide}": pairs * stream.blocks,
            "input": pairs * stream.depth,
            "pair": pairs,
            "window": windows,
            "copied row": windows * _window(site)[0],
            "copied byte": windows * stream.depth,
            "clamped": site.signature.output.element_count if stream.form.clamp else 0,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return _stream(site).size_bytes

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return STEP_BYTES * _stream(site).steps + 2 * _patch_bytes(site)

    def code_key(self, site: Site, target: Target) -> str:
        return f"glowmcu_conv_2d_compact{_stream(site).suffix}"

    def generate(self, site: Site, target: Target) -> KernelCode:
        stream, grid = _stream(site), pixel_grid(site)
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="conv_2d_compact_dsp.c.j2",
            view={
                "headers": ("glowmcu_conv_2d_compact.h",),
                "assembly": pairs_assembly(stream.layout, stream.form.postshift, _ROUND_STEPS),
                "form": stream.form.kind.value,
                "postshift": stream.form.postshift,
                "wide": stream.layout.wide,
            },
            parameters=Parameters("glowmcu_conv_2d_compact", _compact_fields(site, stream)),
            rows=grid.rows,
            batches=grid.batches,
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(layer_bound_note(site),),
        )


def _window(site: Site) -> tuple[int, int]:
    """Height and width."""
    shape = site.signature.inputs[1].shape
    return (shape[1], shape[2]) if isinstance(site.node.op, Conv2D) else (1, 1)


def _is_single_and_large(site: Site) -> bool:
    weights = site.signature.inputs[1]
    return pixel_grid(site).runs == (1, 1) and weights.element_count > _LARGE_ROW


def _patch_bytes(site: Site) -> int:
    """Of a window's copy; 0 where windows are pixels of the image."""
    return 0 if is_dense_layer(site) else (_stream(site).depth + 3) // 4 * 4


def _stream(site: Site) -> DenseStream:
    stream = _literal_stream(site)
    assert stream is not None
    return stream


def _literal_stream(site: Site) -> DenseStream | None:
    task, weights = requantization_task(site), dense_weights(site)
    form = find_form(task, kinds=(FormKind.LITERAL,))
    if form is None:
        return None
    wide = packs_badly(task, form, weights, _CHANNELS)
    return DenseStream(form, BlockLayout(form.kind, wide, _CHANNELS), weights)


def _compact_fields(site: Site, stream: DenseStream) -> tuple[Field, ...]:
    dense = dense_fields(site, stream, _ROUND_STEPS)
    op, x = site.node.op, site.signature.inputs[0]
    height, width = _window(site)
    is_window = isinstance(op, Conv2D)
    return (
        Field("dense", Parameters("glowmcu_conv_2d_pointwise", dense)),
        Field("patch_bytes", _patch_bytes(site)),
        Field("in_height", x.shape[1] if is_window else 1),
        Field("in_width", x.shape[2] if is_window else 1),
        Field("in_channels", x.shape[-1]),
        Field("kernel_height", height),
        Field("kernel_width", width),
        Field("stride_y", op.strides[0] if isinstance(op, Conv2D) else 1),
        Field("stride_x", op.strides[1] if isinstance(op, Conv2D) else 1),
        Field("dilation_y", op.dilations[0] if isinstance(op, Conv2D) else 1),
        Field("dilation_x", op.dilations[1] if isinstance(op, Conv2D) else 1),
        Field("pad_top", op.padding[0] if isinstance(op, Conv2D) else 0),
        Field("pad_left", op.padding[1] if isinstance(op, Conv2D) else 0),
        Field("in_zero_point", x.zero_point),
    )


@kernel("fully_connected.compact_dsp", Conv2D, FullyConnected)
class CompactFullyConnected(FullyConnectedDsp):
    """As `fully_connected.dsp`, in a short loop."""

    function: ClassVar[str] = "glowmcu_fully_connected_compact"
    round_steps: ClassVar[int] = _ROUND_STEPS
