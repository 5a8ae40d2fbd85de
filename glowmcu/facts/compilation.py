"""What a compilation came to, as `compile --json` prints it. Field names are a contract with other
people's scripts.
"""

from __future__ import annotations

import dataclasses

from glowmcu.bundle import Bundle, LayerChoice
from glowmcu.facts.flash_parts import flash_parts
from glowmcu.manifest import LayerEntry, Manifest, TensorEntry
from glowmcu.quality import quality_record

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
        "flash": [dataclasses.asdict(part) for part in flash_parts(manifest, report.code_bytes)],
        "macs": report.macs,
        "costs": dataclasses.asdict(manifest.costs),
        "extra_macs": manifest.extra_macs,
        "inputs": [tensor_json(entry) for entry in report.inputs],
        "outputs": [tensor_json(entry) for entry in report.outputs],
        "states": [dataclasses.asdict(entry) for entry in manifest.states],
        "layers": [
            {**layer_json(layer, manifest), **choices.get(layer.index, {})}
            for layer in report.layers
        ],
        "simplification": simplification_json(manifest),
        "placement": placement_json(bundle),
        "options": manifest.options,
        "quality": quality_record(manifest.quality),
        "notes": list(bundle.notes),
        "memory_passes": [dataclasses.asdict(item) for item in bundle.memory_passes],
        "pareto": [dataclasses.asdict(point) for point in bundle.curve],
        "files": [*manifest.sources, *manifest.headers],
        **({"delegation": dataclasses.asdict(manifest.delegation)} if manifest.delegation else {}),
        **({"training": dataclasses.asdict(manifest.training)} if manifest.training else {}),
    }


def layer_json(layer: LayerEntry, manifest: Manifest) -> Json:
    """A step; who computes it only where an accelerator was asked for."""
    row: Json = dataclasses.asdict(layer)
    if manifest.delegation is None:
        del row["device"]
    return row


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
    """What was proved not to matter, by layer; None if nothing was."""
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
        "outside": entry.external,
    }
