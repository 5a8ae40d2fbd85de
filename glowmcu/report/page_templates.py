"""How pages are rendered: the templates of `templates/report/`, and their filters."""

from __future__ import annotations

from functools import cache

import jinja2
import numpy as np

from glowmcu.report.short_names import middle_cut
from glowmcu.report.tables import count
from glowmcu.resources import resource_dirs
from glowmcu.shell_words import quoted

#: The widest space that no line breaks at.
_SPACE = "\N{NARROW NO-BREAK SPACE}"


@cache
def environment() -> jinja2.Environment:
    """Everything in it is escaped; what a template names and nobody gives is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(
            [folder / "report" for folder in resource_dirs("templates")]
        ),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    environment.filters["number"] = number
    environment.filters["real"] = real
    environment.filters["ends"] = middle_cut
    environment.filters["quoted"] = quoted
    return environment


def number(value: float | None, digits: int = 0) -> str:
    """12 345, by spaces at which no line breaks; a dash for what is not known."""
    if value is None:
        return "-"
    text = count(round(value)) if digits == 0 else f"{value:,.{digits}f}".replace(",", " ")
    return text.replace(" ", _SPACE)


def real(value: float | None) -> str:
    """A scale in as many digits as float32 has, as in the C; a dash for none."""
    return "-" if value is None else str(np.float32(value))
