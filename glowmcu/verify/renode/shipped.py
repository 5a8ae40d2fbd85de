"""The folder `renode/` of a bundle: a firmware, its platform, and a test for `renode-test`.

The golden vectors of the self test are its inputs, and what the reference computes is what the
test expects on the serial line. Outputs in float differ in the last bits from compiler to compiler:
for them the self test on the target has the word.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.board import Board
from glowmcu.cores import core
from glowmcu.manifest import Manifest
from glowmcu.test_vectors import pattern_tensor
from glowmcu.verify.firmware import firmware_files, firmware_view, pack_inputs, uart_port
from glowmcu.verify.firmware.console import fnv1a
from glowmcu.verify.firmware.makefile import makefile_view
from glowmcu.verify.firmware.port import UART_INPUTS_ORIGIN
from glowmcu.verify.firmware.templates import render
from glowmcu.verify.measurement import Array
from glowmcu.verify.renode.files import renode_board, renode_files
from glowmcu.verify.renode.intel_hex import intel_hex
from glowmcu.verify.time_limits import most_instructions

_MOST_VECTORS = 2  # whose inputs are stored in full
_BYTES_PER_LINE = 32  # of an output on the serial line
# Of a larger output the test waits for the checksum alone.
_MOST_LINES = 32

#: A seed for the inputs, and the outputs that the reference computes from them.
Vector = tuple[int, tuple[Array, ...]]


def shipped_files(manifest: Manifest, board: Board, vectors: Sequence[Vector]) -> dict[str, str]:
    """The files by name relative to the bundle's folder. Raises GM661 (board without Renode)."""
    name = manifest.name
    hardware, target = renode_board(board)
    port = uart_port(target.uart_kind, target.uart_origin)
    view = firmware_view(manifest, hardware, core(board.core), is_shipped=True)
    shipped = vectors[:_MOST_VECTORS]
    inputs = [_inputs(manifest, seed) for seed, _ in shipped]
    packed = pack_inputs(manifest, inputs)
    given = len(shipped).to_bytes(4, "little") + packed
    expected = expected_lines(manifest, [outputs for _, outputs in shipped])
    # The self test runs all vectors.
    limit = most_instructions(manifest, board.core, len(shipped) + len(vectors))
    texts = renode_files(name, board, len(shipped), len(packed), limit, expected)
    files = firmware_files(view, port)
    sources = [file for file in files if file.endswith(".c")]
    files |= {
        f"{name}.repl": texts.repl,
        f"{name}.resc": texts.resc,
        f"{name}.robot": texts.robot,
        "inputs.hex": intel_hex(UART_INPUTS_ORIGIN, given),
        "Makefile": render(
            "renode/Makefile.j2", makefile_view(manifest, view, port, core(board.core), sources)
        ),
        ".gitignore": f"{name}.elf\nconsole.txt*\ninstructions.txt\nresults/\n",
    }
    return {f"renode/{file}": text for file, text in files.items()}


def _inputs(manifest: Manifest, seed: int) -> list[Array]:
    return [
        pattern_tensor(entry.shape, entry.dtype, seed + number)
        for number, entry in enumerate(manifest.inputs)
    ]


def expected_lines(
    manifest: Manifest, outputs: Sequence[Sequence[Array]]
) -> tuple[tuple[str, ...], ...]:
    """What the firmware prints of each inference's exact outputs.

    The checksum is one of all outputs so far, and not known any more behind one that is not exact.
    """
    printed = b""
    is_known = True
    every = []
    for arrays in outputs:
        lines: list[str] = []
        for entry, array in zip(manifest.outputs, arrays, strict=True):
            data = array.tobytes()
            printed += data
            is_known = is_known and entry.exact
            if not entry.exact:
                continue
            if len(data) <= _MOST_LINES * _BYTES_PER_LINE or not is_known:
                lines += _output_lines(data)
            if is_known:
                lines.append(f"glowmcu checksum {fnv1a(printed):08x}")
        every.append(tuple(lines))
    return tuple(every)


def _output_lines(data: bytes) -> list[str]:
    starts = range(0, len(data), _BYTES_PER_LINE)
    return [f"glowmcu output {data[at : at + _BYTES_PER_LINE].hex()}" for at in starts]
