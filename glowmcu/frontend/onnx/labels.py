"""What an ONNX file calls its classes: among its properties, or in a classifier."""

from __future__ import annotations

import ast
import json

from glowmcu import limits
from glowmcu.errors import error
from glowmcu.frontend.onnx.container import read_properties
from glowmcu.labels import NO_LABELS_HINT, checked_labels, too_large

#: Names that a note has of a list, and characters in all.
_SAID, _MOST_TEXT = 8, 400
#: Properties of ONNX files that hold class names, by who writes them: Ultralytics, Hugging Face,
#: others.
_PROPERTIES = ("names", "id2label", "class_names", "classes", "labels")


def labels_in_onnx(data: bytes, file_name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The labels in the file, () if it has none, and what to say of them. Raises GM124 to GM127."""
    properties, lists = read_properties(data, file_name)
    for key in _PROPERTIES:
        if key in properties:
            where = f"{file_name}, property {key!r}"
            return checked_labels(_parsed(properties[key], where), where), ()
    found = [checked_labels(names, f"{file_name}, classlabels_strings") for names in lists]
    if len(found) < 2:
        return (found[0] if found else ()), ()
    said = "; ".join(", ".join(names[:_SAID]) + ", …" * (len(names) > _SAID) for names in found)
    return (), (
        "there are several lists of names of classes, of which none is the bundle's labels: "
        f"{said[:_MOST_TEXT]}",
    )


def _parsed(text: str, where: str) -> tuple[str, ...]:
    """A list of names, or a dictionary of them by index: as JSON, as Python prints it, or with
    commas between. Raises GM127 for another thing.
    """
    if len(text) > limits.label_bytes():
        raise too_large(where)
    value: object = None
    if text.lstrip()[:1] not in ("{", "[", "("):
        return tuple(part.strip() for part in text.split(","))
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
            break
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    names = _by_index(value) if isinstance(value, dict) else value
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        return tuple(names)
    raise error("GM127", "class names are no list and no index of them", where, NO_LABELS_HINT)


def _by_index(names: dict[object, object]) -> list[object] | None:
    """`{0: 'person', 1: 'bicycle'}` as a list; None if an index is missing."""
    by_text = {str(key).strip(): name for key, name in names.items()}
    if len(by_text) != len(names) or any(str(index) not in by_text for index in range(len(names))):
        return None
    return [by_text[str(index)] for index in range(len(names))]
