"""C spelled out: identifiers, numbers, comments, lines of at most 100 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

import numpy as np

from glowmcu.errors import error

_LINE = 100
_INT32_MIN = "(-2147483647 - 1)"
_C_KEYWORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while _Bool _Complex _Imaginary alignas alignof and and_eq asm
    bitand bitor bool catch class compl const_cast constexpr decltype delete dynamic_cast
    explicit export false friend mutable namespace new noexcept not not_eq nullptr operator or
    or_eq private protected public reinterpret_cast static_assert static_cast template this
    thread_local throw true try typeid typename using virtual wchar_t xor xor_eq main
    """.split()  # noqa: SIM905
)
#: `<name>.h` on an include path would hide these; Arduino's is on every sketch's. Those in the last
#: line are included by the headers of C libraries: glibc and musl, newlib, picolibc, MinGW.
_HEADERS = frozenset(
    """
    arduino assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal
    stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads
    time uchar wchar wctype
    alloca corecrt crtdefs endian features newlib picolibc strings vadefs
    """.split()  # noqa: SIM905
)
#: Windows opens a device where a file is called so, whatever follows the dot.
_DEVICES = frozenset(
    ["aux", "con", "nul", "prn", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))]
)
_NO_FILES = _HEADERS | _DEVICES


def check_bundle_name(name: str) -> str:
    """`name` if it can prefix C functions and name files. Raises GM503."""
    lower = name.lower()
    reserved = name in _C_KEYWORDS or lower.startswith("glowmcu") or lower in _NO_FILES
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,47}", name) and not reserved:
        return name
    raise error(
        "GM503",
        f"{name!r} cannot name a bundle: expected a C identifier of at most 48 characters "
        "that is no keyword, standard header or device of Windows and does not begin with glowmcu",
        hint=f"--name {bundle_name(name)}",
    )


def bundle_name(text: str) -> str:
    """The name that a bundle can have most like `text`, such as a model file's."""
    name = c_identifier(text) or "model"
    return f"m_{name}" if name.startswith("glowmcu") or name in _NO_FILES else name


def c_identifier(text: str) -> str:
    """`text` as a lower-case C identifier; empty when nothing of it can stay."""
    words = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").lower()[:40].strip("_")
    if not words:
        return ""
    return f"m_{words}" if words[0].isdigit() or words in _C_KEYWORDS else words


def unique_identifiers(texts: Iterable[str], fallback: str) -> list[str]:
    """An identifier a text, numbered where two would be the same."""
    taken: set[str] = set()
    names: list[str] = []
    for index, text in enumerate(texts):
        base = c_identifier(text) or f"{fallback}{index}"
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        names.append(name)
    return names


def comment_text(text: str, limit: int = 80) -> str:
    """Text from a model file made safe for a comment: one line, no comment marks, ASCII."""
    plain = re.sub(r"[^ -~]", "?", text).replace("\\", "/")
    # A space between any two characters that mean something together: */ /* and trigraphs.
    plain = re.sub(r"\*(?=/)|/(?=\*)|\?(?=\?)", r"\g<0> ", plain)
    return plain if len(plain) <= limit else plain[: limit - 3] + "..."


def c_string(text: str) -> str:
    """Text from a model file made safe for a string."""
    return comment_text(text).replace('"', "'")


def c_literal(text: str, columns: int = 80) -> str:
    """Any text as a string literal of its UTF-8 bytes, in pieces if it is long.

    Escapes are octal, which end after three digits; a question mark begins no trigraph.
    """
    pieces, line = [], ""
    for byte in text.encode("utf-8"):
        plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
        piece = chr(byte) if plain else f"\\{byte:03o}"
        if len(line) + len(piece) > columns:
            pieces.append(line)
            line = ""
        line += piece
    return " ".join(f'"{item}"' for item in (*pieces, line))


def c_number(value: int | float) -> str:
    """An integer or float32 literal; INT32_MIN has no literal of its own type in C."""
    if isinstance(value, float):
        return float_literal(value)
    if value == -(2**31):
        return _INT32_MIN
    return str(value)


def float_literal(value: float) -> str:
    """The shortest decimal that reads back as the same float32."""
    single = np.float32(value)
    if not np.isfinite(single):
        return {"inf": "(1.0f / 0.0f)", "-inf": "(-1.0f / 0.0f)"}.get(str(single), "(0.0f / 0.0f)")
    text = str(single)
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def thousands(value: int) -> str:
    """12 345 678: digits in groups of three."""
    return f"{value:,}".replace(",", " ")


def wrap_words(text: str, prefix: str, columns: int = _LINE) -> list[str]:
    """Words behind `prefix`, broken into lines of at most `columns` columns."""
    return textwrap.wrap(
        text,
        columns,
        initial_indent=prefix,
        subsequent_indent=prefix,
        break_long_words=False,
        break_on_hyphens=False,
    )


def wrap_items(items: Iterable[str], indent: str = "    ") -> str:
    """Items joined by commas, broken into lines of at most 100 columns."""
    lines: list[str] = []
    line = indent
    for item in items:
        piece = item + ", "
        if len(line) + len(piece.rstrip()) > _LINE and line != indent:
            lines.append(line.rstrip())
            line = indent
        line += piece
    lines.append(line.rstrip().rstrip(","))
    return "\n".join(lines)


def wrap_call(function: str, arguments: list[str], indent: int) -> str:
    """A statement, in as many lines as it needs."""
    line = f"{' ' * indent}{function}({', '.join(arguments)});"
    if len(line) <= 100:
        return line
    inner = wrap_items([*arguments[:-1], f"{arguments[-1]});"], " " * (indent + 4))
    return f"{' ' * indent}{function}(\n{inner}"
