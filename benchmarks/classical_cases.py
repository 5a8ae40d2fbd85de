"""Which estimators are tried on which data.

Every estimator with its defaults comes from `sklearn.utils.all_estimators()`, the rest is written
down in `classical_cases.toml`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

# The standard library has the TOML reader since Python 3.11; `tomli` is the same before that.
_TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
_FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Case:
    """`expression` makes the estimator, `data` is a key of `DATA`. `options` are skl2onnx's."""

    expression: str
    data: str
    options: str = ""

    @property
    def name(self) -> str:
        """What the record and the page call it."""
        return ", ".join(part for part in (self.expression, self.data, self.options) if part)


@cache
def _written() -> dict[str, Any]:
    found: dict[str, Any] = _TOML.loads(_FILE.read_text(encoding="utf-8"))
    return found


def needs() -> dict[str, Case]:
    """Cases of estimators that need arguments, or other data than the rest of their kind."""
    return {name: Case(*case) for name, case in _written()["needs"].items()}


def usual_ones() -> list[Case]:
    """The most usual ones, whose size and speed are measured."""
    return [
        Case(expression, data)
        for data, expressions in _written()["ten"].items()
        for expression in expressions
    ]


def listed() -> Iterator[Case]:
    """Cases that are written down, without a need for any of the packages."""
    for table in ("usual", "boosted"):
        for data, expressions in _written()[table].items():
            yield from (Case(expression, data) for expression in expressions)
    for group in _written()["with_options"]:
        for expression in group["expressions"]:
            yield Case(expression, group["data"], group["options"])
    yield from usual_ones()


def by_default() -> Iterator[Case]:
    """Every estimator of the installed scikit-learn with its defaults."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.utils import all_estimators

    known = needs()
    for name, kind in all_estimators():
        if name in known:
            yield known[name]
        else:
            yield from (Case(f"{name}()", data) for data in _usual_data(kind))


def _usual_data(kind: Any) -> tuple[str, ...]:
    from sklearn.base import is_classifier, is_regressor

    try:
        model = kind()
    except TypeError:
        return ("three classes",)
    if is_classifier(model):
        return ("three classes", "two classes")
    return ("values",) if is_regressor(model) else ("three classes",)


def cases() -> list[Case]:
    """All of them, each once."""
    found = {case.name: case for case in (*by_default(), *listed())}
    return list(found.values())
