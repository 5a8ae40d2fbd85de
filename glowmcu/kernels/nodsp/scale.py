"""Requantization on cores without 64-bit products: the struct that all their kernels share."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.kernels.common.layer_fields import literal_shifts
from glowmcu.kernels.kernel import ConstantArray, Field, Parameters, Site
from glowmcu.kernels.requantization.forms import requantization_task
from glowmcu.kernels.requantization.narrow import NarrowForm, find_narrow_form
from glowmcu.lazy_dataclass import dataclass

_NARROW_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Scale:
    """Constants of a layer: `starts` (channels), `factors` (channels, 2); `form` None: literal."""

    starts: Array
    factors: Array
    form: NarrowForm | None

    @property
    def is_shared(self) -> bool:
        """Whether all channels have the same factors."""
        return bool((self.factors == self.factors[:1]).all())

    @property
    def size_bytes(self) -> int:
        """Bytes of flash."""
        return int(self.starts.nbytes + (8 if self.is_shared else self.factors.nbytes))


def can_scale(site: Site) -> bool:
    """Whether the narrow or the literal form computes the layer."""
    return _scale(site) is not None


def scale_bytes(site: Site) -> int:
    """Flash of a layer's constants."""
    return scale_of(site).size_bytes


def scaled_outputs(site: Site) -> float:
    """Amount of work: outputs in the literal form, of which others cost about half."""
    share = 1.0 if scale_of(site).form is None else _NARROW_SHARE
    return site.signature.output.element_count * share


def scale_kind(site: Site) -> str:
    """`narrow` or `literal`: which function scales the sums."""
    return "literal" if scale_of(site).form is None else "narrow"


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
    comments = ("low", "fine, high; span, addend") if form else ("start", "multiplier, shift")
    fields = (
        Field("starts", ConstantArray("starts", scale.starts, comments[0])),
        Field("factors", ConstantArray("factors", factors, comments[1])),
        Field("factor_step", 0 if shared else 2),
        Field("fine_shift", form.fine_shift if form else 0),
        Field("postshift", form.postshift if form else 0),
        Field("span_shift", form.span_shift if form else 0),
        Field("out_zero_point", task.zero_point),
        Field("clamp_min", task.clamp[0]),
        Field("clamp_max", task.clamp[1]),
    )
    return Field("scale", Parameters("glowmcu_scale", fields))


def _scale(site: Site) -> Scale | None:
    task = requantization_task(site)
    form = find_narrow_form(task)
    if form is not None:
        return Scale(form.low.astype(np.int32), form.factors, form)
    start = task.bias + task.offset
    if not bool((np.abs(start) < 2**31).all()):
        return None
    factors = np.stack([task.multipliers, literal_shifts(task.shifts, site)], axis=1).astype(
        np.int32
    )
    return Scale(start.astype(np.int32), factors, None)
