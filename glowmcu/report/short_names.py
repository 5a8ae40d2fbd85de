"""Names of layers made to fit a column: what all have in common goes, what tells them apart stays.

TensorFlow joins the names of what it fuses: `net/relu_4/Relu;net/bn_4/Fused;net/conv2d_4/Conv2D` is
`…/conv2d_4` if there is no room. The last of them is the operator itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

_CUT = "…"
#: What goes along with a layer, and says less than the layer's own name.
_ALONG = re.compile(
    r"activation|\b(act|bn)(_?\d+)?\b|relu|bias|batch_?norm|fused|identity|re_lu|quant|cast"
    r"|transpose",
    re.I,
)

_LESS = 3
#: A name that is one path of at most this many characters stays as it is.
_SHORT = 24


def short_names(names: Sequence[str], width: int) -> list[str]:
    """A text of at most `width` characters for each name, different ones if that can be."""
    common = _common_start(set(names))
    rows = _rows(names)
    short = {name: _shortest(name, rows, width) for name in dict.fromkeys(names)}
    for name in _same(short):
        short[name] = _shortest(name, rows, width, along=0)
    again = set(_same(short))
    return [
        text
        if name not in again
        else middle_cut(_CUT + name[common:] if common > 1 else name, width)
        for name, text in zip(names, (short[name] for name in names), strict=True)
    ]


def layer_names(names: Sequence[str]) -> list[str]:
    """The part of each that tells it from the others; whole names if that is short, or if
    no part does.
    """
    rows = _rows(names)
    short = {
        name: name if len(name) <= _SHORT and ";" not in name else _telling(name, rows, _LESS)
        for name in names
    }
    taken = Counter(short[name] for name in names)
    return [name if taken[short[name]] > 1 else short[name] for name in names]


def middle_cut(text: str, width: int) -> str:
    """`text` without its middle; the end is what usually carries the number."""
    if len(text) <= width:
        return text
    if width < 3:
        return _CUT[:width]
    tail = width // 2 if width < 12 else (width - 1) * 3 // 5
    return f"{text[: width - 1 - tail]}{_CUT}{text[-tail:]}"


def _same(short: Mapping[str, str]) -> list[str]:
    """The names that cannot be told apart any more."""
    taken = Counter(short.values())
    return [name for name, text in short.items() if taken[text] > 1]


def _shortest(name: str, rows: Counter[str], width: int, along: int = _LESS) -> str:
    """The first form that fits, from all of the name to its telling part: the one in the fewest
    rows, where a part that goes along counts as in `along` more.
    """
    forms = list(_forms(name, rows, along))
    return next((form for form in forms if len(form) <= width), middle_cut(forms[-1], width))


def _forms(name: str, rows: Counter[str], along: int) -> Iterator[str]:
    yield name
    parts = _parts(name)
    if len(parts) < 2:
        return
    telling = _telling(name, rows, along)
    first = min((path for path in name.split(";") if telling in path.split("/")), key=len)
    yield f"{first};{_CUT}" if ";" in name else first
    before, _, behind = _around(first, telling)
    yield f"{_CUT}/{telling}/{behind}" if before and behind else first
    yield f"{_CUT}/{telling}" if before else telling


def _telling(name: str, rows: Counter[str], along: int) -> str:
    """The part that is in the fewest names; of several the first of the last path."""
    parts = [part for path in reversed(name.split(";")) for part in _parts(path)]
    return min(parts, key=lambda part: rows[part] + along * bool(_ALONG.search(part)), default=name)


def _rows(names: Sequence[str]) -> Counter[str]:
    """In how many names each part is."""
    return Counter(part for name in set(names) for part in set(_parts(name)))


def _around(path: str, part: str) -> tuple[str, str, str]:
    """What stands before and behind a component."""
    parts = path.split("/")
    index = parts.index(part)
    return "/".join(parts[:index]), part, "/".join(parts[index + 1 :])


def _parts(name: str) -> list[str]:
    return [part for path in name.split(";") for part in path.split("/") if part]


def _common_start(names: Collection[str]) -> int:
    """How many characters all begin with; of two, the first and the last in order are enough."""
    first, last = min(names, default=""), max(names, default="")
    return next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
