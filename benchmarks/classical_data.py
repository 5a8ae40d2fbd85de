"""Bundled data of scikit-learn that classical models are fitted on: half to fit, half to ask.

Rows that are asked are float32 even where the file takes double, so that both compute on the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
#: Rows that are asked, at most.
ROWS = 40


@dataclass(frozen=True)
class Data:
    """`x` and `y` to fit, `asked` rows to ask for, the last columns of `x` in inputs of their own
    if `columns` names them.
    """

    x: Array
    y: Array | None
    asked: Array
    columns: tuple[str, ...] = ()


def _halves(x: Array, y: Array | None, seed: int = 0) -> Data:
    order = np.random.default_rng(seed).permutation(len(x))
    half = len(x) // 2
    fit, rest = order[:half], order[half : half + ROWS]
    return Data(x[fit], None if y is None else y[fit], x[rest])


def _loaded(name: str) -> tuple[Array, Array]:
    import sklearn.datasets

    found: tuple[Array, Array] = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    return found


def _real(x: Array) -> Array:
    return x.astype(np.float32)


def _missing(x: Array) -> Array:
    """With a tenth of the features missing."""
    x = x.copy()
    x[np.random.default_rng(1).random(x.shape) < 0.1] = np.nan
    return x


def _iris() -> tuple[Array, Array]:
    """Measured to a tenth of a centimetre, of which the other digits are drawn here: as many rows
    are as near as each other else, and of these any may be the nearest.
    """
    x, y = _loaded("iris")
    return x + np.random.default_rng(4).uniform(-0.05, 0.05, x.shape), y


def _flowers() -> Data:
    x, y = _iris()
    return _halves(_real(x), y)


def _wines() -> Data:
    x, y = _loaded("wine")
    return _halves(_real(x), y)


def _tumours() -> Data:
    x, y = _loaded("breast_cancer")
    return _halves(_real(x[:, :8]), y)


def _pixels() -> tuple[Array, Array]:
    x, y = _loaded("digits")
    few = y < 5
    return x[few][:400], y[few][:400]


def _digits() -> Data:
    x, y = _pixels()
    return _halves(_real(x), y)


def _whole_digits() -> Data:
    x, y = _pixels()
    return _halves(x.astype(np.int64), y)


def _doubles() -> Data:
    x, y = _iris()
    return _halves(_real(x).astype(np.float64), y)


def _double_values() -> Data:
    x, y = _loaded("diabetes")
    return _halves(_real(x).astype(np.float64), y)


def _values() -> Data:
    x, y = _loaded("diabetes")
    return _halves(_real(x * 20), y)


def _two_values() -> Data:
    x, y = _loaded("diabetes")
    return _halves(_real(x[:, 1:] * 20), np.stack([y, 20 * x[:, 0] + y / 10], axis=1))


def _one_feature() -> Data:
    x, y = _loaded("diabetes")
    return _halves(_real(x[:, 2:3] * 20), y)


def _wines_with_holes() -> Data:
    x, y = _loaded("wine")
    return _halves(_missing(_real(x)), y)


def _values_with_holes() -> Data:
    x, y = _loaded("diabetes")
    return _halves(_missing(_real(x * 20)), y)


def _names() -> Data:
    x, y = _iris()
    return _halves(_real(x), np.array(["setosa", "versicolor", "virginica"])[y])


def _other_numbers() -> Data:
    x, y = _iris()
    return _halves(_real(x), np.array([-7, 5, 300])[y])


def _several_labels() -> Data:
    x, y = _iris()
    return _halves(_real(x), np.stack([y > 0, x[:, 0] > 5.8], axis=1).astype(np.int64))


def _classes_apart() -> Data:
    x, y = _iris()
    return _halves(_real(x), np.stack([y, (x[:, 0] > 5.8) + 0], axis=1))


def _bits() -> Data:
    x, y = _pixels()
    return _halves(_real(x > 7), y)


def _categories() -> Data:
    x, y = _pixels()
    return _halves(x[:, 10:18].astype(np.int64) // 4, y)


def _real_categories() -> Data:
    x, y = _pixels()
    return _halves(_real(x[:, 10:18] // 4), y)


def _labels() -> Data:
    return _halves(_loaded("iris")[1], None)


def _strings() -> Data:
    draw = np.random.default_rng(2)
    rooms = draw.choice(["kitchen", "hall", "cellar", "attic"], 160).astype(object)
    times = draw.choice(["night", "morning", "noon"], 160).astype(object)
    target = (rooms == "kitchen") + 2 * (times == "night")
    return _halves(np.stack([rooms, times], axis=1), target)


def _table() -> Data:
    draw = np.random.default_rng(2)
    x = _strings()
    rooms = np.concatenate([x.x, x.asked])[:, 0]
    warm = draw.normal(20, 4, len(rooms)).astype(np.float32)
    wet = draw.normal(50, 9, len(rooms)).astype(np.float32)
    found = _halves(np.stack([rooms, warm, wet], axis=1), (rooms == "kitchen") + (warm > 22) + 0)
    return Data(found.x, found.y, found.asked, ("room", "warm", "wet"))


def _table_and_names() -> Data:
    found = _table()
    assert found.y is not None
    names = np.array(["low", "off", "warm"])[found.y.astype(int)]
    return Data(found.x, names, found.asked, found.columns)


def _text() -> Data:
    draw = np.random.default_rng(3)
    words = np.array(["turn", "the", "light", "on", "off", "in", "kitchen", "hall", "please"])
    lines = [" ".join(draw.choice(words, 6)) for _ in range(120)]
    y = np.array([int("kitchen" in line) + int("on" in line.split()) for line in lines])
    return _halves(np.array(lines, object), y)


#: What a case's section is called, and its data.
DATA: dict[str, Callable[[], Data]] = {
    "three classes": _flowers,
    "three classes, 13 features": _wines,
    "two classes": _tumours,
    "digits": _digits,
    "digits, int64": _whole_digits,
    "three classes, double": _doubles,
    "values": _values,
    "values, double": _double_values,
    "two values": _two_values,
    "one feature": _one_feature,
    "three classes, with missing": _wines_with_holes,
    "values, with missing": _values_with_holes,
    "classes with names": _names,
    "classes -7, 5, 300": _other_numbers,
    "two labels": _several_labels,
    "two outputs of classes": _classes_apart,
    "bits": _bits,
    "categories, int64": _categories,
    "categories, float32": _real_categories,
    "labels alone": _labels,
    "strings": _strings,
    "a table with strings": _table,
    "a table with strings, classes with names": _table_and_names,
    "text": _text,
}
