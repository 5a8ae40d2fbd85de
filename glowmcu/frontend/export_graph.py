"""A graph becomes the content of a model file, in the format that is asked for."""

from __future__ import annotations

from glowmcu.ir.graph import Graph
from glowmcu.option_words import ExportWord


def export_graph(graph: Graph, format_: ExportWord) -> bytes:
    """A `.tflite` (tflm: with compressed weights), or MLIR's text of a dialect. Raises GM194 or
    GM155 with every node that the format has no operator for.
    """
    if format_ == "tosa":
        from glowmcu.frontend.tosa.exporter import export_function
        from glowmcu.frontend.tosa.text import print_tosa

        return print_tosa(export_function(graph)).encode()
    if format_ == "stablehlo":
        from glowmcu.frontend.stablehlo.exporter import export_stablehlo

        return export_stablehlo(graph).encode()
    from glowmcu.frontend.tflite.exporter import export_tflite

    return export_tflite(graph, compresses_weights=format_ == "tflm")
