"""Code in sections: which region each step's functions go to, and the lines that say so in C.

`GLOWMCU_CODE` stands before every function; it is another section's attribute from one line to the
next. A step that is placed apart from the rest is called through a function that is not inlined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from glowmcu.board import Places
from glowmcu.emit_c.placement_text import section_of
from glowmcu.emit_c.views import HeaderGroupView, StepView
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.program import Program


def code_regions(program: Program, places: Places) -> tuple[str, ...]:
    """The region of each step's code; the layers of a cascade go together."""
    regions: list[str] = []
    for item in program.steps:
        count = len(item.runs) if isinstance(item, Cascade) else 1
        own = places.layer_code[len(regions) : len(regions) + count]
        apart = next((region for region in own if region != places.code), places.code)
        regions += [apart] * count
    return tuple(regions)


class CodeSwitch:
    """Follows what GLOWMCU_CODE is while a source is written from top to bottom."""

    def __init__(self, bundle_name: str) -> None:
        self._name = bundle_name
        self._now = ""

    def to(self, region: str) -> str:
        """The lines for code that goes to `region`; none if it does already."""
        if region == self._now:
            return ""
        self._now = region
        macro = f" {section_of(self._name, 'code', region).macro}" if region else ""
        return f"#undef GLOWMCU_CODE\n#define GLOWMCU_CODE{macro}\n\n"


def header_groups(
    switch: CodeSwitch, headers: Mapping[str, str], default: str
) -> tuple[HeaderGroupView, ...]:
    """Headers by the region of their functions, those that lie apart first: what they include is
    theirs, too.
    """
    apart = dict.fromkeys(region for region in headers.values() if region != default)
    return tuple(
        HeaderGroupView(switch.to(region), tuple(sorted(_of(headers, region))))
        for region in (*apart, default)
    )


def _of(headers: Mapping[str, str], region: str) -> Iterable[str]:
    return (header for header, place in headers.items() if place == region)


def placed_steps(
    switch: CodeSwitch, steps: Sequence[StepView], regions: Sequence[str]
) -> tuple[StepView, ...]:
    """The steps with the lines before their functions."""
    return tuple(
        replace(step, code_switch=switch.to(region) if step.definition else "")
        for step, region in zip(steps, regions, strict=True)
    )


def called_apart(step: StepView) -> StepView:
    """The step behind a function of its own, which stays where it was put."""
    wrapper = (
        f"GLOWMCU_CODE\nGLOWMCU_NEVER_INLINE static void step_{step.index}(int8_t *a)\n"
        f"{{\n{step.call}\n}}"
    )
    definition = f"{step.definition}\n\n{wrapper}".strip()
    return replace(step, definition=definition, call=f"    step_{step.index}(a);")
