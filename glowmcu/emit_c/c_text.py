"""C spelled out: identifiers, numbers, rows of array elements."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

import numpy as np

from glowmcu.errors import error
from glowmcu.ir.operation import Array

_LINE = 100
#: Elements of an array that are turned into text together.
_AT_ONCE = 1 << 16
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
#: `<name>.h` on an include path would hide these; Arduino's is on every sketch's.
_HEADERS = frozenset(
    """
    arduino assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal
    stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads
    time uchar wchar wctype
    """.split()  # noqa: SIM905
)


def check_bundle_name(name: str) -> str:
    """`name` if it can prefix C functions and name files. Raises GM503."""
    reserved = name in _C_KEYWORDS or name.lower().startswith("glowmcu") or name.lower() in _HEADERS
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,47}", name) and not reserved:
        return name
    raise error(
        "GM503",
        f"{name!r} cannot name a bundle: expected a C identifier of at most 48 characters "
        "that is no keyword or standard header and does not begin with glowmcu",
        hint=f"--name {bundle_name(name)}",
    )


def bundle_name(text: str) -> str:
    """The name that a bundle can have most like `text`, such as a model file's."""
    name = c_identifier(text) or "model"
    return f"m_{name}" if name.startswith("glowmcu") or name in _HEADERS else name


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
    """Any text as a string literal of its UTF-8 bytes, in pieces where it is long.

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


def array_rows(data: Array) -> str:
    """The elements as right-aligned rows of at most 100 columns, commas between."""
    flat = data.reshape(-1)
    if not flat.size:
        return ""
    if data.dtype == np.float32:
        items = [float_literal(float(value)) for value in flat]
    elif data.dtype == np.int64:
        items = [_int64_literal(int(value)) for value in flat]
    elif data.dtype == np.int32 and flat.min() == -(2**31):
        items = [c_number(value) for value in flat.tolist()]
    else:
        return _integer_rows(flat)
    return _rows(items, max(map(len, items)))


def _integer_rows(flat: Array) -> str:
    """As many as weights are: numpy writes the digits, a number of whole rows at a time."""
    width = max(len(str(int(flat.min()))), len(str(int(flat.max()))))
    per_line = _per_line(width)
    step = per_line * max(1, _AT_ONCE // per_line)
    parts = [
        _digit_rows(flat[start : start + step].astype(np.int64), width, per_line)
        for start in range(0, flat.size, step)
    ]
    return ",\n".join(parts)


def _digit_rows(items: Array, width: int, per_line: int) -> str:
    """As `_rows` has them: each cell is its digits, a comma and what follows that."""
    count = len(items)
    lines = -(-count // per_line)
    cells = np.full((lines * per_line, width + 2), ord(" "), np.uint8)
    cells[:, width] = ord(",")
    left, sign_at = np.abs(items), np.full(count, width - 1)
    for column in range(width - 1, -1, -1):
        shown = slice(None) if column == width - 1 else np.nonzero(left)[0]
        left[shown], digits = np.divmod(left[shown], 10)
        cells[:count, column][shown] = digits + ord("0")
        sign_at[shown] = column - 1
    negative = np.nonzero(items < 0)[0]
    cells[negative, sign_at[negative]] = ord("-")
    rows = np.full((lines, 4 + per_line * (width + 2)), ord(" "), np.uint8)
    rows[:, 4:] = cells.reshape(lines, -1)
    rows[:, -1] = ord("\n")
    missing = lines * per_line - count
    text = rows.tobytes()[: rows.size - missing * (width + 2)]
    return text[:-2].decode("ascii")


def _per_line(width: int) -> int:
    return max(1, (_LINE - 4) // (width + 2))


def _rows(items: Sequence[str], width: int) -> str:
    per_line = _per_line(width)
    lines = [
        "    " + ", ".join(item.rjust(width) for item in items[start : start + per_line])
        for start in range(0, len(items), per_line)
    ]
    return ",\n".join(lines)


def _int64_literal(value: int) -> str:
    return "(-9223372036854775807LL - 1)" if value == -(2**63) else f"{value}LL"


def thousands(value: int) -> str:
    """12 345 678: digits in groups of three."""
    return f"{value:,}".replace(",", " ")


def wrap_words(text: str, prefix: str, columns: int = _LINE) -> list[str]:
    """Words behind `prefix`, broken into lines of at most so many columns."""
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
