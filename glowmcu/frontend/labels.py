"""What a model file calls its classes, where it says so by its format's convention.

`.tflite`: text files, one label a line, in a zip archive behind the flatbuffer (TensorFlow Lite
Metadata). `.onnx`: `names` and the like among the model's properties, or the `classlabels_strings`
of a classifier.
"""

from __future__ import annotations

from collections.abc import Collection

from glowmcu.frontend.formats import format_of_package
from glowmcu.frontend.read_model import is_onnx
from glowmcu.interface_options import InterfaceOptions
from glowmcu.ir.graph import Graph

#: Where a zip archive ends, and how far that may be from the end of the file: a comment is behind.
_END_OF_ARCHIVE, _LONGEST_END = b"PK\x05\x06", 22 + (1 << 16)


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
        from glowmcu.frontend.onnx.labels import labels_in_onnx

        return labels_in_onnx(data, file_name)
    if _END_OF_ARCHIVE not in data[-_LONGEST_END:]:
        return (), ()
    from glowmcu.frontend.attached_labels import labels_of_archive

    return labels_of_archive(data, file_name, sizes), ()
