"""Lines that the firmware prints -> records. Anything else on the console is left alone."""

from __future__ import annotations

from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Record:
    """A measured call: `label` (`empty`, `loop`, `inference`, `layer`), `number`, and its
    `key=value`s.
    """

    label: str
    number: int
    values: dict[str, int]


@dataclass(frozen=True)
class Console:
    """All of a run's console: `calls` in order, output bytes if they were printed."""

    calls: tuple[Record, ...]
    outputs: bytes
    checksum: int | None
    inferences: int | None
    failure: str | None

    def call(self, label: str) -> Record:
        """The first call with `label`."""
        return next(record for record in self.calls if record.label == label)

    def inference_calls(self) -> tuple[Record, ...]:
        """The measured inferences, in order."""
        return tuple(record for record in self.calls if record.label == "inference")


def read_console(text: str) -> Console:
    """Parse what a firmware printed; other lines are ignored. An early end: no `inferences`."""
    calls: list[Record] = []
    outputs = b""
    checksum = inferences = failure = None
    for line in text.splitlines():
        words = line.strip().split()
        if not words or words[0] != "glowmcu" or len(words) < 3:
            continue
        if words[1] in ("error:", "fault:"):
            failure = failure or line.strip().removeprefix("glowmcu ")
        elif words[1] == "output":
            outputs += bytes.fromhex(words[2])
        elif words[1] == "checksum":
            checksum = int(words[2], 16)
        elif words[1] == "end":
            inferences = int(words[2])
        elif words[1] in ("empty", "loop", "inference", "layer"):
            pairs = (word.split("=") for word in words[3:])
            calls.append(Record(words[1], int(words[2]), {key: int(v) for key, v in pairs}))
    return Console(tuple(calls), outputs, checksum, inferences, failure)


def fnv1a(data: bytes) -> int:
    """The 32-bit FNV-1a checksum that the firmware prints after its outputs."""
    value = 0x811C9DC5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def firmware_failure(console: Console, where: str, fault_hint: str = "") -> GlowmcuError:
    """The error for a run in which the firmware itself reported a failure.

    `fault_hint` is what else may be behind a fault on this emulator.
    """
    failure = console.failure or "the firmware stopped without a message"
    hint = "addr2line -f -e <name>.elf <pc> names the function" if "pc=" in failure else ""
    if failure.startswith("fault:") and fault_hint:
        hint = f"{hint}; {fault_hint}" if hint else fault_hint
    message = f"the bundle failed on the target: {failure}"
    return error("GM642", message, where, hint, ExitCode.MISMATCH)
