"""Portable kernels of `if` and `loop`: C around the kernels of their bodies.

What the bodies cost and where their tensors lie is added when they are planned
(`memory_fit/bodies.py`).
"""

from __future__ import annotations

from glowmcu.kernels.kernel import Cost, Kernel, KernelCode, Site, Target, kernel
from glowmcu.ops.control_flow import If, Loop


@kernel("if.portable", If)
class PortableIf(Kernel):
    """One of two functions by the condition; any core, any types."""

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(30.0 + _moved_cycles(site), 0, layer_code_bytes=40)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _around(site, "portable/if.c.j2")


@kernel("loop.portable", Loop)
class PortableLoop(Kernel):
    """One function a trip; what is carried stays in its place from trip to trip."""

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(40.0 + 2 * _moved_cycles(site), 0, layer_code_bytes=60)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _around(site, "portable/loop.c.j2")


def _around(site: Site, template: str) -> KernelCode:
    operands = tuple(range(len(site.signature.inputs)))
    return KernelCode("", operands, template=template)


def _moved_cycles(site: Site) -> float:
    """Results are copied out of the body's memory."""
    return sum(30.0 + 0.6 * type_.size_bytes for type_ in site.signature.outputs)
