"""Portable kernel of `camera_pixels`, a function of the layer's own that takes rows."""

from __future__ import annotations

from glowmcu.ir.kernel_code import KernelCode
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.ops.camera import CameraPixels

#: By format: to luma, and to three channels.
_CODE_BYTES = {"grey": (25, 40), "rgb888": (55, 40), "rgb565": (105, 95), "yuv": (25, 180)}


@kernel("camera_pixels.portable", CameraPixels)
class PortableCameraPixels(Kernel):
    """Any core; a pixel at a time."""

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, (rows, columns) = site.node.op, site.signature.output.shape[1:3]
        assert isinstance(op, CameraPixels)
        pixels = float(rows * columns)
        return {"call": 1.0, "row": float(rows), f"pixel {_kind(op)} {op.channels}": pixels}

    def cost(self, site: Site, target: Target) -> Cost:
        op, (rows, columns) = site.node.op, site.signature.output.shape[1:3]
        assert isinstance(op, CameraPixels)
        code_bytes = _CODE_BYTES[_kind(op)][op.channels == 3]
        return Cost(14.0 * rows * columns, 0, layer_code_bytes=code_bytes)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
        assert isinstance(op, CameraPixels)
        view: dict[str, object] = {
            "format": op.format.value,
            "pixel_bytes": op.format.pixel_bytes,
            "in_width": x.shape[2],
            "top": op.top,
            "left": op.left,
            "width": out.shape[2],
            "channels": op.channels,
            "headers": ("glowmcu_requantize.h",) if op.format.is_yuv and op.channels == 3 else (),
        }
        return KernelCode(
            function="",
            operands=(0,),
            template="portable/camera_pixels.c.j2",
            view=view,
            rows=out.shape[1],
        )


def _kind(op: CameraPixels) -> str:
    """What formats have in common whose pixels cost the same."""
    return "yuv" if op.format.is_yuv else op.format.value.removesuffix("be")
