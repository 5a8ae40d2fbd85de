"""A bundle's files by name. C spells a byte of weights in six, so that the text of constants is
made in pieces whenever it is read; in memory are outlines, in which each array is a mark.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glowmcu.emit_c.views import ArrayView

_MARK = re.compile("\x03([^\x03]*)\x03")


class Texts(Mapping[str, str]):
    """File name to text, whole; `pieces` has it in UTF-8 and never whole.

    `outlines` are texts that may name some of `arrays` in marks (`ArrayView.mark`).
    """

    def __init__(self, outlines: Mapping[str, str], arrays: Iterable[ArrayView] = ()) -> None:
        self.outlines = dict(outlines)
        self._arrays = {array.symbol: array for array in arrays}

    def __getitem__(self, name: str) -> str:
        return b"".join(self.pieces(name)).decode("utf-8")

    def __contains__(self, name: object) -> bool:
        # What a mapping does by itself makes the whole text.
        return name in self.outlines

    def __iter__(self) -> Iterator[str]:
        return iter(self.outlines)

    def __len__(self) -> int:
        return len(self.outlines)

    def pieces(self, name: str) -> Iterator[bytes]:
        """The file's content."""
        return self.filled(self.outlines[name])

    def filled(self, outline: str) -> Iterator[bytes]:
        """Text around marks, and the elements of the arrays that these name."""
        at = 0
        for mark in _MARK.finditer(outline):
            yield outline[at : mark.start()].encode()
            yield from self._arrays[mark[1]].row_pieces()
            at = mark.end()
        yield outline[at:].encode()

    def changed(self, change: Callable[[str, str], str]) -> Texts:
        """Each file's outline as `change` makes it of its name and outline."""
        outlines = {name: change(name, outline) for name, outline in self.outlines.items()}
        return Texts(outlines, self._arrays.values())

    def joined(self, others: Mapping[str, str]) -> Texts:
        """These files, and others, which replace those that have the same names."""
        return Texts({**self.outlines, **others}, self._arrays.values())

    @cached_property
    def digests(self) -> dict[str, str]:
        """SHA-256 of each file, sorted by name."""
        return {name: _digest(self.pieces(name)) for name in sorted(self)}


def pieces_of(files: Mapping[str, str], name: str) -> Iterable[bytes]:
    """The content of one of the files."""
    return files.pieces(name) if isinstance(files, Texts) else (files[name].encode("utf-8"),)


def _digest(pieces: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()
