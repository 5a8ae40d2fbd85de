"""What a model file calls its classes, where it says so by its format's convention.

`.tflite`: text files, one label a line, in a zip archive behind the flatbuffer (TensorFlow Lite
Metadata). `.onnx`: `names` and the like among the model's properties, or the `classlabels_strings`
of a classifier.
"""

from __future__ import annotations

import ast
import io
import json
import zipfile
import zlib
from collections.abc import Collection

from glowmcu import limits
from glowmcu.errors import error
from glowmcu.frontend.formats import format_of_package
from glowmcu.frontend.onnx.container import read_properties
from glowmcu.frontend.read_model import is_onnx
from glowmcu.interface_options import InterfaceOptions
from glowmcu.ir.graph import Graph
from glowmcu.labels import NO_LABELS_HINT, checked_labels, labels_of_text, too_large

_MOST_FILES = 256
#: Names that a note has of a list, and characters in all.
_SAID, _MOST_TEXT = 8, 400
_ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError,
    ValueError, OverflowError, MemoryError, ImportError,
)  # fmt: skip
#: Properties of ONNX files that hold class names, by who writes them: Ultralytics, Hugging Face,
#: others.
_PROPERTIES = ("names", "id2label", "class_names", "classes", "labels")


def labels_of(
    data: bytes, file_name: str, graph: Graph, interface: InterfaceOptions
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the classes, and a note if no output has as many, or if outputs have classes of
    their own. Raises GM124 to GM127.
    """
    sizes = {value.type.shape[-1] for value in graph.results if value.type.shape}
    labels, notes = interface.labels, tuple[str, ...]()
    if labels is None:
        labels, notes = _found(data, file_name, sizes)
    if not labels or len(labels) in sizes:
        return labels, notes
    return labels, (f"there are {len(labels)} labels, but no output has as many classes",)


def labels_of_model(data: bytes, file_name: str, sizes: Collection[int]) -> tuple[str, ...]:
    """The labels in the file, () if it has none. `sizes` are those of the outputs' last axes:
    of several files the one with as many lines is meant. Raises GM124 to GM127.
    """
    return _found(data, file_name, sizes)[0]


def _found(
    data: bytes, file_name: str, sizes: Collection[int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if format_of_package(data, file_name) is not None:
        return (), ()
    if is_onnx(data, file_name):
        return _of_onnx(data, file_name)
    end = io.BytesIO(data)
    return (_of_archive(end, file_name, sizes) if zipfile.is_zipfile(end) else ()), ()


def _of_archive(file: io.BytesIO, file_name: str, sizes: Collection[int]) -> tuple[str, ...]:
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if len(entries) > _MOST_FILES:
                raise error(
                    "GM125", f"{len(entries)} files are attached; {_MOST_FILES} are taken at most",
                    file_name, NO_LABELS_HINT,
                )  # fmt: skip
            texts = [entry for entry in entries if entry.filename.lower().endswith(".txt")]
            named = [entry for entry in texts if "label" in entry.filename.lower()]
            found = [_of_entry(archive, entry, file_name) for entry in named or texts]
    except _ZIP_ERRORS as cause:
        raise error(
            "GM124", f"the files attached to the model cannot be read: {cause}", file_name,
            NO_LABELS_HINT,
        ) from cause  # fmt: skip
    fitting = [labels for labels in found if len(labels) in sizes]
    if fitting:
        return fitting[0]
    return found[0] if named and found else ()


def _of_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, file_name: str) -> tuple[str, ...]:
    """No more is unpacked than is taken: what an archive says of sizes is not believed."""
    where = f"{file_name}, attached file {entry.filename[:80]!r}"
    most = limits.label_bytes()
    if entry.file_size > most:
        raise too_large(where)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # Others take memory by what the archive says: LZMA up to 4 GiB for its dictionary.
        raise error("GM124", "an attached file is packed in an unusual way", where, NO_LABELS_HINT)
    with archive.open(entry) as stream:
        data = stream.read(most + 1)
    return labels_of_text(data, where)


def _of_onnx(data: bytes, file_name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
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
