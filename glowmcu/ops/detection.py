"""`detection_postprocess`: boxes from codes and anchors, and which of them are detections;
`non_max_suppression`: the second half alone.

A code (y, x, h, w) becomes the corners of a box in double; of boxes that overlap by more than a
threshold the one with the higher score stays (non-maximum suppression), in `fast` for the best
class of each box, in `regular` for every class on its own.
Source: TensorFlow Lite Micro's `kernels/detection_postprocess.cc`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.registry import operation


@dataclass(frozen=True)
class DetectionPostprocess(Operation):
    """Operands: codes (1, boxes, 4 or more), scores (1, boxes, classes), anchors (boxes, 4); f32.

    Results: corners (1, places, 4) as ymin, xmin, ymax, xmax; classes and scores (1, places), best
    first; how many there are (1,); f32. The rest is zeros. A first class that is one more than
    `classes` is the background and not looked at. Where the corners of some box are in no order
    TensorFlow Lite Micro ends with an error; here nothing is detected. `scales` divide y, x, h, w.
    """

    classes: int = 1
    most: int = 1
    places: int = 1
    score_threshold: float = 0.0
    iou_threshold: float = 1.0
    scales: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        codes, scores, anchors = inputs
        if codes.rank != 3 or codes.shape[0] != 1 or codes.shape[1] < 1 or codes.shape[2] < 4:
            raise OperationError(f"expected codes of boxes (1, boxes, 4 or more), got {codes}")
        boxes = codes.shape[1]
        if scores.rank != 3 or scores.shape[:2] != (1, boxes):
            raise OperationError(f"expected scores (1, {boxes}, classes), got {scores}")
        if anchors.shape != (boxes, 4):
            raise OperationError(f"expected anchors ({boxes}, 4), got {anchors}")
        if self.classes < 1 or not 0 <= scores.shape[2] - self.classes <= 1:
            raise OperationError(
                f"{self.classes} classes; the scores have {scores.shape[2]}: as many, or one more "
                "for the background"
            )
        self._check_numbers(boxes)
        return (1, self.places, 4), (1, self.places), (1, self.places), (1,)

    def _check_numbers(self, boxes: int) -> None:
        if self.most < 1:
            raise OperationError(f"at least one detection must be allowed, got {self.most}")
        if not 0.0 < self.iou_threshold <= 1.0:
            raise OperationError(
                f"the overlap's threshold must be above 0 and at most 1, got {self.iou_threshold}"
            )
        if math.isnan(self.score_threshold):
            raise OperationError("the score's threshold is not a number")
        if len(self.scales) != 4 or not all(s != 0.0 and math.isfinite(s) for s in self.scales):
            raise OperationError(f"four scales other than 0, got {self.scales}")
        if self.places < self.least_places(boxes):
            raise OperationError(
                f"results have {self.places} places, and detections may take "
                f"{self.least_places(boxes)}"
            )

    def least_places(self, boxes: int) -> int:
        """Places of results that may be written."""
        raise AssertionError(f"{self.name} has no places")

    def verify(self, signature: Signature) -> None:
        for type_ in (*signature.inputs, *signature.outputs):
            if type_.element is not ElementType.F32:
                raise OperationError(f"expected float32 throughout, got {type_}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        codes, scores, anchors = inputs[0][0], inputs[1][0], inputs[2]
        boxes = decoded(codes, anchors, self.scales)
        results = [np.zeros(type_.shape, np.float32) for type_ in signature.outputs]
        if (boxes[:, :2] >= boxes[:, 2:]).any():
            return tuple(results)
        found = self._detections(boxes, scores[:, scores.shape[1] - self.classes :])
        for place, (box, class_, score) in found:
            results[0][0, place], results[1][0, place] = boxes[box], class_
            results[2][0, place] = score
        results[3][0] = len(found)
        return tuple(results)

    def _detections(
        self, boxes: Array, scores: Array
    ) -> list[tuple[int, tuple[int, int, np.float32]]]:
        """Place of the results, and box, class, score."""
        raise AssertionError(f"{self.name} has no meaning")

    def _suppressed(self, boxes: Array, scores: Array, most: int) -> list[int]:
        return suppressed(boxes, scores, most, self.score_threshold, self.iou_threshold)


@operation("detection_postprocess_fast")
@dataclass(frozen=True)
class FastDetection(DetectionPostprocess):
    """A box is compared by the score of its best class; of those that stay its `per_box` best
    classes are detections. Detection n, the class of rank r for its box, is at place per_box n + r,
    as the reference kernel has it: with more than one class a box there are places between.
    """

    per_box: int = 1

    @property
    def ranks(self) -> int:
        """Classes of a box that are detections."""
        return min(self.per_box, self.classes)

    def least_places(self, boxes: int) -> int:
        if self.per_box < 1:
            raise OperationError(f"at least one class a detection, got {self.per_box}")
        return self.ranks**2 * min(self.most, boxes)

    def _detections(
        self, boxes: Array, scores: Array
    ) -> list[tuple[int, tuple[int, int, np.float32]]]:
        best = scores[:, 0].copy()
        for class_ in range(1, self.classes):
            larger = scores[:, class_] > best
            best[larger] = scores[larger, class_]
        found: list[tuple[int, tuple[int, int, np.float32]]] = []
        for box in self._suppressed(boxes, best, self.most):
            ranked = np.argsort(-scores[box], kind="stable")
            numbers = ranked[~np.isnan(scores[box, ranked])]  # one at least: the best class
            for rank in range(self.ranks):
                class_ = int(numbers[min(rank, len(numbers) - 1)])
                place = self.ranks * len(found) + rank
                found.append((place, (box, class_, scores[box, class_])))
        return found


@operation("detection_postprocess_regular")
@dataclass(frozen=True)
class RegularDetection(DetectionPostprocess):
    """`per_class` boxes of each class at most; the `most` best of all classes are detections."""

    per_class: int = 100

    def least_places(self, boxes: int) -> int:
        if self.per_class < 1:
            raise OperationError(f"at least one detection a class, got {self.per_class}")
        return self.most

    def _detections(
        self, boxes: Array, scores: Array
    ) -> list[tuple[int, tuple[int, int, np.float32]]]:
        best: list[tuple[int, int, np.float32]] = []
        for class_ in range(self.classes):
            column = scores[:, class_]
            found = self._suppressed(boxes, column, self.per_class)
            best += [(box, class_, column[box]) for box in found]
            best = sorted(best, key=lambda item: -item[2])[: self.most]
        return list(enumerate(best))


@operation("non_max_suppression")
@dataclass(frozen=True)
class NonMaxSuppression(Operation):
    """Operands: boxes (batches, n, 4) as ymin, xmin, ymax, xmax in order, and scores (batches,
    classes, n); f32. Results: rows of batch, class and box, i32 (batches * classes * `most`, 3),
    and how many they are (1,); -1 behind the last.

    `most` boxes of a class stay, best first, whose scores are `score_threshold` or more; of two
    that overlap by more than `iou_threshold` the better one.
    """

    most: int = 1
    score_threshold: float = -math.inf
    iou_threshold: float = 1.0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        boxes, scores = inputs
        if boxes.rank != 3 or boxes.shape[1] < 1 or boxes.shape[2] != 4:
            raise OperationError(f"expected boxes (batches, boxes, 4), got {boxes}")
        expected = (boxes.shape[0], boxes.shape[1])
        if scores.rank != 3 or (scores.shape[0], scores.shape[2]) != expected:
            raise OperationError(f"expected scores of {boxes}, got {scores}")
        if self.most < 1 or 0 in scores.shape:
            raise OperationError(f"no box can stay: {self.most} of a class, scores {scores}")
        if math.isnan(self.score_threshold) or math.isnan(self.iou_threshold):
            raise OperationError("a threshold is not a number")
        return (scores.shape[0] * scores.shape[1] * self.most, 3), (1,)

    def verify(self, signature: Signature) -> None:
        for type_ in signature.inputs:
            if type_.element is not ElementType.F32:
                raise OperationError(f"expected float32 operands, got {type_}")
        for type_ in signature.outputs:
            if type_.element is not ElementType.I32:
                raise OperationError(f"expected i32 results, got {type_}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        boxes, scores = inputs
        found = [
            (batch, class_, box)
            for batch in range(len(scores))
            for class_ in range(scores.shape[1])
            for box in suppressed(
                boxes[batch], scores[batch, class_], self.most, self.score_threshold,
                self.iou_threshold,
            )
        ]  # fmt: skip
        rows = np.full(signature.outputs[0].shape, -1, np.int32)
        rows[: len(found)] = np.array(found, np.int32).reshape(-1, 3)
        return rows, np.array([len(found)], np.int32)


def suppressed(
    boxes: Array, scores: Array, most: int, score_threshold: float, iou_threshold: float
) -> list[int]:
    """Boxes that stay, best first: of one class."""
    kept = np.flatnonzero(scores >= np.float32(score_threshold))
    order = kept[np.argsort(-scores[kept], kind="stable")]
    found: list[int] = []
    while order.size and len(found) < most:
        best, order = int(order[0]), order[1:]
        found.append(best)
        overlaps = intersection_over_union(boxes[best], boxes[order])
        order = order[~(overlaps > np.float32(iou_threshold))]
    return found


def decoded(codes: Array, anchors: Array, scales: Sequence[float]) -> Array:
    """Corners of boxes, float32 (boxes, 4), as ymin, xmin, ymax, xmax."""
    y, x, h, w = (codes[:, i].astype(np.float64) / np.float64(scales[i]) for i in range(4))
    anchor_y, anchor_x, anchor_h, anchor_w = anchors.astype(np.float64).T
    with np.errstate(all="ignore"):
        center_y = (y * anchor_h + anchor_y).astype(np.float32)
        center_x = (x * anchor_w + anchor_x).astype(np.float32)
        half_h = (0.5 * np.exp(h) * anchor_h).astype(np.float32)
        half_w = (0.5 * np.exp(w) * anchor_w).astype(np.float32)
        corners = (center_y - half_h, center_x - half_w, center_y + half_h, center_x + half_w)
    return np.stack(corners, 1)


def intersection_over_union(box: Array, others: Array) -> Array:
    """Of a box with each of others: float32; 0 if one of the two has no area."""
    with np.errstate(all="ignore"):
        area, areas = _area(box), _area(others)
        low = np.where(box[:2] < others[:, :2], others[:, :2], box[:2])
        high = np.where(others[:, 2:] < box[2:], others[:, 2:], box[2:])
        sides = high - low
        sides = np.where(sides < 0, np.float32(0), sides)
        shared = sides[:, 0] * sides[:, 1]
        overlaps = shared / (area + areas - shared)
    empty = (area <= 0) | (areas <= 0)
    return np.where(empty, np.float32(0), overlaps)


def _area(boxes: Array) -> Array:
    return np.asarray((boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1]))
