"""Samples from recordings: tables of numbers (.csv, .tsv) and sound (.wav).

A row of a table is a sample, or a moment of a signal with a column a channel. Signals are cut into
samples that follow each other.
"""

from __future__ import annotations

import codecs
import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from glowmcu import limits
from glowmcu.array_files import ArrayFileError
from glowmcu.column_names import ASIDE, by_input, kept_columns
from glowmcu.errors import GlowmcuError, error
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.quant.samples import Samples, samples_of
from glowmcu.sound_files import load_sound

#: A row's number in its file, and its cells.
_Line = tuple[int, list[str]]
#: How programs write that a value is missing.
_MISSING = ("", "-", "?", "na", "n/a", "none", "null", "#n/a")
#: What no text has, apart from tabs and ends of lines.
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x19\x1b-\x1f\x7f]")
#: The first line by which Excel is told what separates columns.
_STATED = re.compile(r"\s*sep=(.)\s*", re.IGNORECASE)
TABLE_SUFFIXES = (".csv", ".tsv")
SOUND_SUFFIXES = (".wav",)


def read_table(graph: Graph, path: Path) -> Samples:
    """Samples from a table with or without a line of names, of one input or with a column called
    like each. Raises GM304, GM307.
    """
    table = _table(path)
    names, rows, notes = table.names, table.rows, table.notes
    columns = by_input(
        [value.name for value in graph.inputs],
        {name: at for at, name in enumerate(names) if names.count(name) == 1},
    )
    if len(graph.inputs) > 1 and all(value.name in columns for value in graph.inputs):
        places = {value.name: columns[value.name] for value in graph.inputs}
        table.expect_numbers(places.values())
        by_name = {name: rows[:, at] for name, at in places.items()}
        return samples_of(graph, by_name, str(path)).with_notes(notes)
    value = _only_input(graph, path)
    depth = value.type.shape[-1] if value.type.rank else 1
    sizes = (math.prod(value.type.shape), depth)
    kept = kept_columns(names, rows.shape[1], sizes)
    if kept is None:
        raise error(
            "GM304",
            f"a row has {rows.shape[1]} numbers; expected {sizes[0]} of input {value.name!r}"
            + (f", or {depth} for each moment" if depth != sizes[0] else ""),
            str(path),
            "columns called label, class, target, time, id or index are left out where they are "
            "too many",
        )
    table.expect_numbers(kept)
    rows = rows[:, kept]
    left = [names[at] for at in range(len(names)) if at not in kept]
    if left:
        notes = (*notes, f"{', '.join(map(repr, left))} left out of the samples in tables")
    if len(kept) != sizes[0]:
        rows = _windows(rows, sizes[0] // depth, value, path)
    return samples_of(graph, rows.reshape(-1, *value.type.shape), str(path)).with_notes(notes)


def read_sound(graph: Graph, path: Path) -> Samples:
    """Samples from sound: -1 to 1 for a float input, 16 bits for integers. Of several channels it
    is their mean, and a note says so.

    Raises GM304 for less than a sample, GM307 for what cannot be read.
    """
    value = _only_input(graph, path)
    try:
        sound = load_sound(path)
    except (OSError, ArrayFileError) as cause:
        refused = isinstance(cause, OSError) and cause.strerror
        raise error(
            "GM307",
            f"cannot read samples: {refused or cause}",
            str(path),
            "check the path" if refused else "sox IN -b 16 OUT.wav makes a WAV file of most sound",
        ) from cause
    size = math.prod(value.type.shape)
    if size not in value.type.shape:
        raise error(
            "GM304",
            f"input {value.name!r} is {value.type.shape}, and sound has one number a moment",
            str(path),
            "the model takes features of sound: compute them as in training and save them as .npy",
        )
    mono = sound.mono()
    rows = _windows(mono.as_type(value.type.element is ElementType.F32), size, value, path)
    samples = samples_of(graph, rows.reshape(-1, *value.type.shape), str(path))
    return replace(samples.with_notes(mono.notes), rates=((sound.rate, str(path)),))


def _only_input(graph: Graph, path: Path) -> Value:
    if len(graph.inputs) == 1:
        return graph.inputs[0]
    names = ", ".join(value.name for value in graph.inputs)
    raise error(
        "GM304",
        f"one recording for {len(graph.inputs)} inputs; expected one each of: {names}",
        str(path),
        "use an .npz with the inputs' names",
    )


def _windows(moments: Array, length: int, value: Value, path: Path) -> Array:
    """`(samples, length, channels)`, one behind the other; what is left over at the end goes."""
    count = len(moments) // length
    if count == 0:
        raise error(
            "GM304",
            f"{len(moments)} moments are less than a sample of input {value.name!r}, {length}",
            str(path),
            "longer recordings are needed, or shorter ones filled up as in training",
        )
    return moments[: count * length].reshape(count, length, moments.shape[1])


@dataclass(frozen=True)
class _Table:
    """Names of the columns, none if there are none, float64[rows, columns], and what was taken for
    granted. `words` are the first cells of columns, usually none of a model's, that hold no number.
    """

    names: list[str]
    rows: Array
    notes: tuple[str, ...]
    words: Mapping[int, tuple[str, _Place]]

    def expect_numbers(self, columns: Iterable[int]) -> None:
        """Raise GM307 for a word in one of these."""
        for at in columns:
            if at in self.words:
                cell, place = self.words[at]
                _number(cell, at, place)


def _table(path: Path) -> _Table:
    """Raises GM306, GM307."""
    try:
        if path.stat().st_size > limits.file_bytes():
            raise _unreadable(path, f"more than {limits.size_text(limits.file_bytes())}")
        lines, separator = _lines(_text(path.read_bytes()))
    except OSError as cause:
        reason = f"cannot read samples: {cause.strerror or cause}"
        raise error("GM307", reason, str(path), "check the path") from cause
    except (UnicodeError, csv.Error) as cause:
        raise _unreadable(path, f"it is no table of numbers: {cause}") from cause
    lines, notes = _with_points(lines, separator)
    names, why = _names(lines)
    if names:
        number = lines.pop(0)[0]
        notes += (f"row {number} of {path.name} names the columns, since {why}",) if why else ()
    aside = {at for at, name in enumerate(names) if name.strip().lower() in ASIDE}
    wanted = len(names or lines[0][1]) if lines else 0
    rows, words = list[list[float]](), dict[int, tuple[str, _Place]]()
    for number, line in lines:
        if len(line) != wanted:
            raise _unreadable(path, f"row {number} has {len(line)} columns, the first {wanted}")
        place = _Place(path, number, names)
        for at in aside:
            if not _is_number(line[at]):
                words.setdefault(at, (line[at], place))
                line[at] = "0"
        rows.append([_number(cell, at, place) for at, cell in enumerate(line)])
    if not rows:
        raise error("GM306", "no samples: the table has no rows", str(path))
    return _Table(names, np.array(rows), notes, words)


def _text(data: bytes) -> str:
    """By the mark at the beginning. Without one in UTF-8, or else, as spreadsheets of Western
    Europe write, in Windows-1252, which differs in letters only. Raises UnicodeError.
    """
    is_marked = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    try:
        text = data.decode("utf-16" if is_marked else "utf-8-sig")
    except UnicodeDecodeError:
        if is_marked:
            raise
        text = data.decode("cp1252")
    if found := _CONTROLS.search(text):
        raise UnicodeError(f"it has a character {ord(found[0])}, which no text has")
    return text


def _lines(text: str) -> tuple[list[_Line], str]:
    """Rows with their numbers in the file, and what separates columns. Lines without anything are
    none, nor are those that begin with `#`, as numpy.savetxt marks its header. Raises csv.Error.
    """
    kept = [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    stated = _STATED.fullmatch(kept[0][1]) if kept else None
    kept = kept[1:] if stated else kept
    if not kept:
        return [], ","
    separator = stated[1] if stated else _separator(kept[0][1], kept[-1][1])
    if not stated and not kept[-1][1].count(separator):
        return [(number, line.split()) for number, line in kept], " "
    found = csv.reader((line for _, line in kept), delimiter=separator)
    return [
        (kept[found.line_num - 1][0], [cell.strip() for cell in line]) for line in found
    ], separator


def _separator(first: str, last: str) -> str:
    """The one that both lines have alike: a comma beside another one is a decimal sign."""
    alike = [one for one in ";\t," if 0 < first.count(one) == last.count(one)]
    return alike[0] if alike else max(",;\t", key=last.count)


def _with_points(lines: list[_Line], separator: str) -> tuple[list[_Line], tuple[str, ...]]:
    """Numbers with a decimal comma, as spreadsheets of many countries write them, with a point."""
    cells = [cell for _, line in lines[1:] for cell in line]
    if separator == "," or any("." in cell for cell in cells) or not any("," in c for c in cells):
        return lines, ()
    changed = [(number, [cell.replace(",", ".") for cell in line]) for number, line in lines]
    return changed, ("commas in numbers of tables are taken for decimal points",)


def _names(lines: list[_Line]) -> tuple[list[str], str]:
    """What the first row calls the columns, none if it is a sample, and why it may be none; an
    index has no name where pandas writes one.
    """
    first = lines[0][1] if lines else []
    words = [cell for cell in first if not _is_number(cell) and not _is_missing(cell)]
    why = ""
    if words and any(map(_is_number, first)):
        why = f"{words[0][:40]!r} of it is no number"
    elif not words and _counts(first[1:] if first[:1] == [""] else first):
        if len(lines) == 1 or _is_run(lines[1][1]):
            return [], ""
        why = "it counts them from 0"
    if not words and not why:
        return [], ""
    return [first[0] or "index", *first[1:]], why


def _counts(cells: list[str]) -> bool:
    """Whether they are 0, 1, 2 and so on, as pandas calls columns without names."""
    return len(cells) >= 3 and cells == list(map(str, range(len(cells))))


def _is_run(cells: list[str]) -> bool:
    """Whether each number is one more than that before it."""
    numbers = [float(cell) for cell in cells if _is_number(cell)]
    return len(numbers) == len(cells) and bool(np.all(np.diff(numbers) == 1))


@dataclass(frozen=True)
class _Place:
    path: Path
    row: int
    names: Sequence[str]


def _number(cell: str, at: int, place: _Place) -> float:
    try:
        return float(cell)
    except ValueError:
        column = repr(place.names[at][:40]) if place.names else str(at + 1)
        is_missing = _is_missing(cell)
        what = f"has no value ({cell!r})" if is_missing else f"is {cell[:40]!r}"
        raise error(
            "GM307",
            f"cannot read samples: row {place.row}, column {column} {what}; expected a number",
            str(place.path),
            "leave this row out, or fill in what training did: the column's mean or 0"
            if is_missing
            else "leave out columns of words; one called label, class or target may stay",
        ) from None


def _is_missing(cell: str) -> bool:
    return cell.lower() in _MISSING


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _unreadable(path: Path, reason: str) -> GlowmcuError:
    return error(
        "GM307", f"cannot read samples: {reason}", str(path),
        "a table has a row a sample, of numbers with a point, between commas, semicolons or tabs",
    )  # fmt: skip
