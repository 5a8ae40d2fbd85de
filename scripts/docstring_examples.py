"""For the site: examples in docstrings are code, though no section of their own announces them."""

from __future__ import annotations

import re

from griffe import Extension, Object

_EXAMPLE = re.compile(r"(?:^>>> .*\n?)(?:^.+\n?)*", re.MULTILINE)


class DocstringExamples(Extension):
    """Fences around what doctest runs: from `>>>` to the next empty line."""

    def on_object(self, *, obj: Object, **_others: object) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """The docstring, its examples as blocks of Python at a prompt."""
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", docstring)
