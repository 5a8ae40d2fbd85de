"""Models whose layers' stacks are measured beside those of the sweep: of variants that no sweep
has, 16 bits, and operators that no random layer has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.calibration_layers import model, sample_count
from benchmarks.layer_graphs import GRAPH_KINDS, side_by_side
from benchmarks.sweep_image import Model
from glowmcu.learning.training_graph import with_training
from glowmcu.pipeline import reference_graph
from glowmcu.training import training_of
from tests.frontend import test_classical_models
from tests.hostile.operator_models import OPERATOR_MODELS
from tests.learning import fixed_models
from tests.ops import (
    test_matmul,
    test_non_max_suppression,
    test_onnx_recurrent,
    test_pooling,
    test_resize,
    test_scan,
    test_signal_fft,
    test_signal_filter_bank,
    test_signal_frame,
    test_signal_queue,
    test_spectrogram,
    test_update_slice,
    test_wide_functions,
    test_wide_layers,
)
from tests.support.detection_models import DetectionCase, detection_model
from tests.support.lstm_models import LstmCase, SvdfCase, lstm_model, svdf_model
from tests.support.onnx_models import onnx_model
from tests.support.set_trees import set_trees
from tests.support.stream_models import random_stream_model
from tests.support.tree_models import forest, tree_model

#: Samples of a kind of layer in one program, and alone.
_TOGETHER, _ALONE = (0, 3, 5, 8), (1, 4, 0)


def several(kind: str) -> Model:
    """Layers of a kind that variants are calibrated on."""
    if kind in GRAPH_KINDS:
        return model(kind)
    return model(kind, sorted({number % sample_count(kind) for number in _TOGETHER}))


def singles(kind: str) -> Iterator[Callable[[], Model]]:
    """What makes models of one such layer."""
    for number in dict.fromkeys(number % sample_count(kind) for number in _ALONE):
        yield partial(model, kind, [number])


def other_models() -> Iterator[Model]:
    """Models in which kernels are chosen as usual."""
    for make in OPERATOR_MODELS.values():
        yield make()
    for case in test_wide_layers.LAYERS.values():
        yield test_wide_layers.layer_model(case)
    for name, row in test_wide_functions.FUNCTIONS.items():
        if "any scale" in name or row[0] not in ("LOGISTIC", "TANH"):
            yield test_wide_functions.function_model(*row, (3, 20))
    for kind in ("ADD", "MUL", "MAXIMUM"):
        yield test_wide_functions.pair_model(kind, (2, 1, 5), (3, 1), (2, 3, 5), (1e-3,) * 3)
    for kind in ("MEAN", "SUM"):
        for reduction in test_wide_functions.REDUCTIONS.values():
            yield test_wide_functions.reduction_model(kind, *reduction)
    for product in test_matmul.WIDE.values():
        yield test_matmul.product_model(product, 0, "int16")
    for mode in test_resize.MODES.values():
        case = test_resize.CASES["larger one way, smaller the other"]
        yield test_resize.resize_model("RESIZE_BILINEAR", case, mode, "int16")
    yield random_stream_model(6)
    yield from _recurrent()
    for outputs in (1, 4):
        yield test_matmul.dense_model(test_matmul.Dense(1, 2048, outputs))
    yield from _pools()
    yield from scans()
    yield from signals()
    yield from rare()
    yield from _onnx()
    yield _loops_over_steps()
    yield from learners()


def learners() -> Iterator[Model]:
    """Networks whose layers learn in fixed point."""
    for data, what, loss in (
        (fixed_models.windows(), "last=4", "cross-entropy"),
        (fixed_models.dilated(), "last=5", "cross-entropy"),
        (fixed_models.pooled(), "last=3", "cross-entropy"),
        (fixed_models.separable(), "last=7", "cross-entropy"),
        (fixed_models.decoder(), "last=5", "cross-entropy"),
        (fixed_models.resized(), "last=5", "cross-entropy"),
        (fixed_models.moving(), "last=5", "cross-entropy"),
        (fixed_models.gated(), "last=4", "cross-entropy"),
        (fixed_models.gathered(), "last=2", "cross-entropy"),
        (fixed_models.regression(), "last=2", "squared-error"),
    ):
        training = training_of(what, loss, numbers="fixed")
        yield with_training(reference_graph(data, "m.tflite"), training, "m.tflite")


def _recurrent() -> Iterator[bytes]:
    for dtype in ("int8", "int16", "float32"):
        for steps in (2, 9):
            yield lstm_model(LstmCase(dtype=dtype, units=10, depth=11, steps=steps))
        yield svdf_model(SvdfCase(dtype=dtype, state_zero_point=0))
    yield lstm_model(LstmCase(units=10, depth=11, weight_scale=0.9))
    yield lstm_model(LstmCase(units=10, depth=11, extreme=True))
    yield lstm_model(LstmCase(units=40, depth=70))
    yield lstm_model(LstmCase(units=129, depth=128, steps=1, cell_clip=4.0))
    yield lstm_model(LstmCase(units=10, depth=11, hidden_scale=1e-10))
    for memory, rank in ((5, 1), (8, 2), (32, 1)):
        yield svdf_model(SvdfCase(memory=memory, rank=rank, depth=32, units=32))


def _pools() -> Iterator[bytes]:
    for name in ("odd size, same padding", "batch of three"):
        case = test_pooling.CASES[name]
        for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            yield test_pooling.pool_model(kind, case, dtype="int16")
            yield test_pooling.pool_model(kind, case, dtype="float32")
        yield test_pooling.pool_model("MAX_POOL_2D", case, dtype="uint8")


def scans() -> Iterator[bytes]:
    """Positions of extremes, and running sums."""
    for shape, axis in test_scan.SHAPES.values():
        for dtype in ("int32", "int64"):
            yield test_scan.arg_model("ARG_MAX", shape, axis, dtype)
        yield test_scan.cumsum_model(shape, axis, False, False)
        yield test_scan.cumsum_model(shape, axis, True, True)


def signals() -> Iterator[bytes]:
    """Spectra of all types and radices, filter banks, and what is around them."""
    for dtype in test_signal_fft.TYPES:
        for length, samples in ((60, 60), (128, 127), (512, 480)):
            yield test_signal_fft.fft_model("SignalRfft", dtype, length, (2,), samples)
            yield test_signal_fft.fft_model("SignalIrfft", dtype, length)
    yield test_signal_frame.window_model((3, 16), np.ones(16, np.int16), 12)
    yield test_signal_frame.auto_scale_model(31)
    yield test_signal_frame.energy_model(60, 4, 21)
    for dtype in ("int16", "float32"):
        yield test_signal_queue.overlap_add_model(dtype, (2, 3, 8), 3)
    for sign in (1, -1):
        weights = np.full(20, sign, np.int16)
        yield test_signal_filter_bank.sums_model(20, weights, 20)
    for operation in test_signal_filter_bank.VARIANTS.values():
        yield test_signal_filter_bank.subtraction_model(operation, 7)
    yield test_signal_filter_bank.pcan_model(np.ones(125, np.int16), 7, 6)
    yield test_signal_filter_bank.log_model(7, 64, 3)
    for name in test_spectrogram.CASES:
        yield test_spectrogram.case(name)


def rare() -> Iterator[bytes]:
    """Operators of TensorFlow Lite Micro that few models have."""
    for name in ("odd size, same padding", "relu6", "batch of three"):
        yield test_pooling.pool_model("L2_POOL_2D", test_pooling.CASES[name], dtype="float32")
    for shape, part in test_update_slice.SHAPES.values():
        for of in ("int32", "int64"):
            yield test_update_slice.update_model(shape, part, None, "int16", of)
    for case in (DetectionCase(), DetectionCase(boxes=50, per_box=3)):
        yield detection_model(case)
        yield detection_model(replace(case, regular=True))
    yield test_non_max_suppression.tflite_model(5, 12, 4)


def _onnx() -> Iterator[bytes]:
    x, k = ("x", "float32", (4, 6)), np.array([3], np.int64)
    places = np.array([[0, 1, 0, 2], [3, 1, 1, 0]], np.int64)
    updates = ("u", "float32", (2, 4))
    for dtype, to in (("float32", 6), ("int32", 1), ("float32", 3), ("int8", 1), ("int64", 6)):
        yield onnx_model("Cast", [("x", dtype, (4, 6))], {"to": to})
    for kind in ("ArgMax", "ArgMin"):
        yield onnx_model(kind, [x], {"axis": 1})
    yield test_non_max_suppression.onnx_boxes(1, 2, 9, 3)
    yield onnx_model("CumSum", [x, np.array(1, np.int64)])
    yield onnx_model("GatherElements", [x, places], {"axis": 0})
    yield onnx_model("GatherND", [x, places[:, :2]])
    yield onnx_model("Gather", [x, places[0]], {"axis": 1})
    for reduction in ("none", "add", "max"):
        yield onnx_model("ScatterElements", [x, places, updates], {"reduction": reduction}, 1, 18)
        rows = ("u", "float32", (2,))
        yield onnx_model("ScatterND", [x, places[:, :2], rows], {"reduction": reduction}, 1, 18)
    yield onnx_model("TopK", [x, k], {}, 2)
    yield onnx_model("TopK", [x, k], {"largest": 0, "axis": 0}, 2)
    for kind in ("ReduceMean", "ReduceMax", "ReduceL2", "ReduceProd", "ReduceLogSumExp"):
        yield onnx_model(kind, [x, np.array([1], np.int64)], {"keepdims": 0})
    yield onnx_model("Identity", [x])
    image = ("x", "float32", (1, 3, 8, 8))
    yield onnx_model("MaxPool", [image], {"kernel_shape": [2, 2], "strides": [2, 2]}, 2)
    scales = np.array([1, 1, 2, 2], np.float32)
    for mode in ("linear", "nearest", "cubic"):
        yield onnx_model("Resize", [image, None, scales], {"mode": mode})
    places = ("grid", "float32", (1, 5, 4, 2))
    for mode in ("linear", "nearest"):
        yield onnx_model("GridSample", [image, places], {"mode": mode}, opset=20)
    yield onnx_model("LpPool", [image], {"kernel_shape": [2, 2]})
    yield onnx_model("LRN", [image], {"size": 3})
    yield onnx_model("Softmax", [x], {"axis": 1})
    yield onnx_model("LogSoftmax", [x], {"axis": 1})
    weights = np.ones((3, 4, 3, 3), np.float32)
    yield onnx_model("ConvTranspose", [image, weights], {"strides": [2, 2]})
    yield from _classical()


def _classical() -> Iterator[bytes]:
    """Trees of votes, values and rows of both, on bytes, whole and real numbers, and of sets;
    vectors.
    """
    votes = {"targets": range(5), "every_target": False, "weights": (0.1,), "depth": 7}
    for kind in (votes, {"depth": 3}, {"targets": range(3)}, {"depth": 0}, {"tracks": True}):
        made, count = forest(8, 1, 40, **kind), len(kind.get("targets", (0,)))
        attributes = made.attributes("target") | {"n_targets": count}
        for dtype in ("uint8", "int8", "int16", "float32"):
            yield tree_model("TreeEnsembleRegressor", attributes, 40, 2, dtype=dtype)
    for dtype in ("uint8", "int8", "int16", "int64", "float32"):
        attributes = set_trees(8, 4, 1, pool=range(90), most=60).attributes()
        yield tree_model("TreeEnsembleRegressor", attributes, 3, 2, dtype=dtype)
    for classes in (2, 3, 5):
        pairs = classes * (classes - 1) // 2
        attributes = test_classical_models.machine(classes, "radial")
        attributes |= {"prob_a": [-1.0] * pairs, "prob_b": [0.0] * pairs}
        outputs = ["int64", "float32"]
        inputs = [("float32", (1, 4))]
        yield test_classical_models.ml_model("SVMClassifier", attributes, inputs, outputs)


def _loops_over_steps() -> Model:
    """RNN, GRU and LSTM of ONNX on real numbers, with all that they may have."""
    files = [
        test_onnx_recurrent.recurrent(kind, attributes, **options)
        for kind, attributes, options in test_onnx_recurrent.CASES.values()
    ]
    graphs = (reference_graph(data, "m.onnx") for data in files)
    return side_by_side(dict(enumerate(graphs)))
