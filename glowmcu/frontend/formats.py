"""Formats of models that other packages read: a name, what recognizes a file and makes its graph.

A package adds one by an entry point in the group `glowmcu.formats` that gives a `ModelFormat`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TypeGuard

from glowmcu.discovery import Plugin, load_plugins, name_taken, wrong_type
from glowmcu.errors import GlowmcuError
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, VerificationError
from glowmcu.lazy_dataclass import dataclass

#: What is read here, and by which suffix.
_OWN = ("tflite", "onnx", "mlir")
#: How MLIR's text begins, behind comments and definitions of attributes.
_BEGINS = re.compile(rb'\s*(?:(?://|#)[^\n]*\n\s*)*(?:module\b|func\.func\b|"builtin\.module")')
_HEAD_BYTES = 4096


@dataclass(frozen=True)
class ModelFormat:
    """`recognizes` takes the content of a file and its name, and is asked before the formats of
    this package are tried; `read` takes these and what the user says of inputs, and gives the graph
    that the model is (`GraphBuilder` makes one). It raises `GlowmcuError`s, of GM101 for a damaged
    file and GM102 or GM105 for what it cannot mean, all of them at once.
    """

    name: str
    recognizes: Callable[[bytes, str], bool]
    read: Callable[[bytes, str, InputOptions], Graph]


@cache
def model_formats() -> tuple[ModelFormat, ...]:
    """All of packages, by name. Raises GM750 to GM753."""
    formats: dict[str, ModelFormat] = {}
    for plugin, given in load_plugins("glowmcu.formats", _is_format, "a ModelFormat"):
        if given.name in (*_OWN, *formats):
            raise GlowmcuError([name_taken(plugin, f"{given.name!r} is another format")])
        formats[given.name] = _checked(plugin, given)
    return tuple(formats[name] for name in sorted(formats))


def _is_format(given: object) -> TypeGuard[ModelFormat]:
    return isinstance(given, ModelFormat)


def _checked(plugin: Plugin, given: ModelFormat) -> ModelFormat:
    """The same; that it makes a wrong graph, or something else, is said of the plug-in."""

    def read(data: bytes, file_name: str, options: InputOptions) -> Graph:
        graph: object = given.read(data, file_name, options)
        if not isinstance(graph, Graph):
            raise GlowmcuError([wrong_type(plugin, graph, f"a graph of {file_name}")])
        try:
            graph.verify()
        except VerificationError as cause:
            problem = plugin.problem("GM754", f"a plug-in makes a wrong graph: {cause}")
            raise GlowmcuError([problem]) from cause
        return graph

    return ModelFormat(given.name, given.recognizes, read)


def format_of_package(data: bytes, file_name: str) -> ModelFormat | None:
    """Whose file it is, if it is one of a package's; or TOSA's text, which is read here."""
    formats = (*model_formats(), _TOSA)
    return next((one for one in formats if one.recognizes(data, file_name)), None)


def _is_mlir(data: bytes, file_name: str) -> bool:
    """By how it begins, or by its name."""
    return _BEGINS.match(data[:_HEAD_BYTES]) is not None or file_name.lower().endswith(".mlir")


def _read_tosa(data: bytes, file_name: str, options: InputOptions) -> Graph:
    from glowmcu.frontend.tosa.reader import read_tosa

    return read_tosa(data, file_name, options)


_TOSA = ModelFormat("mlir", _is_mlir, _read_tosa)
