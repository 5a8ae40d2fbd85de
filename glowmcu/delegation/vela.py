"""Arm's Vela, in a process of its own: a `.tflite` goes in, and comes out for an Ethos-U."""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from glowmcu.errors import GlowmcuError, Problem, error
from glowmcu.lazy_dataclass import dataclass

#: What Vela may take for one region.
_SECONDS = 300
_MOST_BYTES = 1 << 28
_NAME = "region"
_REFUSED = re.compile(r"operator: \w+, \w+: '([^']*)'\s*\n((?:\s*-?\s*Reason: .*\n|\s*- .*\n)+)")
#: Configurations by the beginning of a name: the system and the memory mode of Vela's own file that
#: a microcontroller has, weights in flash and all tensors in one SRAM.
_SYSTEMS = {
    "ethos-u55": ("Ethos_U55_High_End_Embedded", "Shared_Sram"),
    "ethos-u65": ("Ethos_U65_Embedded", "Shared_Sram"),
    "ethos-u85": ("Ethos_U85_SYS_Flash_High", "Shared_Sram"),
}
ACCELERATORS = (
    "ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256", "ethos-u65-256",
    "ethos-u65-512", "ethos-u85-128", "ethos-u85-256", "ethos-u85-512", "ethos-u85-1024",
    "ethos-u85-2048",
)  # fmt: skip


class VelaEnded(GlowmcuError):
    """GM776 of a Vela that ended before its work was done: `how`, in a clause."""

    def __init__(self, problems: Sequence[Problem], how: str) -> None:
        super().__init__(list(problems))
        self.how = how

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems, self.how)


@dataclass(frozen=True)
class VelaOutput:
    """The file, what Vela said of operators by the name of their result, and estimated cycles of
    all that the Ethos-U computes.
    """

    data: bytes
    refused: dict[str, str]
    cycles: int


@dataclass(frozen=True)
class Vela:
    """The command, and what it compiles for."""

    command: str
    accelerator: str
    small: bool = False

    def compiled(self, model: bytes) -> VelaOutput:
        """Raises GM776."""
        with tempfile.TemporaryDirectory(prefix="glowmcu_vela_") as scratch:
            folder = Path(scratch)
            (folder / f"{_NAME}.tflite").write_bytes(model)
            said = self._run(folder)
            data = self._written(folder / f"{_NAME}_vela.tflite", said)
            return VelaOutput(data, _refusals(said), self._cycles(folder, said))

    def _run(self, folder: Path) -> str:
        system, memory = _SYSTEMS[self.accelerator.rpartition("-")[0]]
        command = [
            self.command, f"{_NAME}.tflite", "--output-dir", ".", "--accelerator-config",
            self.accelerator, "--config", "Arm/vela.ini", "--system-config", system,
            "--memory-mode", memory, "--optimise", "Size" if self.small else "Performance",
            "--show-cpu-operations",
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, check=False,
                timeout=_SECONDS, stdin=subprocess.DEVNULL, env=_environment(),
                encoding="utf-8", errors="replace",
            )  # fmt: skip
        except subprocess.TimeoutExpired as cause:
            raise self.failed(f"it did not end within {_SECONDS} s") from cause
        except OSError as cause:
            raise self.failed(f"it does not start: {cause.strerror}") from cause
        if done.returncode != 0:
            how = _ending(done.returncode)
            raise VelaEnded(self.failed(how, done.stdout + done.stderr).problems, how)
        return done.stdout + done.stderr

    def _written(self, path: Path, said: str) -> bytes:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            raise self.failed("it wrote no file that could be one", said)
        return path.read_bytes()

    def _cycles(self, folder: Path, said: str) -> int:
        found = sorted(folder.glob(f"{_NAME}_summary*.csv"))
        try:
            with found[0].open(newline="", encoding="utf-8") as file:
                return round(float(list(csv.DictReader(file))[-1]["cycles_total"]))
        except (IndexError, KeyError, ValueError, OSError) as cause:
            raise self.failed("its summary has no cycles", said) from cause

    def failed(self, what: str, said: str = "") -> GlowmcuError:
        """GM776, with the last lines that it said."""
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        words = "".join(f"\n  {line[:200]}" for line in lines[-6:])
        return error(
            "GM776", f"Vela failed for {self.accelerator}: {what}{words}", self.command,
            "`vela --version` should be 5.0 or newer; without --accelerator the core computes all",
        )  # fmt: skip


def find_vela(accelerator: str, small: bool) -> Vela:
    """The command of $GLOWMCU_VELA, or beside this Python, or on PATH. Raises GM775."""
    given = os.environ.get("GLOWMCU_VELA", "")
    beside = str(Path(sys.executable).parent)
    found = shutil.which(given) if given else shutil.which("vela", path=beside)
    found = found or (None if given else shutil.which("vela"))
    if found is None:
        where = f"GLOWMCU_VELA is {given!r}, which is no program" if given else "it is not on PATH"
        raise error("GM775", f"{accelerator} needs Vela, and {where}",
                    hint='pip install "glowmcu[ethos-u]"')  # fmt: skip
    return Vela(found, accelerator, small)


def _environment() -> dict[str, str]:
    """That of this process, but for what makes another Python find this one's packages."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}


def _ending(code: int) -> str:
    names = {known.value: known.name for known in signal.Signals}
    return f"it ended with {names.get(-code, code)}"


def _refusals(said: str) -> dict[str, str]:
    """Reasons by the name of an operator's result."""
    return {found[1]: _first_reason(found[2]) for found in _REFUSED.finditer(said)}


def _first_reason(text: str) -> str:
    lines: Sequence[str] = [line.strip(" -\t") for line in text.splitlines() if line.strip()]
    return lines[0].removeprefix("Reason:").strip()[:160] if lines else "it gives no reason"
