"""The ONNX project's own backend tests, run against `glowmcu.onnx_backend`.

The tests are those of `onnx.backend.test` for the CPU without the "real" models, which it would
download. A test passes, is refused (the model is not supported, in so many words) or fails.
"""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import onnx
from onnx.backend.test.runner import Runner

from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.onnx_backend import GlowmcuBackend, PreparedModel

CATEGORIES = {
    "NodeModel": "node",
    "SimpleModel": "simple",
    "PyTorchConvertedModel": "pytorch-converted",
    "PyTorchOperatorModel": "pytorch-operator",
}
_LIKE_RUNTIME = "ONNX Runtime's numbers, which here are not those of ONNX's reference"
_ROWS_FOR_ALL = "the result has rows for all boxes that may stay, -1 behind the last"
#: Where the suite and ONNX Runtime disagree, its numbers are ours; results that data would size.
FAILS_ON_PURPOSE = {
    "test_resize_downsample_scales_cubic_align_corners": _LIKE_RUNTIME,
    "test_resize_downsample_scales_linear_align_corners": _LIKE_RUNTIME,
    "test_nonmaxsuppression_identical_boxes": _ROWS_FOR_ALL,
    "test_nonmaxsuppression_suppress_by_IOU_and_scores": _ROWS_FOR_ALL,
}


@dataclass(frozen=True)
class SuiteOutcome:
    """`verdict` is passed, refused or failed."""

    category: str
    name: str
    verdict: str
    reason: str = ""


class Refused(unittest.SkipTest):
    """The model is not supported."""


class _Prepared(PreparedModel):
    def run(self, inputs: Sequence[Any], **kwargs: Any) -> tuple[Any, ...]:
        try:
            return super().run(inputs, **kwargs)
        except GlowmcuError as cause:
            if cause.exit_code is ExitCode.UNSUPPORTED:
                raise Refused(f"{cause.code}: {cause.problems[0].message}") from cause
            raise


class _Backend(GlowmcuBackend):
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> PreparedModel:
        return _Prepared(model)


@cache
def _tests() -> dict[tuple[str, str], Callable[[Any], None]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runner = Runner(_Backend)
    return {
        (CATEGORIES[category], name.removesuffix("_cpu")): item.func
        for category, items in runner._test_items.items()
        if category in CATEGORIES
        for name, item in items.items()
        if name.endswith("_cpu")
    }


def suite_names() -> list[tuple[str, str]]:
    """(category, test) of every test, sorted."""
    return sorted(_tests())


def run_suite_test(key: tuple[str, str]) -> SuiteOutcome:
    """The outcome of one of the suite's tests."""
    try:
        _tests()[key](None)
    except unittest.SkipTest as refusal:
        return SuiteOutcome(*key, "refused", " ".join(str(refusal).split())[:200])
    except Exception as cause:  # noqa: BLE001 - whatever it raises, the test failed
        reason = f"{type(cause).__name__}: {' '.join(str(cause).split())}"[:200]
        return SuiteOutcome(*key, "failed", FAILS_ON_PURPOSE.get(key[1], reason))
    return SuiteOutcome(*key, "passed")
