"""Requantization on cores without 64-bit products: the struct that all their kernels share."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.kernels.common.layer_fields import literal_shifts
from glowmcu.kernels.kernel import ConstantArray, Field, Parameters, Site, Target
from glowmcu.kernels.requantization.forms import requantization_task
from glowmcu.kernels.requantization.mirrored import MirroredForm, find_mirrored_form
from glowmcu.kernels.requantization.narrow import NarrowForm, find_narrow_form
from glowmcu.lazy_dataclass import dataclass

#: Of the literal form's work.
_SHARES = {"narrow": 0.5, "mirrored": 0.6, "literal": 1.0}
_COMMENTS = {
    "narrow": ("low", "fine, high; span, addend"),
    "mirrored": ("start", "fine, high; addend"),
    "literal": ("start", "multiplier, shift"),
}


@dataclass(frozen=True, eq=False)
class Scale:
    """Constants of a layer: `starts` (channels), `factors` (channels, 2); `form` None: literal."""

    starts: Array
    factors: Array
    form: NarrowForm | MirroredForm | None

    @property
    def kind(self) -> str:
        """`narrow`, `mirrored` or `literal`: which function scales the sums."""
        if self.form is None:
            return "literal"
        return "narrow" if isinstance(self.form, NarrowForm) else "mirrored"

    @property
    def is_shared(self) -> bool:
        """Whether all channels have the same factors."""
        return bool((self.factors == self.factors[:1]).all())

    @property
    def size_bytes(self) -> int:
        """Bytes of flash."""
        return int(self.starts.nbytes + (8 if self.is_shared else self.factors.nbytes))


def can_scale(site: Site) -> bool:
    """Whether one of the forms computes the layer."""
    return _scale(site) is not None


def scale_bytes(site: Site) -> int:
    """Flash of a layer's constants."""
    return scale_of(site).size_bytes


def scaled_outputs(site: Site) -> float:
    """Amount of work: outputs in the literal form, of which others cost a share."""
    return site.signature.output.element_count * _SHARES[scale_of(site).kind]


def scaled_of_pairs(site: Site, target: Target, pixel_pairs: float) -> float:
    """Amount of work of `scale_kind`'s name where pixels go by twos: in the narrow form a last odd
    one is two on Armv6-M.
    """
    is_single = scale_kind(site) != "narrow" or not target.core.architecture.startswith("armv6")
    out = site.signature.output
    return out.element_count if is_single else 2 * pixel_pairs * out.shape[-1]


def scale_kind(site: Site) -> str:
    """Which function scales the sums."""
    return scale_of(site).kind


def scale_of(site: Site) -> Scale:
    """The constants of a layer that `can_scale`."""
    scale = _scale(site)
    assert scale is not None
    return scale


def scale_field(site: Site) -> Field:
    """The member `scale` of a layer that `can_scale`."""
    task, scale = requantization_task(site), scale_of(site)
    form, shared = scale.form, scale.is_shared
    factors = scale.factors[:1] if shared else scale.factors
    comments, shifts = _COMMENTS[scale.kind], (0, 0, 0)
    if isinstance(form, NarrowForm):
        shifts = (form.fine_shift, form.postshift, form.span_shift)
    elif form is not None:
        shifts = (-form.fine_shift, form.postshift, form.span)
    fields = (
        Field("starts", ConstantArray("starts", scale.starts, comments[0])),
        Field("factors", ConstantArray("factors", factors, comments[1])),
        Field("factor_step", 0 if shared else 2),
        *(
            Field(name, number)
            for name, number in zip(("fine_shift", "postshift", "span"), shifts, strict=True)
        ),
        Field("out_zero_point", task.zero_point),
        Field("clamp_min", task.clamp[0]),
        Field("clamp_max", task.clamp[1]),
    )
    return Field("scale", Parameters("glowmcu_scale", fields))


def _scale(site: Site) -> Scale | None:
    task = requantization_task(site)
    narrow = find_narrow_form(task)
    if narrow is not None:
        return Scale(narrow.low.astype(np.int32), narrow.factors, narrow)
    start = task.bias + task.offset
    if not bool((np.abs(start) < 2**31).all()):
        return None
    mirrored = find_mirrored_form(task)
    factors = np.stack([task.multipliers, literal_shifts(task.shifts, site)], axis=1)
    if mirrored is not None:
        factors = mirrored.factors
    return Scale(start.astype(np.int32), factors.astype(np.int32), mirrored)
