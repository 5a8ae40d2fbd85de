"""Jinja2 set up as the templates expect it: strict, no stray lines, the same on every machine."""

from __future__ import annotations

import json
from functools import cache

import jinja2

from glowmcu.emit_c.assembly_text import assembly_strings, frame_bytes
from glowmcu.emit_c.c_text import c_number, thousands
from glowmcu.emit_c.folding import fold_lines
from glowmcu.emit_c.template_cache import template_cache
from glowmcu.ir.function_names import part_name
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
        bytecode_cache=template_cache(),
    )
    environment.filters["thousands"] = thousands
    environment.filters["c_number"] = c_number
    environment.filters["assembly"] = assembly_strings
    environment.filters["part"] = part_name
    environment.filters["frame_bytes"] = frame_bytes
    environment.filters["quoted"] = json.dumps  # of printable ASCII: the same in YAML and TOML
    environment.filters["xml"] = _escaped
    return environment


def _escaped(text: str) -> str:
    """As XML has it."""
    from xml.sax.saxutils import escape

    return escape(text)


def render(template: str, **view: object) -> str:
    """The template's text with `view` as its names; C in lines of at most 100 columns."""
    text = _environment().get_template(template).render(**view)
    return fold_lines(text) if template.endswith((".c.j2", ".h.j2")) else text
