"""The files that training leaves in a time-series example's folder, and the figures about them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import nn

from examples.onnx_export import onnx_scores


@dataclass(frozen=True)
class Samples:
    """Network inputs, the class of each, and the number of the recording it was cut from."""

    inputs: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]
    recordings: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Models:
    """One network, twice."""

    onnx: bytes
    tflite: bytes


def count_parameters(net: nn.Module) -> int:
    """Weights and biases with batch normalization folded: its gains and shifts become biases."""
    norms = [m for m in net.modules() if isinstance(m, nn.BatchNorm1d | nn.BatchNorm2d)]
    total = sum(parameter.numel() for parameter in net.parameters())
    return total - sum(norm.weight.numel() for norm in norms)


def choose(inputs: npt.NDArray[np.float32], count: int, seed: int) -> npt.NDArray[np.float32]:
    """`count` different samples, in their order."""
    chosen = np.random.default_rng(seed).choice(len(inputs), count, replace=False)
    return inputs[np.sort(chosen)]


def save(
    folder: Path,
    models: Models,
    calibration: npt.NDArray[np.float32],
    held_out: Samples,
    counts: dict[str, int],
) -> dict[str, int]:
    """Writes models, samples and results; gives the results back."""
    predictions = onnx_scores(models.onnx, held_out.inputs).argmax(1)
    results = {
        **counts,
        "calibration_samples": len(calibration),
        "test_recordings": len(np.unique(held_out.recordings)),
        "test_samples": len(held_out.inputs),
        "float_correct": int((predictions == held_out.labels).sum()),
    }
    (folder / "model.onnx").write_bytes(models.onnx)
    (folder / "model_float.tflite").write_bytes(models.tflite)
    np.savez_compressed(folder / "calibration.npz", inputs=calibration)
    np.savez_compressed(
        folder / "test_samples.npz",
        inputs=held_out.inputs,
        labels=held_out.labels.astype(np.uint8),
        recordings=held_out.recordings.astype(np.uint16),
        float_predictions=predictions.astype(np.uint8),
    )
    (folder / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    return results


def report(results: dict[str, int]) -> None:
    """What the README's table says."""
    right, count = results["float_correct"], results["test_samples"]
    print(f"{results['parameters']} parameters, {results['train_samples']} training samples")
    print(f"held-out accuracy {right / count:.2%} ({right} of {count})")
