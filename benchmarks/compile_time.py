"""What compiling costs: CPU seconds, memory, and how often the hot functions are called.

    python -m benchmarks.compile_time [--model M]

Each model is compiled by a process of its own: seconds are user and system, of the process and of
the compilers that it starts, from start to end, and so are the milliseconds for each node of the
model file; so is the peak of memory. "Again" is the same command once more, with the user's cache
that the first one left (none where Python writes no bytecode). The board is nrf52 with as much
memory as the largest model takes, so that every bundle is written. Seconds depend on the machine
and on what else runs there, so that tests hold the counts alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import glowmcu.kernels.requantization.forms
import glowmcu.kernels.requantization.thresholds
import glowmcu.ops.accumulator_range
from benchmarks.large_models import mobile_net_v2, res_net_26
from benchmarks.mcunet import mcunet_vww
from benchmarks.models import MODELS, REPO
from glowmcu.compilation import Options
from glowmcu.errors import ExitCode
from glowmcu.frontend.read_model import read_model
from glowmcu.goals import Goal
from glowmcu.ir.operation import Constant
from glowmcu.kernels.kernel import Kernel
from glowmcu.pipeline import compile_model
from tests.memplan.foreign_models import residual_chain

#: The hot functions: accumulator ranges, tasks with their thresholds, lines through them,
#: costs of kernels.
COUNTED: dict[str, tuple[Any, str]] = {
    "accumulator ranges": (glowmcu.ops.accumulator_range, "accumulator_range"),
    "staircases": (glowmcu.kernels.requantization.forms, "staircase"),
    "lines": (glowmcu.kernels.requantization.thresholds, "_solve"),
    "costs": (Kernel, "calibrated_cost"),
}


#: A process that takes little memory starts the command: what a process has had before it becomes
#: another one counts as the other's.
_WAITING = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(child.pid, 0)
print(os.waitstatus_to_exitcode(status), used.ru_utime, used.ru_stime, used.ru_maxrss)
"""


@dataclass(frozen=True)
class _Used:
    user_seconds: float
    system_seconds: float
    peak_kib: int

    @property
    def seconds(self) -> float:
        return self.user_seconds + self.system_seconds


@dataclass(frozen=True)
class Cost:
    """Of one compilation, by the command line; `again_seconds` is the same once more."""

    seconds: float
    again_seconds: float
    peak_mb: float


def builders() -> dict[str, Callable[[], bytes]]:
    """Model files by name; those that are not here are left out."""
    files = {model.name: model.path.read_bytes for model in MODELS if model.path.is_file()}
    return {
        **files,
        "MCUNet": mcunet_vww,
        "MobileNetV2 1.0, 224x224": mobile_net_v2,
        "ResNet-26, 16 MB": res_net_26,
        "residual blocks, 500 nodes": lambda: residual_chain(125),
    }


def _roomy_board() -> str:
    """nrf52 with 64 MB of flash and 32 MB of RAM, as a board file."""
    text = (REPO / "boards" / "nrf52.toml").read_text()
    small = ("size_bytes = 1048576", "size_bytes = 262144")
    for bytes_now, bytes_then in zip(small, (64 << 20, 32 << 20), strict=True):
        assert text.count(bytes_now) == 1, bytes_now
        text = text.replace(bytes_now, f"size_bytes = {bytes_then}")
    return text


def cost_of(data: bytes) -> Cost:
    """The command `glowmcu compile`, at first with only Python's own bytecode in a cache."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        (folder / "m.tflite").write_bytes(data)
        (folder / "roomy.toml").write_text(_roomy_board())
        first, again = (_resources_of_compiling(folder) for _ in range(2))
    return Cost(first.seconds, again.seconds, first.peak_kib / 1024)


def _resources_of_compiling(folder: Path) -> _Used:
    command = [sys.executable, "-m", "glowmcu", "compile", str(folder / "m.tflite")]
    command += ["--board", str(folder / "roomy.toml"), "-o", str(folder / "bundle")]
    done = subprocess.run(
        [sys.executable, "-S", "-c", _WAITING, *command],
        cwd=REPO,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    code, *used = done.stdout.split()
    assert int(code) == ExitCode.OK, code
    return _Used(float(used[0]), float(used[1]), int(used[2]))


def steps_of(data: bytes, core: str = "cortex-m4", goal: Goal = Goal.BALANCED) -> dict[str, int]:
    """How often each of `COUNTED` is called in one compilation."""
    counts = dict.fromkeys(COUNTED, 0)

    def counted(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            counts[what] += 1
            return function(*arguments, **named)

        return call

    patches = [
        mock.patch.object(owner, name, counted(what, getattr(owner, name)))
        for what, (owner, name) in COUNTED.items()
    ]
    for patch in patches:
        patch.start()
    try:
        compile_model(data, "m.tflite", Options("m", core=core, goal=goal))
    finally:
        for patch in patches:
            patch.stop()
    return counts


def main() -> None:
    """A line a model."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compile_time")
    parser.add_argument("--model", action="append", choices=list(builders()))
    wanted = parser.parse_args().model
    for name, build in builders().items():
        if wanted and name not in wanted:
            continue
        data = build()
        cost, steps = cost_of(data), steps_of(data)
        nodes = sum(
            not isinstance(node.op, Constant) for node in read_model(data, "m.tflite").nodes
        )
        counts = ", ".join(f"{count} {what}" for what, count in steps.items())
        print(
            f"{name:28} {len(data) / 1e6:6.2f} MB of file {cost.seconds:7.2f} s, "
            f"{cost.again_seconds:5.2f} s again, "
            f"{1000 * cost.seconds / nodes:5.1f} ms for each of {nodes} nodes, "
            f"{cost.peak_mb:4.0f} MB at most; {counts}",
            flush=True,
        )


if __name__ == "__main__":
    main()
