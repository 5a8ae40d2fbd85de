"""Requantization constants as libjit's glowmcu_scale_mve.h reads them.

Of the forms that are proved equal, Helium computes `floor` in 3 instructions for four results and
`literal` in 8; `two_sided` would cost no less. The floor form's post shift is always 16, which the
narrowing of results does by the way; the pre shift is whatever then gives the finest multipliers.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.kernel import Field, Parameters
from glowmcu.kernels.requantization.forms import (
    Form,
    FormKind,
    RequantizationTask,
    find_form,
    largest_postshift,
    literal_form,
)
from glowmcu.lazy_dataclass import dataclass

_POSTSHIFT = 16
_MOST_PRESHIFT = 20
_TRIED_PRESHIFTS = 3
#: The one that is tried first, so that layers share functions that have it as an immediate.
_USUAL_PRESHIFT = 11


@dataclass(frozen=True, eq=False)
class ScaleMve:
    """Parameters of a layer and, (vectors, channels), its constants."""

    parameters: Parameters
    constants: Int64Array
    is_literal: bool


def vector_form(task: RequantizationTask) -> Form | None:
    """A form that the vector code computes, None when none is exact."""
    if (floor := _floor_form(task, _POSTSHIFT)) is not None:
        return floor
    literal = find_form(task, kinds=(FormKind.LITERAL,))
    return literal if literal is not None or task.wraps else literal_form(task, unshifted=True)


def doubled_form(task: RequantizationTask) -> Form | None:
    """A floor form with a bit less behind the point, None when none is exact.

    VQDMULH, which takes a multiplier from a general-purpose register, doubles products.
    """
    return _floor_form(task, _POSTSHIFT - 1)


def _floor_form(task: RequantizationTask, postshift: int) -> Form | None:
    least = next(
        (k for k in range(_MOST_PRESHIFT) if largest_postshift(task, k) >= postshift),
        _MOST_PRESHIFT,
    )
    tried = range(least, min(least + _TRIED_PRESHIFTS, _MOST_PRESHIFT))
    preshifts = sorted(tried, key=lambda preshift: preshift != _USUAL_PRESHIFT)
    floor = find_form(task, preshifts, (postshift,), (FormKind.FLOOR,))
    return floor if floor is not None and floor.clamp is None else None


def scale_mve(form: Form) -> ScaleMve:
    """What the C gets of a form that `vector_form` found."""
    is_literal = form.kind is FormKind.LITERAL
    clamp_min, clamp_max = form.clamp or (-128, 127)
    parameters = Parameters(
        "glowmcu_scale_mve",
        (
            Field("preshift", -1 if is_literal else form.preshift),
            Field("clamp_min", clamp_min),
            Field("clamp_max", clamp_max),
        ),
    )
    vectors = (
        (form.start, form.multiplier, form.step, -form.shifts)
        if is_literal
        else (form.addend, form.multiplier)
    )
    return ScaleMve(parameters, np.stack(vectors), is_literal)
