"""Subjects whose model is more than a network of integers: float ones that are quantized, such that
learn, pipelines, and runs of any size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import glowmcu
from benchmarks.differential_subjects import (
    MEANING,
    Inputs,
    Subject,
    Wanted,
    bound,
    camera,
    carried,
    compared,
    facts_of,
    four_bits,
    network_subject,
    other_numbers,
    plain,
    sliding,
)
from benchmarks.random_draws import Generator, pick
from benchmarks.random_float import random_float_network
from glowmcu.api.pipeline_files import read_pipeline
from glowmcu.api.verification import expected_outputs
from glowmcu.compilation import Options
from glowmcu.manifest import TensorEntry
from glowmcu.multirate.compilation import compile_pipeline
from glowmcu.verify.measurement import Array
from tests.learning.fixed_models import Network
from tests.support.open_models import MODELS, open_model, sequence
from tests.support.oracle import open_tflm
from tests.support.pipelines import random_pipeline

_SCHEMAS = ("asymmetric", "symmetric", "symmetric_with_uint8", "symmetric_with_power2_scale")
_CALIBRATIONS = ("minmax", "percentile:99.9", "mse", "entropy")
_SAMPLES, _RUNS = 6, 24
#: Runs before the first that learns.
_BEFORE = 3


def quantized(seed: int, random: Generator, folder: Path) -> Subject:
    """A float network in int8, as TensorFlow Lite Micro computes the file that `export` makes."""
    data, shape = random_float_network(random)
    file, exported = folder / "real.tflite", folder / "network.tflite"
    file.write_bytes(data)
    samples = random.normal(0, 1, (_SAMPLES, *shape[1:])).astype(np.float32)
    choices, modes = _choices(random)
    chosen = {"quantization": glowmcu.Quantization(**choices)}
    given: dict[str, Any] = {"samples": samples}
    if random.random() < 0.3 and "four bits" not in modes:
        profile = folder / "profile.json"
        glowmcu.profile(file, samples, output=profile)
        choices.pop("adaround", None)
        chosen, given = {"quantization": glowmcu.Quantization(**choices)}, {"profile": profile}
        modes = (*modes, "profile")
    glowmcu.export(file, exported, **chosen, **given)
    session = open_tflm(exported.read_bytes())

    def wanted(_: glowmcu.Bundle, inputs: Inputs) -> Wanted:
        return [[np.asarray(output) for output in session(arrays)] for arrays in inputs]

    return Subject(file, ("x",), facts_of(exported.read_bytes()).operators, wanted,
                   arguments={**chosen, **given}, modes=modes, is_float=True)  # fmt: skip


def _choices(random: Generator) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Arguments of `Quantization`, and what they are called."""
    drawn: dict[str, Any] = {"search": "automatic" if random.random() < 0.1 else "plain"}
    modes = ["quantized here"]
    for chance, name, mode, value in (
        (0.4, "schema", "schema", pick(random, _SCHEMAS)),
        (0.4, "calibration", "calibration", pick(random, _CALIBRATIONS)),
        (0.3, "io", "io", pick(random, ("int8", "uint8", "float"))),
        (0.2, "per_tensor_weights", "one scale of weights", True),
        (0.2, "bias_correction", "bias correction", bool(random.random() < 0.5)),
        (0.2, "equalize", "equalized", True),
        (0.1, "adaround", "adaround", True),
        (0.1, "int16", "int16", ["all"]),
        (0.1, "keep_float", "kept float", [pick(random, ("conv_2d", "softmax", "dense_9"))]),
        (0.35, "weights", "four bits", pick(random, (4, 4, "mixed"))),
    ):
        if random.random() < chance:
            drawn[name] = value
            modes.append(mode)
    return drawn, tuple(modes)


def learning(seed: int, random: Generator, folder: Path) -> Subject:
    """A classifier that learns: what it says before it did is the network's, then a step is what
    the Python reference makes of it.
    """
    file = folder / "network.tflite"
    network, layers = _classifier(random)
    made = network_subject(network, folder)
    arguments, modes = _what_learns(random, layers)
    # Layers that learn in real numbers do not round what comes between them.
    is_network = arguments.get("train_numbers") == "fixed"

    def draw(bundle: glowmcu.Bundle, random: Generator) -> list[list[Array]]:
        training = bundle.manifest.training
        assert training is not None
        found = []
        for run in range(12):
            x, *asked = bundle.manifest.inputs
            arrays: list[Array] = [random.integers(-128, 128, x.shape).astype(x.dtype)]
            for entry in asked:
                if entry.name == training.target:
                    arrays.append(random.uniform(0, 1, entry.shape).astype(np.float32))
                else:
                    label = -1 if run < _BEFORE else int(random.integers(-1, training.classes + 1))
                    arrays.append(np.full(entry.shape, label, np.int32))
            found.append(arrays)
        return found

    def wanted(bundle: glowmcu.Bundle, inputs: Inputs) -> Wanted:
        given = [tuple(arrays) for arrays in inputs]
        meaning: Wanted = list(expected_outputs(bundle, given, file, {}, None)[0])
        if not is_network:
            return meaning
        # Until something is learnt a run is the network's.
        for run, (x, *_) in enumerate(inputs[:_BEFORE]):
            outputs = meaning[run]
            assert outputs is not None
            meaning[run] = [*made.wanted(bundle, [[x]])[0], outputs[-1]]
        return meaning

    return replace(made, wanted=wanted, oracle=MEANING, arguments=arguments, modes=modes,
                   takes_modes=False, has_states=True, draw_inputs=draw,
                   differs=compared if is_network else _differs_in_steps)  # fmt: skip


def _differs_in_steps(got: Array, want: Array, entry: TensorEntry) -> str:
    """Steps in float32 go on with each other's roundings: they are compared as tests of learning
    do it.
    """
    if entry.exact or got.dtype != np.float32:
        return compared(got, want, entry)
    is_near = np.isclose(got, want, rtol=1e-3, atol=1e-6)
    return "" if is_near.all() else f"output {entry.name!r}: {got} for {want}"


def _classifier(random: Generator) -> tuple[bytes, int]:
    """One to four layers of convolutions and pooling, and classes; how many have weights."""
    sizes = (int(random.integers(4, 11)), int(random.integers(4, 11)), int(random.integers(1, 5)))
    network, layers = Network((1, *sizes), seed=int(random.integers(1 << 30))), 1
    for _ in range(int(random.integers(0, 4))):
        kernel = tuple(int(n) for n in random.integers(1, 4, 2))
        activation = str(pick(random, ("RELU", "NONE", "RELU6")))
        match int(random.integers(5)):
            case 0 | 1:
                depth, stride = int(random.integers(1, 14)), int(random.integers(1, 3))
                network.convolution(depth, kernel, stride, activation=activation)
            case 2:
                network.convolution(0, kernel, multiplier=int(random.integers(1, 3)))
            case 3:
                network.residual(kernel)
            case _:
                network.greatest((2, 2), 2)
                layers -= 1
        layers += 1
    network = network.mean() if random.random() < 0.5 else network.flat()
    return network.classes(int(random.integers(2, 7)), bool(random.random() < 0.8)), layers


def _what_learns(random: Generator, layers: int) -> tuple[dict[str, Any], tuple[str, ...]]:
    kind, last = int(random.integers(8)), f"last={int(random.integers(1, layers + 1))}"
    if kind == 0:
        return {"train": f"prototypes={int(random.integers(2, 6))}"}, ("learns", "prototypes")
    if kind == 1:
        what = f"neighbours={int(random.integers(2, 5))}x{int(random.integers(1, 4))}"
        return {"train": what}, ("learns", "neighbours")
    if kind == 2:
        return {"train": "normal"}, ("learns", "normality")
    numbers = str(pick(random, ("fixed", "fixed", "float32")))
    arguments: dict[str, Any] = {"train": last, "train_numbers": numbers}
    modes = ["learns", f"learns in {numbers}"]
    if random.random() < 0.25:
        arguments["train"] += ",bias"
    if random.random() < 0.25 and numbers == "fixed":
        arguments["train"] += f",channels={int(random.integers(1, 101))}%"
    for chance, name, mode, value in (
        (0.25, "loss", "squared error", "squared-error"),
        (0.4, "learning_rate", "learning rate", float(pick(random, (0.001, 0.05, 0.5)))),
        (0.4, "momentum", "momentum", float(pick(random, (0.5, 0.9)))),
    ):
        if random.random() < chance:
            arguments[name] = value
            modes.append(mode)
    return arguments, tuple(modes)


def pipeline(seed: int, random: Generator, folder: Path) -> Subject:
    """Stages with rates of their own, and a decision at their end."""
    made = random_pipeline(seed)
    file = made.write(folder)
    rates = compile_pipeline(read_pipeline(file), Options("pipe")).imported.rates
    hop, rows, channels = made.hops[0], made.networks[0].rows, made.networks[0].channels

    def draw(bundle: glowmcu.Bundle, random: Generator) -> list[list[Array]]:
        (entry,) = bundle.manifest.inputs
        samples = random.integers(-128, 128, (hop * _RUNS, channels)).astype(np.int8)
        # Windows of the first stage begin where samples do.
        shifted = np.concatenate([np.zeros((-rows % hop, channels), np.int8), samples])
        return [
            [shifted[hop * k : hop * (k + 1)].reshape(entry.shape)]
            for k in range(len(shifted) // hop)
        ]

    def wanted(_: glowmcu.Bundle, inputs: Inputs) -> Wanted:
        before = -rows % hop
        samples = np.concatenate([x.reshape(hop, channels) for (x,) in inputs])[before:]
        results, now, found = made.push(samples), None, []
        for run in range(len(inputs)):
            if rates[-1].is_due(run):
                now = results.pop(0) if results else None
            found.append(now)
        return list(found)

    operators = tuple({word for item in made.networks for word in facts_of(item.data).operators})
    return Subject(file, (), operators, wanted, MEANING, modes=("pipeline",), takes_modes=False,
                   has_states=True, draw_inputs=draw)  # fmt: skip


def open_size(seed: int, random: Generator, folder: Path) -> Subject:
    """A sequence of which each run is given a length, or one whose length is fixed."""
    name = str(pick(random, tuple(MODELS)))
    file = folder / "network.onnx"
    file.write_bytes(open_model(name))
    smallest, step = int(random.integers(1, 9)), int(pick(random, (1, 1, 2, 3)))
    largest = smallest + step * int(random.integers(1, 6))
    kind = int(random.integers(4))
    arguments: dict[str, Any] = {"define": {"T": (smallest, largest, step)}}
    modes = ("open size",)
    if kind == 0:
        arguments, modes = {"define": {"T": largest}}, ("fixed size",)
    elif kind == 1:
        arguments, modes = {"input_shapes": {"x": (1, largest, 8)}}, ("fixed shape",)
    profile = None
    if random.random() < 0.6:
        profile = folder / "profile.json"
        samples = np.stack([sequence(largest, number) for number in range(_SAMPLES)])
        glowmcu.profile(file, {"x": samples}, output=profile, define={"T": largest})
        arguments |= {"profile": profile}
        modes = (*modes, "profile")

    def draw(bundle: glowmcu.Bundle, random: Generator) -> list[list[Array]]:
        manifest, found = bundle.manifest, []
        for _ in range(6):
            at = manifest
            if manifest.size is not None:
                at = manifest.at(int(pick(random, tuple(manifest.size.sizes))))
            arrays = []
            for entry in at.inputs:
                drawn = random.normal(0, 1, entry.shape)
                if entry.dtype != "float32":
                    drawn = random.integers(-128, 128, entry.shape)
                arrays.append(drawn.astype(entry.dtype))
            found.append(arrays)
        return found

    def wanted(bundle: glowmcu.Bundle, inputs: Inputs) -> Wanted:
        given = [tuple(arrays) for arrays in inputs]
        return list(expected_outputs(bundle, given, file, {}, profile)[0])

    return Subject(file, ("x",), (name,), wanted, MEANING, arguments, modes, takes_modes=False,
                   draw_inputs=draw)  # fmt: skip


#: What a seed is, and how often.
KINDS: dict[str, tuple[float, Callable[[int, Generator, Path], Subject]]] = {
    "plain": (0.28, plain), "four bits": (0.08, four_bits), "carried": (0.05, carried),
    "bound": (0.05, bound), "sliding": (0.07, sliding), "other numbers": (0.08, other_numbers),
    "camera": (0.05, camera), "quantized": (0.1, quantized), "learning": (0.13, learning),
    "pipeline": (0.06, pipeline), "open size": (0.05, open_size),
}  # fmt: skip


def draw_subject(seed: int, random: Generator, folder: Path) -> Subject:
    """What the seed compiles. Raises OracleRefused, GlowmcuError for what cannot be quantized."""
    shares = [share for share, _ in KINDS.values()]
    kind = str(random.choice(list(KINDS), p=shares))
    return KINDS[kind][1](seed, random, folder)
