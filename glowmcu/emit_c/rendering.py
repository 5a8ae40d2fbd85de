"""Jinja2 set up as the templates expect it: strict, no stray lines, the same on every machine."""

from __future__ import annotations

from functools import cache

import jinja2

from glowmcu.emit_c.c_text import c_number, thousands
from glowmcu.resources import resource_dirs


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(resource_dirs("templates")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["thousands"] = thousands
    environment.filters["c_number"] = c_number
    return environment


def render(template: str, **view: object) -> str:
    """The template's text with `view` as its names."""
    return _environment().get_template(template).render(**view)
