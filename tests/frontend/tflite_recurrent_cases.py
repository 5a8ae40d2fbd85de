"""Recurrent operators of .tflite files: what `tflite_damage.py` damages."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import TensorRecord
from tests.frontend.tflite_damage import Case, c, t, w

F, I8, I16, I32 = "FLOAT32", "INT8", "INT16", "INT32"


def _lstm(element: str, weights: str) -> Case:
    is_real = element == F
    gates = [w((2, 3), dtype=weights)] * 4 + [w((2, 2), dtype=weights)] * 4
    biases = [c([5, 6], F if is_real else I32, () if is_real else (0.125,))] * 4
    cell = t((1, 2), F if is_real else I16, None if is_real else 2**-11, variable=True)
    hidden = t((1, 2), element, variable=True)
    operands = (t((1, 4, 3), element), *gates, *(None,) * 3, *biases, *(None,) * 2, hidden, cell)
    options = {"fused_activation_function": 4, "cell_clip": 2.0, "time_major": False}
    return Case(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", (*operands, *(None,) * 4), (t((1, 4, 2), element),), options
    )


def _both_lstm(merge: bool) -> Case:
    """Of one direction the operands that are weights, then those of the other, then four states."""
    gates = [w((2, 3), dtype=F)] * 4 + [w((2, 2), dtype=F)] * 4
    one = (*gates, *(None,) * 3, *[c([5, 6], F)] * 4, *(None,) * 2)
    states = [t((1, 2), F, variable=True) for _ in range(4)]
    options = {"fused_activation_function": 4, "cell_clip": 2.0, "proj_clip": 0.0,
               "merge_outputs": merge, "time_major": False}  # fmt: skip
    results = (t((1, 4, 4), F),) if merge else (t((1, 4, 2), F), t((1, 4, 2), F))
    operands = (t((1, 4, 3), F), *one, *one, *states, *(None,) * 9)
    return Case("BIDIRECTIONAL_SEQUENCE_LSTM", operands, results, options)


def _rnn_operands(weights: str = F) -> tuple[TensorRecord, ...]:
    """Of one direction."""
    state = t((1, 2), F, variable=True)
    return w((2, 3), dtype=weights), w((2, 2), dtype=weights), c([5, 6], F), state


def _both_rnn(merge: bool) -> Case:
    options = {"fused_activation_function": 4, "merge_outputs": merge, "time_major": True}
    results = (t((4, 1, 4), F),) if merge else (t((4, 1, 2), F), t((4, 1, 2), F))
    operands = (t((4, 1, 3), F), *_rnn_operands(), *_rnn_operands(), *(None,) * 3)
    return Case("BIDIRECTIONAL_SEQUENCE_RNN", operands, results, options)


RECURRENT: dict[str, tuple[Case, ...]] = {
    "lstm": (_lstm(I8, I8), _lstm(F, F), _lstm(F, I8), _both_lstm(True), _both_lstm(False)),
    "rnn": (
        Case("RNN", (t((1, 3), F), *_rnn_operands()), (t((1, 2), F),),
             {"fused_activation_function": 4}),
        Case("UNIDIRECTIONAL_SEQUENCE_RNN", (t((1, 4, 3), F), *_rnn_operands(I8)),
             (t((1, 4, 2), F),), {"fused_activation_function": 1, "time_major": False}),
        _both_rnn(True), _both_rnn(False),
    ),
}  # fmt: skip
