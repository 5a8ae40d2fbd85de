"""Which files belong together, said to the preprocessor.

The include guard of every header has a value: of a libjit header 32 bits of the SHA-256 of its
code, of a bundle's header 32 bits over the code of all C files of the bundle. Whoever includes a
header compares its guard with what the compilation knew, so files of two compilations end in
`#error`, while two bundles can share the headers that are the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache

from glowmcu.compiler_digest import compiler_digest, short_digest
from glowmcu.emit_c.texts import Texts
from glowmcu.lazy_dataclass import dataclass
from glowmcu.libjit_headers import INCLUDE, included_headers, libjit_closure

__all__ = [
    "BUNDLE_MARK", "COMPILER_MARK", "HeaderCheck", "header_checks", "header_digest",
    "header_guard", "included_headers", "libjit_closure", "stamped", "with_digests",
]  # fmt: skip

#: What stands for a number in rendered text until all of the text is known: as wide as the number.
BUNDLE_MARK = "0x" + 8 * "\x01" + "u"
COMPILER_MARK = 8 * "\x02"

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class HeaderCheck:
    """What the guard of a header must be; a `conditional` one may not have been included."""

    guard: str
    digest: str
    conditional: bool

    @property
    def is_wrong(self) -> str:
        """The preprocessor's condition for a header of another version."""
        wrong = f"{self.guard} + 0 != {self.digest}"
        return f"(defined({self.guard}) && {wrong})" if self.conditional else wrong


def header_guard(file: str) -> str:
    """The include guard of a header."""
    return re.sub(r"\W", "_", file).upper()


@cache
def header_digest(text: str) -> str:
    """32 bits that stand for a libjit header's code, as C spells them; comments may differ."""
    return f"0x{short_digest([' '.join(_COMMENT.sub(' ', text).split()).encode()])}u"


def stamped(file: str, text: str) -> str:
    """A libjit header as a bundle has it: its guard has the header's digest as its value."""
    guard, digest = header_guard(file), header_digest(text)
    plain, valued = f"#define {guard}\n", f"#define {guard} {digest}\n"
    return text.replace(plain, valued, 1) if plain in text else f"{text}\n#undef {guard}\n{valued}"


def header_checks(
    headers: Mapping[str, str], known: Collection[str] = ()
) -> tuple[HeaderCheck, ...]:
    """One a libjit header, by name, but for the `known`; `headers` are their own texts."""
    conditional = {file for text in headers.values() for file in _conditional_includes(text)}
    return tuple(
        HeaderCheck(header_guard(file), header_digest(text), file in conditional)
        for file, text in sorted(headers.items())
        if file not in known
    )


@cache
def _conditional_includes(text: str) -> frozenset[str]:
    """Headers that the libjit header `text` includes inside an `#if` other than its guard."""
    found = set[str]()
    depth = 0
    for line in text.splitlines():
        if line.startswith("#if"):
            depth += 1
        elif line.startswith("#endif"):
            depth -= 1
        elif depth > 1:
            found.update(INCLUDE.findall(line))
    return frozenset(found)


def with_digests(files: Texts) -> Texts:
    """`files` with the marks replaced: by a digest of all their C, comments apart, and by the
    compiler's.
    """
    bundle = f"0x{short_digest(_code_of(files))}u"

    def stated(_: str, outline: str) -> str:
        return outline.replace(BUNDLE_MARK, bundle).replace(COMPILER_MARK, compiler_digest())

    return files.changed(stated)


def _code_of(files: Texts) -> Iterator[bytes]:
    """Names and texts of the C without comments, of which arrays have none."""
    sources = [name for name in sorted(files) if name.endswith((".c", ".h"))]
    for number, name in enumerate(sources):
        yield f"{chr(0) if number else ''}{name}".encode()
        yield from files.filled(_COMMENT.sub("", files.outlines[name]))
