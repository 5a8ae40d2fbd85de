"""Requantization with the high word of a product: the struct that all kernels for RISC-V share."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.kernels.kernel import ConstantArray, Field, Parameters, Site
from glowmcu.kernels.requantization.forms import Form, FormKind, find_form, requantization_task

_FORMS = (FormKind.FLOOR, FormKind.TWO_SIDED, FormKind.LITERAL)
_COMMENTS = {
    FormKind.FLOOR: "addend, multiplier",
    FormKind.TWO_SIDED: "start, addend, multiplier, step",
    FormKind.LITERAL: "start, multiplier, step, shift",
}


def can_scale(site: Site) -> bool:
    """Whether one of the forms computes the layer."""
    return find_form(requantization_task(site)) is not None


def scale_bytes(site: Site) -> int:
    """Flash of a layer's constants."""
    return int(_constants(_form(site)).nbytes)


def scale_words(site: Site) -> int:
    """Words of constants a channel."""
    return int(_constants(_form(site)).shape[1])


def scaled_work(site: Site) -> dict[str, float]:
    """Amounts of work: outputs, by the form that they take."""
    return {f"scaled {_form(site).kind.value}": site.signature.output.element_count}


def scale_field(site: Site) -> Field:
    """The member `scale` of a layer that `can_scale`."""
    form = _form(site)
    clamp_min, clamp_max = form.clamp or (-128, 127)
    constants = ConstantArray("constants", _constants(form), _COMMENTS[form.kind])
    fields = (
        Field("constants", constants),
        Field("form", _FORMS.index(form.kind), form.kind.value),
        Field("postshift", form.postshift),
        Field("clamp_min", clamp_min),
        Field("clamp_max", clamp_max),
    )
    return Field("scale", Parameters("glowmcu_scale_riscv", fields))


def _form(site: Site) -> Form:
    form = find_form(requantization_task(site))
    assert form is not None
    return form


def _constants(form: Form) -> Array:
    """Words a channel, in the order of `glowmcu_scale_riscv`."""
    columns = {
        FormKind.FLOOR: (form.addend, form.multiplier),
        FormKind.TWO_SIDED: (form.start, form.addend, form.multiplier, form.step),
        FormKind.LITERAL: (form.start, form.multiplier, form.step, form.shifts),
    }
    return np.stack(columns[form.kind], axis=1).astype(np.int32)
