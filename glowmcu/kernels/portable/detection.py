"""Portable kernels of `detection_postprocess`: boxes in double, then heaps of scores; and of
`non_max_suppression`, box by box.
"""

from __future__ import annotations

from glowmcu.ir.kernel_code import Field, KernelCode, Parameters
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.ops.detection import (
    DetectionPostprocess,
    FastDetection,
    NonMaxSuppression,
    RegularDetection,
)

_BOX_BYTES = 24  # corners, a score and a place in the order


def _cost(site: Site, target: Target, passes: int, code_bytes: int) -> Cost:
    boxes = site.signature.inputs[0].shape[1]
    per_box = (2500.0, 80.0) if target.core.has_fpu else (6000.0, 400.0)
    scores = site.signature.inputs[1].element_count
    cycles = boxes * (per_box[0] + passes * per_box[1]) + 12.0 * scores
    return Cost(cycles, code_bytes, 52)


def _code(site: Site, name: str, each: int, scratch_bytes: int) -> KernelCode:
    op, (codes, scores, _) = site.node.op, site.signature.inputs
    assert isinstance(op, DetectionPostprocess)
    fields = (
        Field("boxes", codes.shape[1]),
        Field("code_length", codes.shape[2]),
        Field("classes", scores.shape[2]),
        Field("first_class", scores.shape[2] - op.classes),
        Field("places", op.places),
        Field("most", op.most),
        Field("each", each),
        Field("score_threshold", op.score_threshold),
        Field("overlap_threshold", op.iou_threshold),
        *(Field(f"{axis}_scale", scale) for axis, scale in zip("yxhw", op.scales, strict=True)),
    )
    return KernelCode(
        function=name,
        operands=(0, 1, 2),
        header=f"{name}.h",
        parameters=Parameters("glowmcu_detection", fields),
        scratch_bytes=scratch_bytes,
    )


@kernel("detection_postprocess_fast.portable", FastDetection)
class PortableFastDetection(Kernel):
    """Any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        return _cost(site, target, 1, 1500)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, boxes = site.node.op, site.signature.inputs[0].shape[1]
        assert isinstance(op, FastDetection)
        return _code(site, "glowmcu_detection_fast", op.ranks, _BOX_BYTES * boxes)


@kernel("detection_postprocess_regular.portable", RegularDetection)
class PortableRegularDetection(Kernel):
    """Any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        op = site.node.op
        assert isinstance(op, RegularDetection)
        return _cost(site, target, op.classes, 1400)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, boxes = site.node.op, site.signature.inputs[0].shape[1]
        assert isinstance(op, RegularDetection)
        scratch_bytes = _BOX_BYTES * boxes + 4 * op.most
        return _code(site, "glowmcu_detection_regular", min(op.per_class, 2**31 - 1), scratch_bytes)


@kernel("non_max_suppression.portable", NonMaxSuppression)
class PortableNonMaxSuppression(Kernel):
    """Any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        op = site.node.op
        assert isinstance(op, NonMaxSuppression)
        per_pair = 70.0 if target.core.has_fpu else 500.0
        return Cost(op.most * per_pair * site.signature.inputs[1].element_count, 500, 24)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, scores = site.node.op, site.signature.inputs[1]
        assert isinstance(op, NonMaxSuppression)
        batches, classes, boxes = scores.shape
        fields = (
            Field("batches", batches),
            Field("classes", classes),
            Field("boxes", boxes),
            Field("most", op.most),
            Field("score_threshold", op.score_threshold),
            Field("overlap_threshold", op.iou_threshold),
        )
        return KernelCode(
            function="glowmcu_non_max_suppression_f32",
            operands=(0, 1),
            header="glowmcu_non_max_suppression.h",
            parameters=Parameters("glowmcu_non_max_suppression", fields),
            scratch_bytes=boxes,
        )
