"""`--dump-ir DIR`: what the compiler did, as files to read and compare.

    00-import.mlir  03-remove_identities.mlir  …  12-unplanned.mlir  13-planned.mlir
    graph.dot  graph.svg  constants.npz (on request)

A number is a stage's place, so that it is the same in every dump; a stage that changed nothing
writes no file. Files are written as the stages go: after a failure they show how far it came.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from glowmcu.errors import error
from glowmcu.file_writing import write_text_file
from glowmcu.ir.graph import Graph
from glowmcu.ir.program import Program

if TYPE_CHECKING:
    from glowmcu.ir.text.sidecar import Sidecar

_MARK = "// glowmcu: "
_PICTURES = ("graph.dot", "graph.svg", "constants.npz")
_T = TypeVar("_T", Graph, Program)


class IrDump:
    """Watches a compilation; without a folder it does nothing, and what prints is not imported.
    `notes` says what was skipped.

    Raises GM220 when the folder cannot be written.
    """

    def __init__(self, folder: Path | None, constants: bool = False) -> None:
        self._folder = folder
        self._constants: Sidecar | None = {} if constants else None
        self._stage = 0
        self._last = ""
        self._notes: list[str] = []
        if folder is not None:
            self._guarded(self._clear)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes)

    def graph(self, name: str, graph: Graph) -> None:
        """The graph after stage `name`."""
        if self._folder is None:
            return
        from glowmcu.ir.text import print_graph

        self._observe(name, graph, print_graph)

    def program(self, name: str, program: Program) -> None:
        """The program after stage `name`."""
        if self._folder is None:
            return
        from glowmcu.ir.text import print_program

        self._observe(name, program, print_program)

    def finish(self, graph: Graph) -> None:
        """Draw the lowered graph and write the constants, if they are wanted."""
        if self._folder is None:
            return
        from glowmcu.ir.graph_picture import missing_dot, print_dot, render_svg

        dot = print_dot(graph)
        self._write("graph.dot", dot)
        skipped = missing_dot()
        svg = None if skipped else render_svg(dot)
        if svg is not None:
            self._write("graph.svg", svg)
        else:
            self._notes.append(skipped or "graph.svg skipped: `dot` could not draw this graph")
        if self._constants is not None:
            self._guarded(self._write_constants)

    def _observe(self, name: str, item: _T, print_item: Callable[[_T, Sidecar], str]) -> None:
        text = print_item(item, {} if self._constants is None else self._constants)
        if text != self._last:
            self._write(f"{self._stage:02}-{name}.mlir", f"{_MARK}after {name}\n{text}")
        self._stage += 1
        self._last = text

    def _write(self, name: str, text: str) -> None:
        def write() -> None:
            write_text_file(self._free(name), text)

        self._guarded(write)

    def _write_constants(self) -> None:
        assert self._constants is not None
        from glowmcu.ir.text import write_sidecar

        write_sidecar(self._free("constants.npz"), self._constants)

    def _free(self, name: str) -> Path:
        """Where a file of the dump goes; an earlier dump's is gone, so what is there is no dump."""
        assert self._folder is not None
        path = self._folder / name
        if os.path.lexists(path):
            raise error(
                "GM220",
                f"a file that is no dump is where one would go: {name}",
                str(self._folder),
                "name another folder with --dump-ir",
            )
        return path

    def _clear(self) -> None:
        """Make the folder; take away what an earlier dump left, and nothing else."""
        assert self._folder is not None
        self._folder.mkdir(parents=True, exist_ok=True)
        old = [path for path in self._folder.glob("[0-9][0-9]-*.mlir") if _is_ours(path)]
        if old:
            old += [self._folder / name for name in _PICTURES]
        for path in old:
            path.unlink(missing_ok=True)

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except OSError as cause:
            raise error(
                "GM220",
                f"cannot write the IR dump: {cause.strerror or cause}",
                str(self._folder),
                "--dump-ir needs a folder that can be written, or made",
            ) from cause


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MARK)) == _MARK.encode()
