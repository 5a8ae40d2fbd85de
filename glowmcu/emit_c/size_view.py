"""A size that each run is given, as the bundle's header and manifest tell of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.emit_c.sized_layers import SizedProgram
from glowmcu.emit_c.views import TensorView
from glowmcu.ir.program import Buffer
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import SizeEntry, TensorEntry
from glowmcu.size_forms import SizeForm, size_form


@dataclass(frozen=True)
class SizeView:
    """The argument `variable` of entry points, for `symbol` of the model; names of its limits begin
    with `macro`.
    """

    symbol: str
    variable: str
    macro: str
    smallest: int
    largest: int
    step: int

    @property
    def others(self) -> str:
        """C that is true for what no run can be given."""
        others = f"{self.variable} < {self.macro}_MIN || {self.variable} > {self.macro}_MAX"
        if self.step == 1:
            return others
        return f"{others} || ({self.variable} - {self.macro}_MIN) % {self.macro}_STEP != 0"


def size_view(sized: SizedProgram | None, prefix: str) -> SizeView | None:
    """None if a run is given none."""
    if sized is None:
        return None
    size = sized.size
    macro = f"{prefix}_{sized.variable.upper()}"
    return SizeView(size.symbol, sized.variable, macro, size.smallest, size.largest, size.step)


def size_entry(sized: SizedProgram | None) -> SizeEntry | None:
    """The same for the manifest."""
    if sized is None:
        return None
    size = sized.size
    return SizeEntry(size.symbol, sized.variable, size.smallest, size.largest, size.step)


def with_lengths(
    views: Sequence[TensorView], sized: SizedProgram | None, role: str
) -> tuple[TensorView, ...]:
    """Inputs or outputs (`role`) that know how long they are for a size."""
    if sized is None:
        return tuple(views)
    found = []
    for number, view in enumerate(views):
        forms = [form.text("(t)") for form in _forms(sized, role, number)]
        text = " * ".join(form for form in forms if form != "1") or "1"
        found.append(replace(view, length_at=text))
    return tuple(found)


def with_shapes(
    entries: Sequence[TensorEntry], sized: SizedProgram | None, role: str
) -> tuple[TensorEntry, ...]:
    """The same in the manifest."""
    if sized is None:
        return tuple(entries)
    return tuple(
        replace(entry, shape_forms=_forms(sized, role, number))
        for number, entry in enumerate(entries)
    )


def _forms(sized: SizedProgram, role: str, number: int) -> tuple[SizeForm, ...]:
    """Sizes of each axis; that they follow a form, who read the model at all sizes has seen."""
    shapes = {}
    for at, program in sized.programs.items():
        buffers: tuple[Buffer, ...] = getattr(program, role)
        shapes[at] = buffers[number].type.shape
    rank = len(next(iter(shapes.values())))
    forms = [size_form({at: shape[axis] for at, shape in shapes.items()}) for axis in range(rank)]
    assert None not in forms, f"{role} {number} has a shape of no form"
    return tuple(form for form in forms if form is not None)
