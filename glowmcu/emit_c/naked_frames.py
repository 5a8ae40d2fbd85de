"""`<name>_assembly.su`: the stack frames of functions that are assembly, as gcc writes those of C.

gcc says 0 for a naked function, of whose body it knows nothing; the comment above each says what it
pushes and reserves. Tools that join `.su` files with a call graph read this one as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_NAKED = re.compile(
    r"/\* stack: (\d+) bytes \*/\nGLOWMCU_CODE\nGLOWMCU_NAKED\s+static [^(]*?(\w+)\("
)


def has_naked(texts: Iterable[str]) -> bool:
    """Whether any function of the texts is assembly throughout."""
    return any(_NAKED.search(text) for text in texts)


def deepest_naked(text: str) -> int:
    """Bytes of the largest frame of the text's functions that are assembly, which call nobody."""
    return max((int(found[1]) for found in _NAKED.finditer(text)), default=0)


def naked_frames(files: Mapping[str, str]) -> str:
    """A line for each naked function of the files: `file:line:column:function bytes static`."""
    lines = []
    for file, text in sorted(files.items()):
        for found in _NAKED.finditer(text) if file.endswith((".c", ".h")) else ():
            before = text[: found.start(2)]
            line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
            lines.append(f"{file}:{line}:{column}:{found[2]}\t{found[1]}\tstatic\n")
    return "".join(lines)
