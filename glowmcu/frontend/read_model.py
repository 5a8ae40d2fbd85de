"""A model file of any format becomes a graph: the content decides, then the file's name."""

from __future__ import annotations

from glowmcu.errors import ExitCode, GlowmcuError, Problem, error
from glowmcu.frontend.formats import format_of_package
from glowmcu.frontend.other_files import expect_no_other_format
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph


def is_onnx(data: bytes, file_name: str) -> bool:
    """Protobuf has no identifier: what is not TFLite's flatbuffer goes by its name, or begins as an
    ONNX model does, with the version of its format and a name, a domain or the opset.
    """
    if data[4:8] == b"TFL3":
        return False
    begins = (
        data[:1] == b"\x08" and data[1:2] < b"\x20" and data[2:3] in (b"\x12", b"\x1a", b"\x3a")
    )
    return begins or file_name.lower().endswith(".onnx")


def format_of(data: bytes, file_name: str) -> str:
    """`tflite`, `onnx` or a package's, of bytes without a name. Raises GM101 for anything else."""
    other = format_of_package(data, file_name)
    if other is not None:
        return other.name
    expect_no_other_format(data, file_name)
    if data[4:8] == b"TFL3":
        return "tflite"
    if is_onnx(data, ""):
        return "onnx"
    found = f"they begin with {data[:8]!r}" if data else "there are none"
    raise error(
        "GM101",
        f"neither the bytes of a .tflite (TFL3 at byte 4) nor of an .onnx: {found}",
        file_name,
        "pass what the file holds: pathlib.Path(FILE).read_bytes()",
    )


def read_model(
    data: bytes,
    file_name: str,
    options: InputOptions | None = None,
) -> Graph:
    """Import a `.tflite` or `.onnx` model, or one in a format that a package reads.

    Raises GlowmcuError (GM1xx) as the readers do.
    """
    other = format_of_package(data, file_name)
    if other is None:
        expect_no_other_format(data, file_name)
    if other is not None:
        graph = other.read(data, file_name, options or InputOptions())
    elif is_onnx(data, file_name):
        from glowmcu.frontend.onnx.reader import read_onnx

        graph = read_onnx(data, file_name, options)
    else:
        from glowmcu.frontend.tflite.reader import read_tflite

        graph = read_tflite(data, file_name, options)
    _check_sizes(graph, file_name)
    return graph


def _check_sizes(graph: Graph, file_name: str) -> None:
    """GM105 if nothing goes in or comes out."""
    problems = [
        Problem(
            "GM105",
            f"{role} {value.name[:120]!r} has no elements: its shape is {value.type.shape}",
            file_name,
            "remove it from the model: C has no arrays of length 0",
        )
        for role, values in (("input", graph.inputs), ("output", graph.outputs))
        for value in values
        if value.type.element_count == 0
    ]
    if problems:
        raise GlowmcuError(problems, ExitCode.UNSUPPORTED)
