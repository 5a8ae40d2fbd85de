"""Sample layers with a state: LSTM and SVDF of int8, as models of sound and of series have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef
from tests.support.lstm_models import LstmCase, SvdfCase, add_lstm, add_svdf

LSTM = (
    LstmCase(depth=28, units=20, steps=28), LstmCase(depth=257, units=128, steps=1),
    LstmCase(depth=128, units=128, steps=1), LstmCase(depth=40, units=32, steps=10),
    LstmCase(depth=13, units=7, steps=5), LstmCase(depth=6, units=16, steps=20),
    LstmCase(depth=64, units=24, steps=3, batches=2), LstmCase(depth=3, units=4, steps=40),
    LstmCase(depth=90, units=45, steps=2), LstmCase(depth=16, units=64, steps=4),
    LstmCase(depth=1, units=2, steps=1), LstmCase(depth=30, units=20, steps=6, extreme=True),
    LstmCase(depth=128, units=40, steps=1, extreme=True), LstmCase(depth=10, units=150, steps=1),
)  # fmt: skip
SVDF = (
    SvdfCase(depth=104, units=64, memory=8), SvdfCase(depth=16, units=32, memory=32),
    SvdfCase(depth=40, units=128, memory=12, rank=2), SvdfCase(depth=24, units=17, memory=16),
    SvdfCase(depth=13, units=5, memory=4), SvdfCase(depth=64, units=20, memory=20, rank=3),
    SvdfCase(depth=9, units=48, memory=8), SvdfCase(depth=200, units=12, memory=4),
    SvdfCase(depth=32, units=32, memory=64), SvdfCase(depth=8, units=100, memory=8),
    SvdfCase(depth=1, units=1, memory=4), SvdfCase(depth=48, units=24, memory=8, extreme=True),
    SvdfCase(depth=20, units=40, memory=12, extreme=True),
    SvdfCase(depth=32, units=16, memory=10, dtype="int16", state_zero_point=0),
    SvdfCase(depth=10, units=40, memory=5, dtype="int16", state_zero_point=0),
)  # fmt: skip

RECURRENT_KINDS = ("UNIDIRECTIONAL_SEQUENCE_LSTM", "SVDF")
_Builder = Callable[[ModelBuilder, str, np.random.Generator], TensorRef]


def _lstm_layer(
    case: LstmCase, model: ModelBuilder, name: str, generator: np.random.Generator
) -> TensorRef:
    return add_lstm(model, case, generator, f"_{name}")


def _svdf_layer(
    case: SvdfCase, model: ModelBuilder, name: str, generator: np.random.Generator
) -> TensorRef:
    return add_svdf(model, case, generator, f"_{name}")


def builders(kind: str) -> Sequence[_Builder]:
    """What makes each sample of `kind`."""
    if kind == "SVDF":
        return [partial(_svdf_layer, case) for case in SVDF]
    return [partial(_lstm_layer, case) for case in LSTM]
