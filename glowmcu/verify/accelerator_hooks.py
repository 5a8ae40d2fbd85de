"""`glowmcu verify --hooks FILE.c`: functions of an accelerator against what stands in for it.

Both are programs of this computer, which say what each layer made; the first that differs is named.
They are processes of their own, under sanitizers where there are some: functions that nobody has
tried may crash or never return.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from glowmcu.delegated import DelegationEntry
from glowmcu.errors import error
from glowmcu.host_compiler import expect_compiler
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest
from glowmcu.resources import find_resource
from glowmcu.verify.comparison import difference
from glowmcu.verify.measurement import Array
from glowmcu.verify.verification import Check, Vector

_SECONDS = 120
_SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
#: What a line of the program says.
_TRACE = """\
#include <stdint.h>
extern void glowmcu_probe(int32_t layer, const void *data, uint32_t bytes);
#define GLOWMCU_DELEGATED(layer, data, bytes) glowmcu_probe((layer), (data), (bytes))
"""


@dataclass(frozen=True)
class _Run:
    """CRC-32 by layer in the order of calls, what the run returned, and its outputs."""

    layers: tuple[tuple[int, str], ...]
    status: int | None
    outputs: tuple[bytes, ...]


def check_hooks(
    bundle_dir: Path, manifest: Manifest, hooks: Path, vectors: Sequence[Vector]
) -> Check:
    """Every layer and output of every vector. Raises GM602 without a compiler, GM777."""
    entry = _expect_hooks(manifest, hooks)
    with tempfile.TemporaryDirectory(prefix="glowmcu_hooks_") as scratch:
        folder = Path(scratch)
        expected = _runs(_program(bundle_dir, manifest, folder, ()), vectors)[0]
        program = _program(bundle_dir, manifest, folder, (f"-D{entry.use_macro}", str(hooks)))
        found, ended = _runs(program, vectors)
    wrong, first = 0, ""
    for number, vector in enumerate(vectors):
        got = found[number] if number < len(found) else None
        text = _difference(entry, manifest, vector, got, expected[number], ended)
        wrong += bool(text)
        first = first or (text and f"{vector.name}: {text}")
    return Check("hooks", len(vectors), wrong, first)


def _expect_hooks(manifest: Manifest, hooks: Path) -> DelegationEntry:
    entry, where = manifest.delegation, manifest.name
    hint = "compile it with --accelerator FILE.toml"
    if entry is None or not entry.regions:
        raise error("GM777", "no accelerator computes anything of this bundle", where, hint)
    if entry.prefix == "ethos_u":
        hint = "its functions are Arm's driver: they run where an Ethos-U is"
        raise error("GM777", f"{entry.device} has no hooks", where, hint)
    if manifest.external:
        hint = "compile it without --outside-input for this"
        raise error("GM777", "an input of the bundle is not in its arena", where, hint)
    if not hooks.is_file():
        raise error("GM777", "the file with the hooks does not exist", str(hooks))
    return entry


def _program(
    bundle_dir: Path, manifest: Manifest, folder: Path, more: Sequence[str]
) -> Path:  # fmt: skip
    """The bundle as a program. Raises GM602, GM777."""
    compiler = expect_compiler()
    trace = folder / "trace.h"
    trace.write_text(_TRACE, encoding="utf-8")
    probe = find_resource("templates", "firmware/probe_hooks.c")
    name, program = manifest.name, folder / ("hooks" if more else "core")
    command = [
        *compiler, "-std=c99", "-O1", f"-I{bundle_dir}", "-include", str(trace),
        f'-DPROBE_HEADER="{name}_model.h"', f"-DPROBE_MODEL={name}_model", str(probe),
        *(str(bundle_dir / source) for source in manifest.sources), *more, "-o", str(program),
    ]  # fmt: skip
    said = ""
    for flags in (_SANITIZED, ()):
        done = subprocess.run(
            [*command, *flags], capture_output=True, text=True, errors="replace", check=False
        )
        if done.returncode == 0:
            return program
        said = done.stderr
    raise error("GM777", f"the hooks do not compile with the bundle:\n{said[:2000]}", manifest.name,
                "accelerator/ of the bundle has a file that does")  # fmt: skip


def _runs(program: Path, vectors: Sequence[Vector]) -> tuple[list[_Run], str]:
    """All of them, the last perhaps cut short, and how the program ended if not well."""
    data = b"".join(_bytes(array) for vector in vectors for array in vector.inputs)
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0"}
    try:
        done = subprocess.run(
            [str(program)], input=data, capture_output=True, check=False, timeout=_SECONDS,
            env=environment,
        )  # fmt: skip
        text, ended = done.stdout, _ending(done.returncode, done.stderr)
    except subprocess.TimeoutExpired as cause:
        text, ended = cause.stdout or b"", f"it did not return within {_SECONDS} seconds"
    return _read(text.decode("ascii", "replace")), ended


def _bytes(array: Array) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def _ending(code: int, said: bytes) -> str:
    if code == 0:
        return ""
    lines = said.decode("utf-8", "replace").splitlines()
    told = [line.strip() for line in lines if "ERROR: " in line or "runtime error: " in line]
    if told:
        return told[0].rpartition("ERROR: ")[2][:300]
    if code < 0:
        names = {known.value: known.name for known in signal.Signals}
        return f"it ended the program: {names.get(-code, f'signal {-code}')}"
    return f"it ended the program with exit code {code}"


def _read(text: str) -> list[_Run]:
    runs, layers, outputs = list[_Run](), list[tuple[int, str]](), list[bytes]()
    status: int | None = None
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "L":
            if status is not None:
                runs.append(_Run(tuple(layers), status, tuple(outputs)))
                layers, outputs, status = [], [], None
            number, _, crc = rest.partition(" ")
            layers.append((int(number), crc))
        elif kind == "S":
            status = int(rest)
        elif kind == "O":
            outputs.append(bytes.fromhex(rest))
    if layers or status is not None:
        runs.append(_Run(tuple(layers), status, tuple(outputs)))
    return runs


def _difference(
    entry: DelegationEntry, manifest: Manifest, vector: Vector, got: _Run | None, want: _Run,
    ended: str,
) -> str:  # fmt: skip
    """The first layer that is wrong, in words, or an empty text."""
    if got is None:
        return f"not run: {ended or 'the program ended before'}"
    for place, layer in enumerate(want.layers):
        name = entry.layers[layer[0]]
        if place >= len(got.layers):
            if got.status not in (0, None):
                return f'a hook returned an error at layer "{name}"'
            after = f" ({ended})" if ended else ""
            return f'layer "{name}" did not come back{after}'
        if got.layers[place] != layer:
            return f'layer "{name}" is the first that differs'
    if got.status is None:
        return f"the program ended behind the last layer: {ended}"
    if got.status != 0:
        return f"{entry.prefix}_end returned an error"
    arrays = [np.frombuffer(data, item.dtype).reshape(item.shape)
              for data, item in zip(got.outputs, manifest.outputs, strict=True)]  # fmt: skip
    texts = [difference(array, expected, item, leeway) for array, expected, item, leeway in zip(
        arrays, vector.expected, manifest.outputs, vector.leeway, strict=True)]  # fmt: skip
    return next((text for text in texts if text), "")
