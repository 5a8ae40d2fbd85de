"""What learning on the device does for people whom nobody trained on: `results.json`.

    python -m examples.personal.measure

Everything is computed by the generated C, on this computer, whose bits are those of a Cortex-M4.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import glowmcu

HERE = Path(__file__).resolve().parent
#: How often the shown windows are gone through, in another order each time.
TURNS = 15
WAYS: dict[str, dict[str, Any]] = {
    "last layer": {"train": "last=1", "learning_rate": 0.01},
    "biases of all layers": {"train": "bias", "learning_rate": 0.003},
    "all layers": {"train": "last=4", "learning_rate": 0.003},
    "prototypes": {"train": "prototypes=7"},
    "prototypes, layers in front": {"train": "prototypes=7,last=3", "learning_rate": 0.003},
    "neighbours": {"train": "neighbours=7x24"},
    "last layer, fixed point": {
        "train": "last=1",
        "learning_rate": 0.01,
        "train_numbers": "fixed",
    },
    "biases, fixed point": {"train": "bias", "learning_rate": 0.003, "train_numbers": "fixed"},
    "all layers, fixed point": {
        "train": "last=4",
        "learning_rate": 0.002,
        "train_numbers": "fixed",
    },
}


def measured(bundle: glowmcu.Bundle, turns: int) -> dict[str, list[int]]:
    """By person how many judged windows are right before and after learning, and of how many."""
    data, found = np.load(HERE / "people.npz"), dict[str, list[int]]()
    session = bundle.session()
    for person in np.unique(data["persons"]):
        own = data["persons"] == person
        judged, shown = (np.flatnonzero(own & (data["shown"] == is_it)) for is_it in (False, True))
        session.reset()

        def right() -> int:
            scores = [session.run([data["inputs"][at : at + 1]])[0] for at in judged]  # noqa: B023
            classes = [int(np.argmax(each)) for each in scores]
            return int((np.array(classes) == data["labels"][judged]).sum())  # noqa: B023

        before, random = right(), np.random.default_rng(int(person))
        for _ in range(turns):
            for at in random.permutation(shown):
                session.train([data["inputs"][at : at + 1]], int(data["labels"][at]))
        found[str(person)] = [before, right(), len(judged)]
    return found


def main() -> None:
    """Every way of learning, in float32 behind layers that were quantized or not, and in int8."""
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, options in WAYS.items():
            bundle = glowmcu.compile(
                HERE / "model_float.tflite", "nrf52", Path(folder) / "net", "net",
                samples=HERE / "calibration.npz", io="float", **options,
            )  # fmt: skip
            # Without gradients a window is seen once.
            people = measured(bundle, 1 if name in ("prototypes", "neighbours") else TURNS)
            before, after, count = (sum(row) for row in zip(*people.values(), strict=True))
            results[name] = {
                "before": before, "after": after, "windows": count, "people": people,
                "arena_bytes": bundle.report.arena_bytes,
            }  # fmt: skip
            print(f"{name}: {100 * before / count:.1f} % -> {100 * after / count:.1f} %")
    text = json.dumps(results, indent=1) + "\n"
    (HERE / "results.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
