"""The executor `serial:PORT`: a bundle on a real board that has its test firmware."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from glowmcu.board import Board, find_board
from glowmcu.errors import error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest, read_manifest
from glowmcu.verify.firmware import Console, pack_inputs, read_console, unpack_outputs
from glowmcu.verify.firmware.console import firmware_failure
from glowmcu.verify.measurement import Array, LayerCost, Measurement
from glowmcu.verify.serial.line import missing, opened
from glowmcu.verify.serial.link import Link
from glowmcu.verify.serial.place import SerialPlace
from glowmcu.verify.time_limits import most_instructions

#: For an answer that nothing is computed for.
_ANSWER_SECONDS = 5.0
#: A slow chip after reset, of which an instruction takes some cycles.
_INSTRUCTIONS_PER_SECOND = 1_000_000
#: Text that a firmware prints for an inference, some times over.
_TEXT_BYTES_PER_LAYER, _TEXT_BYTES = 400, 20_000


@dataclass(frozen=True)
class SerialBoard:
    """Runs bundles on the board at `place`, fulfilling `Executor`; it has the bundle's firmware.

    Cycles are those of the core's own counter, at the clock that the board has after a reset.
    `run_seconds` replaces a limit that follows from the work of one inference.
    """

    place: SerialPlace
    board: Board | None = None
    run_seconds: float | None = None

    @property
    def name(self) -> str:
        return self.place.name

    def missing(self) -> str | None:
        """What has to be installed before this executor works here, or None."""
        return missing()

    def run(self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]) -> list[Measurement]:
        """One inference for each entry of `inputs`, with cycles, stack and, of an instrumented
        bundle, layers.

        Raises GM180 (no pyserial), GM181 (port), GM182 (no answer), GM183 (another bundle's
        firmware), GM184 (reset), GM185 (port is gone), GM186 (line too bad), GM604 (inputs),
        GM642 (fault or broken guard on the board).
        """
        manifest = read_manifest(bundle_dir)
        packed = pack_inputs(manifest, inputs)
        if not inputs:
            return []
        with opened(self.place) as line:
            link = Link(line, self.place.baud, self.name)
            payload_bytes = self._greet(link, manifest)
            console, outputs = self._talk(link, manifest, packed, len(inputs), payload_bytes)
        if console.failure:
            raise firmware_failure(console, f"board at {self.name}")
        expected = len(inputs) * sum(entry.bytes for entry in manifest.outputs)
        calls = console.inference_calls()
        if len(outputs) != expected or len(calls) != len(inputs):
            message = f"the board sent {len(outputs)} bytes of outputs, {expected} were expected"
            raise error("GM186", message, self.name, "flash the firmware again")
        return measurements(manifest, console, outputs, inputs)

    def _greet(self, link: Link, manifest: Manifest) -> int:
        greeting = link.greet()
        if greeting.identity != manifest.identity:
            board = self.board.name if self.board is not None else manifest.board
            raise error(
                "GM183",
                f"the board has another bundle's firmware: {greeting.identity.hex()}, "
                f"this bundle is {manifest.identity.hex()}",
                self.name,
                f"flash this one: glowmcu flash BUNDLE --board {board}",
            )
        return greeting.payload_bytes

    def _talk(
        self, link: Link, manifest: Manifest, packed: bytes, inferences: int, payload_bytes: int
    ) -> tuple[Console, bytes]:
        """All that the firmware prints, and its outputs."""
        link.request("B", inferences.to_bytes(4, "little"), "k", _ANSWER_SECONDS)
        seconds, at = self._run_seconds(manifest), 0
        text, outputs = bytearray(), bytearray()
        most_text = _TEXT_BYTES + inferences * _TEXT_BYTES_PER_LAYER * (len(manifest.layers) + 1)
        while len(text) <= most_text:
            told = link.request("N", b"", "wtox", seconds)
            if told.kind == "x":
                return read_console(text.decode(errors="replace")), bytes(outputs)
            if told.kind == "t":
                text += told.payload
            elif told.kind == "o":
                outputs += told.payload
            else:
                end = at + int.from_bytes(told.payload, "little")
                while at < end:
                    piece = packed[at : min(end, at + payload_bytes)]
                    link.request("D", piece, "k", _ANSWER_SECONDS)
                    at += payload_bytes
                at = end
        raise error("GM186", "the board prints without an end", self.name, "press reset")

    def _run_seconds(self, manifest: Manifest) -> float:
        if self.run_seconds is not None:
            return self.run_seconds
        core = (self.board or find_board(manifest.board)).core
        # Of one inference: that of none is the start of an emulator.
        work = most_instructions(manifest, core, 1) - most_instructions(manifest, core, 0)
        return _ANSWER_SECONDS + work / _INSTRUCTIONS_PER_SECOND


def measurements(
    manifest: Manifest, console: Console, outputs: bytes, inputs: Sequence[Sequence[Array]]
) -> list[Measurement]:
    """Results from what the firmware printed: a call's cycles are those above an empty one's."""
    empty = console.call("empty").values["cycles"]
    costs: list[tuple[int, int | None, list[LayerCost]]] = []
    for call in console.calls:
        cycles = call.values["cycles"]
        if call.label == "inference":
            costs.append((max(0, cycles - empty), call.values.get("stack"), []))
        elif call.label == "layer" and costs:
            name = manifest.layers[call.number].name
            costs[-1][2].append(LayerCost(call.number, name, None, cycles))
    return [
        Measurement(arrays, None, cycles, stack_bytes, tuple(layers))
        for arrays, (cycles, stack_bytes, layers) in zip(
            unpack_outputs(manifest, outputs, inputs), costs, strict=True
        )
    ]
