"""The JSON objects that `--json` prints. Field names are a contract with other people's scripts."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path

from glowmcu.bundle import Bundle, LayerChoice
from glowmcu.manifest import Manifest, TensorEntry
from glowmcu.verify.measurement import Array, Measurement

Json = dict[str, object]


def compile_json(bundle: Bundle) -> Json:
    """Of `compile --json`."""
    report, manifest = bundle.report, bundle.manifest
    choices = {choice.index: choice_json(choice) for choice in bundle.choices}
    return {
        "name": manifest.name,
        "bundle": str(bundle.path),
        "board": manifest.board,
        "arena_bytes": report.arena_bytes,
        "arena_lower_bound_bytes": report.arena_lower_bound_bytes,
        "arena_optimal": report.arena_optimal,
        "weights_bytes": report.weights_bytes,
        "code_bytes": report.code_bytes,
        "macs": report.macs,
        "costs": dataclasses.asdict(manifest.costs),
        "extra_macs": manifest.extra_macs,
        "inputs": [tensor_json(entry) for entry in report.inputs],
        "outputs": [tensor_json(entry) for entry in report.outputs],
        "states": [dataclasses.asdict(entry) for entry in manifest.states],
        "layers": [
            {**dataclasses.asdict(layer), **choices.get(layer.index, {})} for layer in report.layers
        ],
        "simplification": simplification_json(manifest),
        "placement": placement_json(bundle),
        "options": manifest.options,
        "notes": list(bundle.notes),
        "memory_passes": [dataclasses.asdict(item) for item in bundle.memory_passes],
        "pareto": [dataclasses.asdict(point) for point in bundle.curve],
        "files": [*manifest.sources, *manifest.headers],
    }


def placement_json(bundle: Bundle) -> list[Json]:
    """What lies where; empty for a board without regions."""
    code = bundle.code_by_region
    rows: list[Json] = []
    for entry in bundle.manifest.placement:
        row: Json = dataclasses.asdict(entry)
        if entry.what == "code" and code is not None:
            row["bytes"] = code.get(entry.region if entry.section else "", 0)
        rows.append(row)
    return rows


def simplification_json(manifest: Manifest) -> Json | None:
    """What was proved not to matter, by layer; None where nothing was."""
    entry = manifest.simplification
    return None if entry is None else dataclasses.asdict(entry)


def choice_json(choice: LayerChoice) -> Json:
    """Estimates of a layer's kernel, and of the kernels that were possible too."""
    chosen = dataclasses.asdict(choice.chosen)
    del chosen["kernel"]
    return {
        "estimate": chosen,
        "alternatives": [dataclasses.asdict(option) for option in choice.others],
    }


def tensor_json(entry: TensorEntry) -> Json:
    """An input or output: what a caller has to know."""
    return {
        "name": entry.name,
        "shape": list(entry.shape),
        "dtype": entry.dtype,
        "scale": entry.scale,
        "zero_point": entry.zero_point,
        "offset": entry.offset,
        "bytes": entry.bytes,
        "kept": entry.kept,
        "rows": None if entry.rows is None else dataclasses.asdict(entry.rows),
        "outside": entry.outside,
    }


def run_json(manifest: Manifest, measured: Measurement, files: Sequence[Path | None]) -> Json:
    """Of `run --json`. `sha256` is of the output's bytes in C order."""
    return {
        "outputs": [
            _output_json(entry, array, file)
            for entry, array, file in zip(manifest.outputs, measured.outputs, files, strict=True)
        ],
        "instructions": measured.instructions,
        "cycles": measured.cycles,
        "stack_bytes": measured.stack_bytes,
    }


def _output_json(entry: TensorEntry, array: Array, file: Path | None) -> Json:
    return {
        "name": entry.name,
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
        "file": str(file) if file is not None else None,
    }


def bench_json(manifest: Manifest, measured: Measurement, core: str, wait_states: int = 0) -> Json:
    """Of `bench --json`."""
    macs = {layer.index: layer.macs for layer in manifest.layers}
    return {
        "core": core,
        "wait_states": wait_states,
        "instructions": measured.instructions,
        "cycles": measured.cycles,
        "stack_bytes": measured.stack_bytes,
        "layers": [
            {**dataclasses.asdict(layer), "macs": macs[layer.index]} for layer in measured.layers
        ],
    }
