"""Bundles in one executable, run as data through the dynamic API; by default under sanitizers.

A shared library in a Python process cannot be watched by AddressSanitizer from its first byte on;
an executable with an arena of exactly the stated size can. Several bundles go into one executable:
linking a sanitizer takes longer than compiling a small bundle.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from glowmcu.emit_c.contract import libjit_closure, stamped
from glowmcu.manifest import Manifest, read_manifest
from glowmcu.verify.host_library import STRICT_FLAGS
from tests.support.check_model import Array

SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1")
#: Multiply-accumulates of a run from which on optimizing takes less time than it saves.
_MANY_MACS = 4_000_000
_RUNNER = Path(__file__).with_name("generic_runner.c")
_TIMEOUT_S = 120
#: The runner knows streamed bundles, too, of which the header is in those bundles only.


class RunnerFailed(AssertionError):
    """The executable stopped with an error; the text holds what the sanitizer said."""


@dataclass(frozen=True)
class GenericRunner:
    """An executable that runs every bundle in `bundles` by name."""

    executable: Path

    def run(self, bundle: Path, sets: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Outputs for each input set. Raises RunnerFailed when the run ends badly."""
        manifest = read_manifest(bundle)
        inputs = self.executable.with_name(f"{manifest.name}.in")
        outputs = self.executable.with_name(f"{manifest.name}.out")
        inputs.write_bytes(b"".join(array.tobytes() for arrays in sets for array in arrays))
        done = subprocess.run(
            [str(self.executable), manifest.name, str(inputs), str(outputs)],
            capture_output=True, text=True, check=False, timeout=_TIMEOUT_S,
            # The arena is the only allocation, and containers forbid the leak checker's ptrace.
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
        )  # fmt: skip
        if done.returncode != 0:
            raise RunnerFailed(f"{manifest.name}: exit {done.returncode}\n{done.stderr[:4000]}")
        data = outputs.read_bytes()
        results: list[list[Array]] = []
        place = 0
        for _ in sets:
            arrays = []
            for entry in manifest.outputs:
                raw = data[place : place + entry.bytes]
                arrays.append(np.frombuffer(raw, entry.dtype).reshape(entry.shape))
                place += entry.bytes
            results.append(arrays)
        assert place == len(data), f"{len(data)} bytes of output, expected {place}"
        return results


def libjit_folder(work: Path) -> Path:
    """A folder with the headers that describe bundles as data, as bundles have them."""
    folder = work / "libjit"
    folder.mkdir(exist_ok=True)
    structs = ("glowmcu_model.h", "glowmcu_streamed_model.h", "glowmcu_outside_model.h")
    for file, text in libjit_closure(structs).items():
        (folder / file).write_text(stamped(file, text), encoding="utf-8")
    return folder


def model_arrays(bundles: Sequence[Path]) -> str:
    """What the runner looks for a name in."""
    manifests = [read_manifest(bundle) for bundle in bundles]
    arrays = []
    for kind in ("model", "streamed_model", "outside_model"):
        entries = [
            f"&{manifest.name}_model" for manifest in manifests if _kind_of(manifest) == kind
        ]
        items = ", ".join([*entries, "NULL"])
        arrays.append(f"static const glowmcu_{kind} *const {kind}s[] = {{ {items} }};\n")
    return "".join(arrays)


def _kind_of(manifest: Manifest) -> str:
    """The struct that describes a bundle as data, without its prefix."""
    if manifest.streamed_input is not None:
        return "streamed_model"
    return "outside_model" if manifest.external else "model"


def _unit(bundle: Path, work: Path) -> Path:
    """One file that includes a bundle's sources: starting the compiler for each takes longer."""
    manifest = read_manifest(bundle)
    unit = work / f"{manifest.name}_unit.c"
    lines = [f'#include "{bundle / source}"\n' for source in manifest.sources]
    unit.write_text("".join(lines), encoding="utf-8")
    return unit


def optimization(bundles: Sequence[Path]) -> str:
    """How bundles are compiled for sanitizers: small ones as they are written. That takes a third
    of the time, and nothing undefined is folded away before it is looked at.
    """
    return "-O1" if sum(read_manifest(bundle).macs for bundle in bundles) > _MANY_MACS else "-O0"


def build_runner(
    bundles: Sequence[Path], work: Path, flags: Sequence[str] = SANITIZERS
) -> GenericRunner:
    """Compile `bundles`, whose names must differ, and the runner into one executable in `work`."""
    names = [read_manifest(bundle).name for bundle in bundles]
    assert len(set(names)) == len(names), "bundles of one executable need different names"
    model_list = work / "model_list.h"
    includes = "".join(f'#include "{name}_model.h"\n' for name in names)
    model_list.write_text(f"{includes}\n{model_arrays(bundles)}", encoding="utf-8")
    sources = [str(_unit(bundle, work)) for bundle in bundles]
    executable = work / "generic_runner"
    command = [
        "gcc", *STRICT_FLAGS, "-D_ISOC11_SOURCE", f'-DMODEL_LIST="{model_list}"',
        optimization(bundles), *flags,
        *(f"-I{folder}" for folder in (*bundles, libjit_folder(work))), *sources, str(_RUNNER),
        "-o", str(executable),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return GenericRunner(executable)
