"""Trains the spoken digits network and writes the files of this folder anew.

    pip install -e '.[dev]' onnxruntime
    pip install --no-deps captcha
    python -m examples.spoken_digits.train

Takes a few minutes; deterministic, so that a second run on the same machine leaves no diff.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from examples.artifacts import choose, count_parameters
from examples.spoken_digits.front_end import FRAME, HOP, Ints, features
from examples.spoken_digits.network import CLASSES, FRAMES, RECIPE, train, write_tflite
from examples.spoken_digits.recordings import DIGITS, LETTERS, load
from examples.training import Floats, Labels

WINDOW = FRAME + (FRAMES - 1) * HOP
#: Windows for training of each digit; as many again of all else together, five times.
TRAIN_EACH, TEST_EACH, CALIBRATION_SAMPLES = 500, 60, 150
OTHERS = 5
#: Letters of held-out "other" windows are in no training window.
HELD_OUT_LETTERS = "DGMQVZ"


class Voice:
    """Recordings played faster, slower, louder, softer, earlier, later, and in noise."""

    def __init__(self, letters: str, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.digits = {digit: load(digit) for digit in DIGITS}
        self.letters = [load(letter) for letter in letters]

    def digit(self, digit: str) -> Ints:
        """A window that holds all of a digit."""
        return self._window(self._varied(self.digits[digit]), 0.0)

    def other(self) -> Ints:
        """A window with a part of a letter, an end of a digit, or nothing but noise."""
        kind = self.rng.random()
        if kind < 0.15:
            return self._window(np.zeros(1, np.int64), 0.0)
        if kind < 0.7:
            return self._window(
                self._varied(self.letters[self.rng.integers(len(self.letters))]), 1.0
            )
        speech = self._varied(self.digits[DIGITS[self.rng.integers(len(DIGITS))]])
        part = int(len(speech) * self.rng.uniform(0.2, 0.45))
        return self._window(speech[:part] if self.rng.random() < 0.5 else speech[-part:], 0.0)

    def _varied(self, samples: Ints) -> Ints:
        speed, gain = self.rng.uniform(0.85, 1.15), 2.0 ** self.rng.uniform(-2, 0.6)
        places = np.arange(0, len(samples) - 1, speed)
        return np.rint(gain * np.interp(places, np.arange(len(samples)), samples)).astype(np.int64)

    def _window(self, speech: Ints, cut: float) -> Ints:
        """Speech somewhere in a window of noise; `cut`: how much of it may be outside."""
        speech = speech[: WINDOW + int(cut * WINDOW)]
        low = min(0, WINDOW - len(speech))
        first = self.rng.integers(low, max(WINDOW - len(speech), 0) + 1)
        loudness = 2.0 ** self.rng.uniform(4, 9.5)
        samples = np.rint(self.rng.normal(0, loudness, WINDOW)).astype(np.int64)
        begin, end = max(first, 0), min(first + len(speech), WINDOW)
        samples[begin:end] += speech[begin - first : end - first]
        return np.clip(samples, -32768, 32767)


def windows(voice: Voice, each: int) -> tuple[Floats, Labels]:
    """Features (N x 24 x 1 x 20) and classes."""
    spoken = [(voice.digit(digit), int(digit)) for digit in DIGITS for _ in range(each)]
    spoken += [(voice.other(), len(DIGITS)) for _ in range(OTHERS * each)]
    inputs = np.stack([features(samples)[:, None, :] for samples, _ in spoken])
    return inputs.astype(np.float32), np.array([label for _, label in spoken])


def main() -> None:
    """Everything, in order."""
    heard = "".join(letter for letter in LETTERS if letter not in HELD_OUT_LETTERS)
    inputs, labels = windows(Voice(heard, RECIPE.seed), TRAIN_EACH)
    test_inputs, test_labels = windows(Voice(HELD_OUT_LETTERS, RECIPE.seed + 1), TEST_EACH)
    net = train(inputs, labels)
    with torch.no_grad():
        predictions = net(torch.from_numpy(test_inputs)).argmax(1).numpy()
    results = {
        "parameters": count_parameters(net),
        "train_samples": len(inputs),
        "test_samples": len(test_inputs),
        "float_correct": int((predictions == test_labels).sum()),
        "float_digits_correct": int((predictions == test_labels)[test_labels < len(DIGITS)].sum()),
    }
    folder = Path(__file__).resolve().parent
    (folder / "model_float.tflite").write_bytes(write_tflite(net))
    calibration = choose(inputs, CALIBRATION_SAMPLES, RECIPE.seed)
    np.savez_compressed(folder / "calibration.npz", inputs=calibration)
    np.savez_compressed(
        folder / "test_samples.npz",
        inputs=test_inputs.astype(np.int8),
        labels=test_labels.astype(np.uint8),
        float_predictions=predictions.astype(np.uint8),
    )
    (folder / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    right, count = results["float_correct"], results["test_samples"]
    print(f"{len(CLASSES)} classes, {results['parameters']} parameters, {len(inputs)} windows")
    print(f"held-out accuracy {right / count:.2%} ({right} of {count})")


if __name__ == "__main__":
    main()
