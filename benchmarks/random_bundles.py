"""Bundles of random models, compiled for random cores, goals and ways of input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.random_layers import FAMILIES, random_model
from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.goals import Goal
from glowmcu.input_options import InputOptions
from glowmcu.interface_options import InterfaceOptions
from glowmcu.pipeline import compile_model
from tests.hostile.operator_models import OPERATOR_MODELS
from tests.memplan.foreign_models import MODELS, POINT, Network
from tests.memplan.spatial_models import Image, Window

Generator = np.random.Generator
CORES = (
    "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55",
    "rv32imac", "generic",
)  # fmt: skip
#: Drawn from: with another one more the bundles that records are of would be others.
_GOALS = (Goal.BALANCED, Goal.SPEED, Goal.SIZE, Goal.RAM)
_LAYERS = 6
#: Shares of what is drawn: layers side by side, random chains, blocks of known networks, operators.
_KINDS, _SHARES = ("layers", "chain", "block", "operators"), (0.4, 0.4, 0.1, 0.1)


@dataclass(frozen=True)
class RandomBundle:
    """A compiled model and, in words, what was drawn: `seed` alone makes it again."""

    seed: int
    text: str
    compilation: Compilation


def random_bundle(
    seed: int, core: str | None = None, kind: str | None = None, steps: bool = False
) -> RandomBundle:
    """The bundle of that number. A way of input that the model has not falls back to the usual.
    Of one whose run may be done in `steps` no input is streamed.
    """
    random = np.random.default_rng([77, seed])
    drawn = str(random.choice(_KINDS, p=_SHARES))
    core = core or CORES[seed % len(CORES)]
    goal = _GOALS[int(random.integers(len(_GOALS)))]
    simplify = bool(random.integers(4))
    text, data = _model(random, seed, kind or drawn)
    for inputs, way in _ways(random, data):
        options = Options("net", core=core, goal=goal, simplify=simplify, inputs=inputs,
                          interface=InterfaceOptions(steps=steps))  # fmt: skip
        try:
            compilation = compile_model(data, "net.tflite", options)
        except GlowmcuError:
            if way == "inside":
                raise
            continue
        said = f"seed {seed}: {text}, {core}, {goal.value}, input {way}"
        return RandomBundle(seed, said + ("" if simplify else ", not simplified"), compilation)
    raise AssertionError("the usual way is the last")


def _ways(random: Generator, data: bytes) -> Iterator[tuple[InputOptions, str]]:
    """What is tried, in order; names of inputs are those that the front end gives them."""
    way = ("inside", "streamed", "external", "kept")[int(random.integers(4))]
    if way != "inside":
        compilation = compile_model(data, "net.tflite", Options("net"))
        name = compilation.imported.inputs[0].name
        yield InputOptions(**{way: (name,)}), way  # type: ignore[arg-type]
    yield InputOptions(), "inside"


def _model(random: Generator, seed: int, kind: str) -> tuple[str, bytes]:
    if kind == "layers":
        family = str(random.choice(sorted(FAMILIES)))
        first = int(random.integers(10_000))
        numbers = range(first, first + _LAYERS)
        return f"{family} {first} to {first + _LAYERS - 1}", random_model(family, seed, numbers)
    if kind == "chain":
        return "a chain", _chain(random, seed)
    models = MODELS if kind == "block" else OPERATOR_MODELS
    name = str(random.choice(sorted(models)))
    return name, models[name]()


def _chain(random: Generator, seed: int) -> bytes:
    """A network of three to seven layers over an image of any size."""
    model = Network(seed)
    height, width, channels = (int(random.integers(low, high)) for low, high in _SIZES)
    x = model.input(height, width, channels)
    others = []
    for _ in range(int(random.integers(3, 8))):
        before, x = x, _layer(random, model, x)
        if x.shape == before.shape and random.integers(2):
            x = model.add(x, before)
        if random.integers(5) == 0:
            others.append(x)
    return model.finish(x, *(other for other in others[:1] if other is not x))


_SIZES = ((5, 21), (1, 21), (1, 9))


def _layer(random: Generator, model: Network, x: Image) -> Image:
    height, width, _ = x.shape
    kernel = (
        min(int(random.choice((1, 2, 3, 3, 5))), height),
        min(int(random.choice((1, 3))), width),
    )
    stride = (1, 1) if random.integers(3) else (2, 2)
    window = Window(kernel, stride, padding=str(random.choice(("SAME", "VALID"))))
    activation = str(random.choice(("NONE", "RELU")))
    channels = int(random.integers(1, 21))
    match int(random.integers(5)):
        case 0:
            return model.depthwise(x, window, int(random.integers(1, 3)), activation)
        case 1:
            return model.pool(x, str(random.choice(("MAX_POOL_2D", "AVERAGE_POOL_2D"))), window)
        case 2:
            return model.conv(x, channels, POINT, activation)
        case _:
            return model.conv(x, channels, window, activation)
