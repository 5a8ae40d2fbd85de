"""What `run --json` prints. Field names are a contract with other people's scripts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from glowmcu.manifest import Manifest, TensorEntry
from glowmcu.report.classes import best_class, is_stream, new_results, stream_classes
from glowmcu.verify.measurement import Array, Measurement, output_entries

Json = dict[str, object]


def run_json(manifest: Manifest, measured: Measurement, files: Sequence[Path | None]) -> Json:
    """Of `run --json`. `sha256` is of the output's bytes in C order."""
    return {
        "outputs": [
            _output_json(entry, array, file) | _class_json(manifest, entry, array)
            for entry, array, file in zip(
                output_entries(manifest, measured), measured.outputs, files, strict=True
            )
        ],
        "instructions": measured.instructions,
        "cycles": measured.cycles,
        "stack_bytes": measured.stack_bytes,
    }


def _class_json(manifest: Manifest, entry: TensorEntry, array: Array) -> Json:
    """Where classes have names, the one with the highest score; of a stream those of all `runs`
    that have a result.
    """
    labels = manifest.labels
    if is_stream(entry, array):
        runs = new_results(manifest, len(array))
        classes = stream_classes(labels, entry, array, runs)
        if not classes:
            return {}
        names = [None if best is None else labels[best] for best in classes]
        return {"runs": list(runs), "classes": classes, "labels": names}
    best = best_class(labels, entry, array)
    return {} if best is None else {"class": best, "label": labels[best]}


def _output_json(entry: TensorEntry, array: Array, file: Path | None) -> Json:
    return {
        "name": entry.name,
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
        "file": str(file) if file is not None else None,
    }
