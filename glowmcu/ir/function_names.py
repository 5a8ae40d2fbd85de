"""Names of C functions that are generated for what several layers agree on: 31 characters at most.

A function is known by what it is, one word, and by facts, in words: all that its text depends on
(`specialized`). Its C name (`c_name`) is that word and the facts in letters and numbers,
`glowmcu_straight_64f12`; where they do not fit, the first of them and four characters of a digest
of all, `glowmcu_planes_5x64_k7q2`. Its helpers have their own word in between (`part_name`),
`glowmcu_planes_some_5x64_k7q2`. Rejected: numbers in the order of a bundle, for then a layer more
would rename other layers' functions.
"""

from __future__ import annotations

import base64
import hashlib
import re

#: What C99 (5.2.4.1) promises to tell apart of an external name, and MISRA C:2012 asks for.
SIGNIFICANT = 31
#: Characters of the longest word for a helper.
LONGEST_PART = 5
_PREFIX = "glowmcu_"
_COLON = ": "
_DIGITS = 4
#: Facts' words as letters: docs/glossary.md has the same table. Others stand as they are.
LETTERS = {
    "above": "a", "and": "", "apart": "", "below": "b", "blocks": "", "by": "", "bytes": "",
    "channels": "", "chunks": "", "clamped": "c", "clipped": "y", "columns": "", "doubled": "d",
    "edges": "e", "even": "v", "floor": "f", "gathered": "g", "inputs": "", "inside": "i",
    "last": "", "literal": "l", "long": "z", "loop": "o", "memory": "m", "multiplied": "x",
    "nibbles": "n", "of": "", "packed": "j", "pad": "p", "padded": "p", "partial": "p",
    "pitch": "", "preshift": "k", "rank": "r", "requantization": "", "rows": "r", "shift": "",
    "step": "", "stride": "s", "tail": "", "taps": "", "to": "", "two-sided": "t",
    "uniform": "q", "unrolled": "u", "values": "", "wide": "w", "windows": "h", "words": "",
}  # fmt: skip


def specialized(kind: str, *facts: str) -> str:
    """What tells a function from others: its `kind`, one word, and facts, of which empty ones are
    left out: "straight: 64 inputs, uniform requantization". Equal texts are the same function.
    """
    assert kind.isalnum() and len(kind) <= SIGNIFICANT - len(_PREFIX) - LONGEST_PART - _DIGITS - 2
    return f"{kind}{_COLON}{', '.join(fact for fact in facts if fact)}"


def known_facts(function: str) -> str:
    """The facts of a `specialized` function, in words."""
    return function.partition(_COLON)[2]


def c_name(function: str, others: int = 0) -> str:
    """The C name of a `specialized` function; any other function's is its own.

    `others`: how many different functions have been given all shorter names of this one.
    """
    kind, colon, facts = function.partition(_COLON)
    if not colon:
        return function
    room = SIGNIFICANT - len(f"{_PREFIX}{kind}_") - LONGEST_PART - len("_")
    signature = _joined(facts.split(", "))
    if others or len(signature) > room:
        signature = _with_digest(facts.split(", "), function, room, _DIGITS + max(others - 1, 0))
    return f"{_PREFIX}{kind}_{signature or 'any'}"


def part_name(name: str, part: str) -> str:
    """The name of a helper of the function `name`: `part` stands behind the kind."""
    assert part.isalnum() and len(part) <= LONGEST_PART, part
    kind, _, signature = name.removeprefix(_PREFIX).partition("_")
    return f"{_PREFIX}{kind}_{part}_{signature}"


def _with_digest(facts: list[str], function: str, room: int, digits: int) -> str:
    """As many of the first facts as fit before the digest."""
    text = hashlib.sha256(function.encode()).digest()
    digest = base64.b32encode(text).decode().lower()[:digits]
    for count in range(len(facts), 0, -1):
        lead = _joined(facts[:count])
        if lead and len(lead) + 1 + digits <= room:
            return f"{lead}_{digest}"
    return digest


def _joined(facts: list[str]) -> str:
    """Facts in letters and numbers, between two of which is a dash."""
    joined = ""
    for word in " ".join(facts).split():
        short = LETTERS.get(word, re.sub(r"\W", "_", word, flags=re.ASCII))
        apart = joined[-1:].isdigit() and short[:1].isdigit()
        joined += f"_{short}" if apart else short
    return joined
