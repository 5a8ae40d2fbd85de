"""Trains the digits network, quantizes it, and writes the files of this folder anew.

    pip install -e '.[dev]' onnxruntime onnxscript
    python -m examples.digits.train

Takes less than a minute; deterministic, so that a second run on the same machine leaves no diff.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tflite_micro.python.tflite_micro import runtime

from examples.digits.convert import PIXELS, calibrate, write_float, write_int8
from examples.digits.network import INTERFACE, SEED, Layer, fold, train, with_scores
from examples.onnx_export import export_onnx

HERE = Path(__file__).resolve().parent
TEST_SHARE = 0.2
LARGEST_PIXEL = 16.0
ARENA_BYTES = 1 << 20
CALIBRATION_SAMPLES = 200


def main() -> None:
    """Everything, in order."""
    images, labels = load_digits(return_X_y=True)
    images = (images / LARGEST_PIXEL).astype(np.float32).reshape(-1, 8, 8, 1)
    x_train, x_test, y_train, y_test = train_test_split(
        images, labels, test_size=TEST_SHARE, random_state=SEED, stratify=labels
    )
    net = train(x_train, y_train)
    save_for_profiling(export_onnx(with_scores(net), INTERFACE), x_train)
    layers = fold(net)
    float_model = write_float(layers)
    int8_model = write_int8(layers, calibrate(layers, x_train))

    float_scores = infer(float_model, x_test)
    int8_scores = infer(int8_model, PIXELS.quantize(x_test))
    results = {
        "parameters": count_parameters(layers),
        "train_samples": len(x_train),
        "test_samples": len(x_test),
        "float_correct": int((float_scores.argmax(1) == y_test).sum()),
        "int8_correct": int((int8_scores.argmax(1) == y_test).sum()),
        "same_prediction": int((int8_scores.argmax(1) == float_scores.argmax(1)).sum()),
    }
    save(float_model, int8_model, x_test, y_test, float_scores, results)
    report(results)


def infer(model: bytes, images: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Scores (N, 10) from TensorFlow Lite Micro's own interpreter, one image at a time."""
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=ARENA_BYTES)
    scores = []
    for image in images:
        interpreter.set_input(image[np.newaxis], 0)
        interpreter.invoke()
        scores.append(np.array(interpreter.get_output(0))[0])
    return np.stack(scores)


def count_parameters(layers: Sequence[Layer]) -> int:
    """Weights and biases, batch normalization folded."""
    return sum(layer.weights.size + layer.bias.size for layer in layers)


def save_for_profiling(onnx_model: bytes, x_train: npt.NDArray[np.float32]) -> None:
    """The network as ONNX and training digits in its layout (the split has shuffled them)."""
    (HERE / "digits.onnx").write_bytes(onnx_model)
    inputs = x_train[:CALIBRATION_SAMPLES].transpose(0, 3, 1, 2)
    np.savez_compressed(HERE / "calibration.npz", inputs=np.ascontiguousarray(inputs))


def save(
    float_model: bytes,
    int8_model: bytes,
    images: npt.NDArray[np.float32],
    labels: npt.NDArray[np.int64],
    float_scores: npt.NDArray[np.float32],
    results: dict[str, int],
) -> None:
    """Models, held-out samples, one sample on its own for the command line, and the results."""
    (HERE / "digits_float.tflite").write_bytes(float_model)
    (HERE / "digits_int8.tflite").write_bytes(int8_model)
    quantized = PIXELS.quantize(images)
    np.savez_compressed(
        HERE / "test_samples.npz",
        inputs=quantized,
        labels=labels.astype(np.uint8),
        float_predictions=float_scores.argmax(1).astype(np.uint8),
    )
    seven = int(np.flatnonzero(labels == 7)[0])
    np.save(HERE / "seven.npy", quantized[seven : seven + 1])
    (HERE / "results.json").write_text(json.dumps(results, indent=2) + "\n")


def report(results: dict[str, int]) -> None:
    """What the README's table says."""
    count = results["test_samples"]
    print(f"{results['parameters']} parameters, {results['train_samples']} training samples")
    for kind in ("float", "int8"):
        correct = results[f"{kind}_correct"]
        print(f"{kind:5} held-out accuracy {correct / count:.2%} ({correct} of {count})")
    print(f"int8 and float agree on {results['same_prediction']} of {count}")


if __name__ == "__main__":
    main()
