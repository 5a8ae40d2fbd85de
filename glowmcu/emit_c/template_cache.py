"""Templates as Python's bytecode, kept from one compilation to the next in the user's cache folder.

Parsing them costs more than anything else that emission does for a small model.
"""

from __future__ import annotations

import sys

import jinja2
from jinja2.bccache import Bucket

from glowmcu.compiler_digest import compiler_digest
from glowmcu.user_cache import UserCache, user_cache


def template_cache() -> TemplateCache | None:
    """None if the user has no cache."""
    # Filters are computed while templates are parsed, too: the compiler has made them.
    files = user_cache(
        f"templates/{sys.implementation.cache_tag}", f"{jinja2.__version__} {compiler_digest()}"
    )
    return TemplateCache(files) if files is not None else None


class TemplateCache(jinja2.BytecodeCache):
    """A file a template: Jinja's own form, which names the template's text and Python's version."""

    def __init__(self, files: UserCache) -> None:
        self._files = files

    def load_bytecode(self, bucket: Bucket) -> None:
        code = self._files.load(bucket.key)
        if code is not None:
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._files.store(bucket.key, bucket.bytecode_to_string())
