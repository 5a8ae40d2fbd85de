"""Small Keras networks by name, one for each kind of layer, and files of them.

    python -m benchmarks.converter_models.keras_layers DIR [NAME ...]

Needs TensorFlow. A file is DIR/NAME.FORM.tflite; one that is there stays.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
FORMS = ("float", "int8", "int16")
SEED = 1
_CALIBRATING = 8
_IMAGE, _SERIES, _MAPS = (16, 16, 3), (20, 6), (8, 8, 4)


def networks() -> dict[str, Callable[[], Any]]:
    """What makes a Keras model, by name."""
    import keras

    found: dict[str, Callable[[], Any]] = {}

    def add(name: str, shape: tuple[int, ...], *layers: Any, batch: int | None = None) -> None:
        def make() -> Any:
            given = keras.Input(shape, batch_size=batch)
            result = given
            for layer in layers:
                result = layer(result)
            return keras.Model(given, result)

        found[name] = make

    def join(name: str, function: Callable[..., Any], *shapes: tuple[int, ...]) -> None:
        def make() -> Any:
            given = [keras.Input(shape) for shape in shapes]
            return keras.Model(given, function(*given))

        found[name] = make

    _add_layers(add)
    _add_functions(join)
    for name in ("MobileNet", "MobileNetV2", "MobileNetV3Small", "EfficientNetB0"):
        make: Any = getattr(keras.applications, name)
        found[f"app_{name}"] = lambda make=make: make(
            input_shape=(64, 64, 3), weights=None, classes=10
        )
    return found


def _add_layers(add: Callable[..., None]) -> None:
    """Chains of layers."""
    from keras import layers as kl

    for kind in (
        "relu", "relu6", "softplus", "tanh", "sigmoid", "hard_sigmoid", "silu", "gelu", "hard_silu",
        "leaky_relu", "mish", "softmax", "log_softmax", "squareplus",
    ):  # fmt: skip
        add(f"act_{kind}", _MAPS, kl.Conv2D(8, 3), kl.Activation(kind))
        add(f"dense_{kind}", (12,), kl.Dense(10, activation=kind))
    add("prelu", _IMAGE, kl.Conv2D(8, 3), kl.PReLU(shared_axes=[1, 2]))
    add("conv2d_same_s2", _IMAGE, kl.Conv2D(8, 3, strides=2, padding="same"))
    add("conv2d_dil", _IMAGE, kl.Conv2D(8, 3, dilation_rate=2, padding="same"))
    add("conv2d_groups", (8, 8, 8), kl.Conv2D(8, 3, groups=4))
    add("conv2d_asym", _IMAGE, kl.Conv2D(8, (5, 2), strides=(2, 1), padding="same"))
    add("sep", _IMAGE, kl.SeparableConv2D(8, 3))
    add("sep1d", _SERIES, kl.SeparableConv1D(8, 3))
    add("convT", _MAPS, kl.Conv2DTranspose(6, 3, strides=2, padding="same"))
    add("convT1d", _SERIES, kl.Conv1DTranspose(6, 3, strides=2, padding="same"))
    add("conv1d_causal", _SERIES, kl.Conv1D(8, 3, padding="causal", dilation_rate=2))
    add("conv1d", _SERIES, kl.Conv1D(8, 3, strides=2, activation="relu"))
    add("conv3d", (6, 6, 6, 2), kl.Conv3D(4, 3, padding="same"))
    add("maxpool2d_same", _IMAGE, kl.MaxPooling2D(3, strides=2, padding="same"))
    add("avgpool2d_same", _IMAGE, kl.AveragePooling2D(3, strides=2, padding="same"))
    add("maxpool1d", _SERIES, kl.MaxPooling1D(2))
    add("GlobalAveragePooling2D", _IMAGE, kl.Conv2D(5, 3), kl.GlobalAveragePooling2D())
    add("zeropad2d", _IMAGE, kl.ZeroPadding2D(((1, 2), (0, 3))), kl.Conv2D(4, 3))
    add("crop2d", _IMAGE, kl.Cropping2D(((1, 2), (0, 3))))
    for kind in ("nearest", "bilinear"):
        add(f"up2d_{kind}", (6, 6, 3), kl.UpSampling2D(2, interpolation=kind))
    add("rescaling", _IMAGE, kl.Rescaling(1 / 127.5, -1), kl.Conv2D(4, 3))
    add("bn", _IMAGE, kl.Conv2D(4, 3), kl.BatchNormalization(), kl.ReLU())
    add("ln", _SERIES, kl.LayerNormalization())
    add("gn", (8, 8, 8), kl.GroupNormalization(4))
    add("flatten", _IMAGE, kl.Conv2D(4, 3), kl.Flatten(), kl.Dense(5))
    add("td_dense", _SERIES, kl.TimeDistributed(kl.Dense(5, activation="relu")))
    add("einsum", _SERIES, kl.EinsumDense("abc,cd->abd", output_shape=(None, 7), bias_axes="d"))
    add("lstm_unroll", (6, 4), kl.LSTM(5, unroll=True))
    add("lstm_b1", _SERIES, kl.LSTM(5), batch=1)


def _add_functions(join: Callable[..., None]) -> None:
    """Layers and operations of several operands, and such that are no layers."""
    from keras import layers as kl
    from keras import ops

    for kind in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"):
        join(kind, lambda a, b, kind=kind: getattr(kl, kind)()([a, b]), (6, 6, 4), (6, 6, 4))
    join("mul_bcast", lambda a, b: kl.Multiply()([a, b]), (6, 6, 4), (1, 1, 4))
    join("mha", lambda a: kl.MultiHeadAttention(2, 4)(a, a), (6, 8))
    join("attention", lambda a, b: kl.Attention()([a, b]), (6, 8), (5, 8))
    join("op_take", lambda a: ops.take(a, [0, 2, 1], axis=1), (4, 5))
    join("op_meshgather", lambda a: ops.take_along_axis(a, ops.argsort(a, -1), -1), (4, 5))
    join("op_slice", lambda a: a[:, 1:4:2, ::-1], (6, 5))
    join("red_logsumexp", lambda a: ops.cast(ops.logsumexp(a, axis=-1), "float32"), (4, 5))


def _samples(model: Any) -> Iterator[list[Any]]:
    random = np.random.default_rng(0)
    for _ in range(_CALIBRATING):
        yield [random.normal(size=(1, *x.shape[1:])).astype(np.float32) for x in model.inputs]


def converted(model: Any, form: str) -> bytes:
    """By TensorFlow's converter."""
    import tensorflow as tf

    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if form != "float":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: _samples(model)
        kinds = tf.lite.OpsSet
        is_int8 = form == "int8"
        converter.target_spec.supported_ops = [
            kinds.TFLITE_BUILTINS_INT8
            if is_int8
            else kinds.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        ]
        converter.inference_input_type = tf.int8 if is_int8 else tf.int16
        converter.inference_output_type = converter.inference_input_type
    data: bytes = converter.convert()
    return data


def main() -> None:
    """What the converter refuses is said, and no file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.converter_models.keras_layers")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    import keras

    keras.utils.set_random_seed(SEED)
    for name, make in networks().items():
        if asked.names and name not in asked.names:
            continue
        for form in ("float", "int8") if name.startswith("app_") else FORMS:
            file = asked.folder / f"{name}.{form}.tflite"
            if file.is_file():
                continue
            try:
                file.write_bytes(converted(make(), form))
            except Exception as cause:  # noqa: BLE001 - whatever it raises, it is the converter's
                print(f"{name}.{form}: {str(cause).strip().splitlines()[0][:160]}", flush=True)


if __name__ == "__main__":
    main()
