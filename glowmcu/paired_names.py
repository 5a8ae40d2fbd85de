"""Names that tell what comes in from what goes out: `h0` and `hn`, `mean_in` and `mean_out`."""

from __future__ import annotations

import re

#: Words of two names that tell what comes in from what goes out.
_TURNS = {
    ("in", "out"), ("0", "n"), ("prev", "next"), ("previous", "next"), ("old", "new"),
    ("past", "present"), ("prev", "new"), ("prev", "curr"), ("last", "next"), ("current", "next"),
    ("h0", "hn"), ("c0", "cn"), ("h", "hn"), ("c", "cn"), ("initial", "final"),
}  # fmt: skip
#: Words that one of the two names has and the other lacks: what goes out, or what comes in.
_GOES_OUT = {"n", "next", "new", "out", "output", "updated", "final"}
_COMES_IN = {"prev", "previous", "old", "past", "last", "in", "input", "initial", "0"}


def are_paired(given: str, got: str) -> bool:
    """Whether two names differ by one such word alone."""
    one, other = words_of(given), words_of(got)
    if len(one) != len(other):
        return _has_more(other, one, _GOES_OUT) or _has_more(one, other, _COMES_IN)
    apart = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
    return len(apart) == 1 and apart[0] in _TURNS


def words_of(name: str) -> list[str]:
    """The words that a name is made of, in small letters."""
    parts = re.sub(r"([a-z])([A-Z])", r"\1_\2", name)
    return [word for word in re.split(r"[^a-z0-9]+", parts.lower()) if word]


def _has_more(longer: list[str], shorter: list[str], words: set[str]) -> bool:
    """Whether one of `words` is all that the longer name has more."""
    return any(
        word in words and longer[:place] + longer[place + 1 :] == shorter
        for place, word in enumerate(longer)
    )
