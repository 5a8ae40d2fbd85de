"""Models of TFLite_Detection_PostProcess, and codes of boxes for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from glowmcu.frontend.tflite.writer import ModelBuilder
from tests.support.signal_models import flexbuffer

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class DetectionCase:
    """`classes` without the background. `places` None leaves them to the options."""

    boxes: int = 12
    classes: int = 3
    background: int = 1
    most: int = 5
    per_box: int = 1
    regular: bool = False
    per_class: int | None = None
    score: float = 0.3
    overlap: float = 0.5
    scales: tuple[float, float, float, float] = (10.0, 10.0, 5.0, 5.0)
    code_length: int = 4
    places: int | None = None
    dtype: str = "float32"
    seed: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def result_places(self) -> int:
        ranks = min(self.per_box, self.classes)
        least = self.most if self.regular else ranks**2 * min(self.most, self.boxes)
        return least if self.places is None else self.places

    def options(self) -> dict[str, Any]:
        names = ("y_scale", "x_scale", "h_scale", "w_scale")
        found: dict[str, Any] = {
            "max_detections": self.most, "max_classes_per_detection": self.per_box,
            "num_classes": self.classes, "nms_score_threshold": self.score,
            "nms_iou_threshold": self.overlap, "use_regular_nms": self.regular,
            **dict(zip(names, self.scales, strict=True)),
        }  # fmt: skip
        if self.per_class is not None:
            found["detections_per_class"] = self.per_class
        return {**found, **self.extra}


def anchors_of(case: DetectionCase) -> Array:
    """Some in a row, so that boxes overlap."""
    generator = np.random.default_rng([case.seed, 1])
    centers = generator.uniform(0.3, 0.7, (case.boxes, 2))
    sizes = generator.uniform(0.1, 0.5, (case.boxes, 2))
    return np.concatenate([centers, sizes], 1).astype(np.float32)


def detection_model(case: DetectionCase, options: Mapping[str, Any] | None = None) -> bytes:
    """Codes and scores are inputs, anchors a constant; quantized where `dtype` says so."""
    model, total = ModelBuilder(), case.classes + case.background
    quantized = case.dtype != "float32"
    point = 128 if case.dtype == "uint8" else 0
    codes = model.input("codes", (1, case.boxes, case.code_length), case.dtype,
                        *((0.08, point) if quantized else ()))  # fmt: skip
    scores = model.input("scores", (1, case.boxes, total), case.dtype,
                         *((1 / 256, point - 128) if quantized else ()))  # fmt: skip
    anchors = anchors_of(case)
    if quantized:
        stored = np.rint(anchors * 250).astype(np.int64) + point - 128
        anchor = model.constant("anchors", stored.astype(case.dtype), 1 / 250, point - 128)
    else:
        anchor = model.constant("anchors", anchors)
    places = case.result_places
    shapes = {"boxes": (1, places, 4), "classes": (1, places), "found": (1, places), "count": (1,)}
    outs = [model.tensor(name, shape, "float32") for name, shape in shapes.items()]
    given = flexbuffer(case.options() if options is None else options)
    model.custom_op("TFLite_Detection_PostProcess", [codes, scores, anchor], outs, given)
    for out in outs:
        model.output(out)
    return model.finish()


def inputs_of(case: DetectionCase, count: int, seed: int = 0) -> list[list[Array]]:
    """Codes near zero and scores in a few steps, so that many are equal."""
    generator, total = np.random.default_rng([case.seed, seed, 2]), case.classes + case.background
    sets = []
    for _ in range(count):
        codes = generator.normal(0, 1.5, (1, case.boxes, case.code_length)).astype(np.float32)
        steps = int(generator.choice([2, 5, 20, 1000]))
        scores = generator.integers(0, steps + 1, (1, case.boxes, total)) / np.float32(steps)
        sets.append([codes, scores.astype(np.float32)])
    if case.dtype == "float32":
        return sets
    limits = np.iinfo(case.dtype)
    middle = (int(limits.min) + int(limits.max) + 1) // 2
    return [
        [
            np.clip(np.rint(codes / 0.08) + middle, limits.min, limits.max).astype(case.dtype),
            (np.rint(scores * 255) + limits.min).astype(case.dtype),
        ]
        for codes, scores in sets
    ]
