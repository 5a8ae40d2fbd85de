"""Sections that other packages add to the report.

A package adds one by an entry point in the group `glowmcu.report_sections` that gives a function
from a bundle and its facts to a `Section`, or None where it has nothing to say. It is data, so that
what is shown looks and is escaped as the rest of the page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

from glowmcu.bundle import Bundle
from glowmcu.discovery import Plugin, load_plugins, wrong_type
from glowmcu.errors import GlowmcuError
from glowmcu.facts.document import Facts
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Section:
    """`sentences` are paragraphs; each of the `rows` has a cell a heading. Cells that are numbers
    stand to the right.
    """

    title: str
    sentences: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str | int | float, ...], ...] = ()


SectionFunction = Callable[[Bundle, Facts], Section | None]


def section_functions() -> list[tuple[Plugin, SectionFunction]]:
    """Those of packages, by name. Raises GM750 to GM752."""
    expected = "a function from a Bundle and its facts to a Section or None"
    return load_plugins("glowmcu.report_sections", _is_function, expected)


def sections(bundle: Bundle, facts: Facts) -> list[Section]:
    """What they have to say of a bundle."""
    found = []
    for plugin, run in section_functions():
        section: object = run(bundle, facts)
        if section is None:
            continue
        if not _is_section(section):
            problem = wrong_type(plugin, section, "a Section whose rows have a cell a heading")
            raise GlowmcuError([problem])
        found.append(section)
    return found


def _is_function(given: object) -> TypeGuard[SectionFunction]:
    return callable(given)


def _is_section(given: object) -> TypeGuard[Section]:
    return isinstance(given, Section) and all(len(row) == len(given.headings) for row in given.rows)
