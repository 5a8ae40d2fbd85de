"""Portable kernel of `camera_pixels`, a function of the layer's own that takes rows."""

from __future__ import annotations

from glowmcu.ir.kernel_code import KernelCode
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.ops.camera import CameraPixels


@kernel("camera_pixels.portable", CameraPixels)
class PortableCameraPixels(Kernel):
    """Any core; a pixel at a time."""

    def cost(self, site: Site, target: Target) -> Cost:
        rows, columns = site.signature.output.shape[1:3]
        return Cost(14.0 * rows * columns, 120)

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
        }
        return KernelCode(
            function="", operands=(0,), template="camera_pixels.c.j2", view=view, rows=out.shape[1]
        )
