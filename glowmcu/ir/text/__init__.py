"""Both IRs as text: MLIR's generic operation syntax with stock types, printed and parsed back."""

from glowmcu.ir.text.graph_text import parse_graph, print_graph
from glowmcu.ir.text.program_text import parse_program, print_program
from glowmcu.ir.text.sidecar import read_sidecar, write_sidecar

__all__ = [
    "parse_graph",
    "parse_program",
    "print_graph",
    "print_program",
    "read_sidecar",
    "write_sidecar",
]
