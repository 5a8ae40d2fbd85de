"""Run a bundle by `renode-test` and read the results back from the console and a list of counts."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from glowmcu.board import Board, find_board
from glowmcu.cores import core
from glowmcu.errors import error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest, read_manifest
from glowmcu.verify import toolchain
from glowmcu.verify.firmware import (
    Console,
    build_firmware,
    pack_inputs,
    read_console,
    uart_port,
    unpack_outputs,
)
from glowmcu.verify.firmware.console import firmware_failure, fnv1a
from glowmcu.verify.measurement import Array, Measurement
from glowmcu.verify.renode.files import renode_board, renode_files
from glowmcu.verify.renode.helium import MISSING_INSTRUCTIONS, WRONG_INSTRUCTIONS
from glowmcu.verify.time_limits import most_instructions, run_seconds

RENODE_TEST = "renode-test"
# More than this many instructions off on a loop of known length: the counts are not used.
_TOLERANCE = 64


@dataclass(frozen=True)
class Renode:
    """Runs bundles on a board in Renode, fulfilling `Executor`.

    `board` replaces the one in the manifest; `keep` is a folder where firmware, Renode's files and
    console stay for inspection. Renode models no cycles. `timeout_seconds` of this computer's time
    replaces a limit that follows from the instructions to be expected.
    """

    board: Board | None = None
    timeout_seconds: float | None = None
    keep: Path | None = None
    name: str = "renode"

    def missing(self) -> str | None:
        """What has to be installed before this executor works here, or None."""
        if shutil.which(RENODE_TEST) is None:
            return (
                f"{RENODE_TEST} is not on PATH: unpack the portable archive of Renode 1.16.1 from "
                "https://github.com/renode/renode/releases and put its folder on PATH, "
                "or work in the Docker image antmicro/renode"
            )
        return toolchain.missing()

    def run(self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]) -> list[Measurement]:
        """One boot, one inference for each entry of `inputs`; instructions and stack are measured.

        Raises GM604 (inputs), GM642 (fault or broken guard on the target), GM660 (no Renode), GM661
        (board unknown to Renode), GM662 (test failed), GM663 (time is up), GM401, GM61x (build).
        """
        manifest = read_manifest(bundle_dir)
        packed = pack_inputs(manifest, inputs)
        lacking = self.missing()
        if lacking:
            raise error("GM660", "the renode executor does not work here", hint=lacking)
        if not inputs:
            return []
        with tempfile.TemporaryDirectory(prefix="glowmcu_renode_") as scratch:
            folder = (self.keep or Path(scratch)).resolve()
            robot = self.prepare(bundle_dir, manifest, packed, len(inputs), folder)
            limit = self.timeout_seconds
            if limit is None:
                limit = run_seconds(manifest, self._core(manifest), len(inputs))
            helium_hint = MISSING_INSTRUCTIONS if self._has_mve(manifest) else ""
            console = self._test(robot, folder, limit, helium_hint)
            counts = (folder / "instructions.txt").read_text(encoding="utf-8")
        return measurements(manifest, console, counts, inputs)

    def mismatch_hint(self, manifest: Manifest) -> str:
        """What may be behind wrong outputs here, when the bundle is right; or nothing."""
        return WRONG_INSTRUCTIONS if self._has_mve(manifest) else ""

    def _core(self, manifest: Manifest) -> str:
        return (self.board or find_board(manifest.board)).core

    def _has_mve(self, manifest: Manifest) -> bool:
        return core(self._core(manifest)).has_mve

    def prepare(
        self, bundle_dir: Path, manifest: Manifest, packed: bytes, inferences: int, folder: Path
    ) -> Path:
        """Build the firmware and write everything a run needs; returns the `.robot` file."""
        board = self.board or find_board(manifest.board)
        hardware, target = renode_board(board)
        port = uart_port(target.uart_kind, target.uart_origin)
        build_firmware(bundle_dir, manifest, hardware, core(board.core), port, folder)
        (folder / "inputs.bin").write_bytes(inferences.to_bytes(4, "little") + packed)
        limit = most_instructions(manifest, board.core, inferences)
        return renode_files(manifest.name, board, inferences, len(packed), limit).write(folder)

    def _test(self, robot: Path, folder: Path, limit: float, helium_hint: str) -> Console:
        printed, code = self._renode_test(robot, folder, limit, helium_hint)
        console_file = folder / "console.txt"
        shown = console_file.read_text(errors="replace") if console_file.is_file() else ""
        console = read_console(shown)
        if console.failure:
            raise firmware_failure(console, f"Renode, {robot.name}", helium_hint)
        if code != 0 or console.inferences is None:
            last = "\n    ".join(printed.strip().splitlines()[-8:])
            message = f"{RENODE_TEST} {robot.name} failed with exit code {code}:\n    {last}"
            raise error("GM662", message, f"Renode, {robot.name}", helium_hint)
        return console

    def _renode_test(
        self, robot: Path, folder: Path, limit: float, helium_hint: str
    ) -> tuple[str, int]:
        """Output and exit code; the whole process group ends with the call."""
        process = subprocess.Popen(
            [RENODE_TEST, "--results-dir", str(folder / "results"), str(robot)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired as cause:
            message = f"{RENODE_TEST} ran longer than {limit:g} s"
            hint = helium_hint or "the core may hang: see console.txt and results/ with keep=FOLDER"
            raise error("GM663", message, f"Renode, {robot.name}", hint) from cause
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        return printed, process.returncode


def measurements(
    manifest: Manifest, console: Console, counts: str, inputs: Sequence[Sequence[Array]]
) -> list[Measurement]:
    """Results from the console and the `<call> <instructions>` lines that the test wrote."""
    assert console.inferences is not None
    if console.checksum != fnv1a(console.outputs):
        raise error(
            "GM662", "outputs were damaged on their way out: the checksum differs", "Renode"
        )
    executed = _executed(console, counts)
    outputs = unpack_outputs(manifest, console.outputs, inputs)
    return [
        Measurement(arrays, executed.get(call.number), None, call.values["stack"])
        for arrays, call in zip(outputs, console.inference_calls(), strict=True)
    ]


def _executed(console: Console, counts: str) -> dict[int, int]:
    """Instructions of each inference; none when the loop of known length was not counted right."""
    by_call: dict[str, int] = {}
    for line in counts.splitlines():
        call, _, count = line.rpartition(" ")
        by_call[call] = int(count)
    empty, loop = by_call.get("empty 1"), by_call.get("loop")
    if empty is None or loop is None:
        return {}
    known = console.call("loop").number - console.call("empty").number
    if abs(loop - empty - known) > _TOLERANCE:
        return {}
    return {
        call.number: by_call[f"inference {call.number}"] - empty + console.call("empty").number
        for call in console.inference_calls()
        if f"inference {call.number}" in by_call
    }
