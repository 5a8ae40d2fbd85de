"""The bundles that `benchmarks.misra` looks at: every family of cores and of kernels, every way in
which constants lie in flash, and every form of the C interface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import glowmcu
from benchmarks.random_layers import random_model
from benchmarks.random_networks import random_network
from glowmcu.board import PlacementRequest, find_board
from glowmcu.compilation import Options
from glowmcu.frontend.read_model import read_model
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.input_options import InputOptions
from glowmcu.instrument import Instrument
from glowmcu.interface_options import InterfaceOptions, Weights
from glowmcu.pipeline import compile_model
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.request import QuantizationRequest
from glowmcu.quant.sample_source import SampleSource
from tests.bundle.models import SHARED, digits, float_borders, rows_and_offsets, two_in_two_out
from tests.conftest import REPO
from tests.delegation.models import ACME, acme, chain, several_outputs
from tests.ops.test_convolution import Case, conv_model
from tests.support.check_model import write_bundle
from tests.support.lstm_models import LstmCase, SvdfCase, lstm_model, svdf_model
from tests.support.open_models import open_model
from tests.support.stream_models import random_stream_model

_CORES = (
    "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55",
    "cortex-m85", "rv32imc", "hazard3", "generic",
)  # fmt: skip
#: Of each family of kernels one core, whose whole networks and random layers are looked at.
_FAMILY_CORES = ("cortex-m0plus", "cortex-m4", "cortex-m55")
_FAMILIES = ("conv_2d", "depthwise_conv_2d", "fully_connected", "elementwise", "reduction")
#: Kernels for these are the portable ones wherever there are none for the core.
_PORTABLE_FAMILIES = (
    "pool_2d", "extremes", "normalization", "function", "matmul", "transpose_conv_2d", "movement",
)  # fmt: skip
_WIDE_FAMILIES = ("conv_2d of int16", "depthwise_conv_2d of int16", "fully_connected of int16")


@dataclass(frozen=True)
class Checked:
    """A bundle's model and how it is compiled. `board` is one whose memories decide what is copied
    before it is used; `quantization` makes int8 of a float model.
    """

    model: Callable[[], bytes]
    core: str
    goal: Goal = Goal.BALANCED
    inputs: InputOptions = field(default_factory=InputOptions)
    interface: InterfaceOptions = field(default_factory=InterfaceOptions)
    instrument: Instrument = Instrument.OFF
    board: str = ""
    quantization: QuantizationOptions | None = None

    def write(self, folder: Path) -> Path:
        """The bundle `net` in `folder`."""
        data = self.model()
        board = find_board(self.board) if self.board else None
        options = Options(
            "net",
            core=self.core,
            goal=self.goal,
            inputs=self.inputs,
            interface=self.interface,
            instrument=self.instrument,
            quantization=None if self.quantization is None else self._request(data),
            placement=PlacementRequest(board),
        )
        return write_bundle(compile_model(data, "net.tflite", options), folder)

    def _request(self, data: bytes) -> QuantizationRequest:
        assert self.quantization is not None
        generator = np.random.default_rng(8)
        samples = {
            value.name: generator.normal(0, 1, (4, *value.type.shape[1:])).astype(np.float32)
            for value in read_model(data, "net.tflite").arguments
        }
        return QuantizationRequest(self.quantization, samples=SampleSource(samples))


@dataclass(frozen=True)
class Asked:
    """A bundle as `glowmcu.compile` makes it: `model` is a file's path or its bytes, `options` are
    keyword arguments; `core` is the board's.
    """

    model: Callable[[], bytes | Path]
    core: str
    options: Mapping[str, Any] = field(default_factory=dict)
    accelerator: str = ""

    def write(self, folder: Path) -> Path:
        """The bundle `net` in `folder`."""
        options = dict(self.options)
        if self.accelerator:
            folder.parent.mkdir(parents=True, exist_ok=True)
            options["accelerator"] = acme(folder.parent, self.accelerator)
        return glowmcu.compile(self.model(), output=folder, name="net", **options).path


def _shared(name: str) -> bytes:
    return (SHARED / f"{name}.tflite").read_bytes()


def _softmax_of_int16() -> bytes:
    model = ModelBuilder()
    x = model.input("x", (2, 10), "int16", 1 / 4096, 0)
    y = model.tensor("y", (2, 10), "int16", 1 / 32768, 0)
    model.op("SOFTMAX", [x], [y], {"beta": 1.0})
    model.output(y)
    return model.finish()


def _functions_of_int16() -> bytes:
    """Roots, tables, one of them steep, a quotient, slopes, a comparison."""
    model = ModelBuilder()

    def made(kind: str, operands: list[Any], scale: float | None, dtype: str = "int16") -> Any:
        y = model.tensor(kind[:6].lower(), (1, 8, 32), dtype, scale, 0)
        model.op(kind, operands, [y], {})
        return y

    x = model.input("x", (1, 8, 32), "int16", 1e-3, 0)
    slopes = model.constant("slopes", np.full(32, 5000, np.int16), 2.0**-15)
    size = made("ABS", [x], 1e-3)
    root = made("SQRT", [size], 2e-4)
    quotient = made("DIV", [made("EXP", [root], 3e-3), root], 5e-2)
    square = made("SQUARED_DIFFERENCE", [made("PRELU", [x, slopes], 1e-3), root], 5e-3)
    wide = model.input("wide", (1, 8, 32), "int16", 1.0, 0)
    for y in (quotient, square, made("RSQRT", [size], 1e-3), made("LOG", [wide], 1.6e-4)):
        model.output(y)
    model.output(made("LESS", [x, root], None, "bool"))
    return model.finish()


def _wide_windows() -> bytes:
    return conv_model(
        "DEPTHWISE_CONV_2D", Case((1, 9, 10, 8), 8, (5, 5), padding="SAME", out_scale=2.0)
    )


_FOUR_BITS = QuantizationOptions(four_bit_weights=("all",))


def bundles() -> dict[str, Checked | Asked]:
    """All that is checked, by name."""
    found: dict[str, Checked | Asked] = {
        f"digits, {core}": Checked(digits, core) for core in _CORES
    }
    found |= _interfaces() | _small_models() | asked()
    for core in _FAMILY_CORES:
        found |= _constants(core)
        for name in ("kws_int8", "sww_int8", "kws_float"):
            found[f"{name}, {core}"] = Checked(partial(_shared, name), core)
        for family in (*_FAMILIES, *_WIDE_FAMILIES):
            found[f"random {family}, {core}"] = _random(family, core)
    found["ad_float in four bits, cortex-m0plus"] = Checked(
        partial(_shared, "ad_float"), "cortex-m0plus", Goal.SIZE, quantization=_FOUR_BITS
    )
    for family in _FAMILIES[:3]:
        found[f"random {family}, hazard3"] = _random(family, "hazard3")
    for core in ("cortex-m0plus", "cortex-m55"):
        for family in ("pool_2d", "transpose_conv_2d"):
            found[f"random {family}, {core}"] = _random(family, core)
    for family in _PORTABLE_FAMILIES:
        found[f"random {family}, cortex-m4"] = _random(family, "cortex-m4")
    return found


def _random(family: str, core: str) -> Checked:
    return Checked(partial(random_model, family, 5, range(8)), core)


def _constants(core: str) -> dict[str, Checked]:
    """Constants that are decoded, unpacked or exchanged; rows of a cascade."""
    dense, small = partial(_shared, "ad_int8"), partial(_shared, "kws_int8")
    return {
        f"ad_int8 for flash, {core}": Checked(dense, core, Goal.FLASH),
        f"kws_int8 for ram, {core}": Checked(small, core, Goal.RAM),
        f"kws_float in four bits, {core}": Checked(
            partial(_shared, "kws_float"), core, Goal.SIZE, quantization=_FOUR_BITS
        ),
        f"kws_int8 by a pointer, {core}": Checked(
            small, core, interface=InterfaceOptions(weights=Weights.POINTER)
        ),
    }


def asked() -> dict[str, Asked]:
    """Every option that adds files, entry points or C of its own to a bundle."""
    m0, m4, m55 = ("cortex-m0plus", "rp2040"), ("cortex-m4", "nrf52"), ("cortex-m55", "mps3-an547")
    wake_word = REPO / "examples" / "wake_word"
    models: dict[str, tuple[Callable[[], bytes | Path], dict[str, Any]]] = {
        "learning last=2": (digits, {"train": "last=2", "momentum": 0.5}),
        "learning in fixed point": (digits, {"train": "last=3", "train_numbers": "fixed"}),
        "prototypes": (digits, {"train": "prototypes=3,last=1"}),
        "neighbours": (digits, {"train": "neighbours=3x4"}),
        "what is normal": (digits, {"train": "normal"}),
        "open attention": (partial(open_model, "attention"), {"define": {"T": (1, 21)}}),
        "open convolutions": (partial(open_model, "convolutions"), {"define": {"T": (1, 21)}}),
        "a pipeline": (lambda: wake_word / "wake_word.toml", {}),
        "a sliding window": (
            lambda: wake_word / "wake_word_int8.tflite", {"slide": {"features": 3}}
        ),
        "a camera": (digits, {"camera": {"pixels": "rgb565:32x24"}}),
        "labels and steps": (digits, {"labels": list("0123456789"), "steps": True}),
    }  # fmt: skip
    found = {
        f"{name}, {core}": Asked(model, core, {**options, "board": board})
        for name, (model, options) in models.items()
        for core, board in (m0, m4, m55)
    }
    for goal in ("balanced", "size"):
        options = {"board": "rp2040", "optimize": goal}
        found[f"a forest for {goal}, cortex-m0plus"] = Asked(
            partial(_classical, "sk_forest"), "cortex-m0plus", options
        )
    found["a forest, cortex-m4"] = Asked(
        partial(_classical, "sk_forest"), "cortex-m4", {"board": "nrf52"}
    )
    found["nearest neighbours, cortex-m4"] = Asked(
        partial(_classical, "sk_knn"), "cortex-m4", {"board": "nrf52"}
    )
    found["digits placed, cortex-m7"] = Asked(
        digits,
        "cortex-m7",
        {"board": "nucleo-h743zi", "place": {"arena": "dtcm", "code": "itcm", "weights": "dtcm"}},
    )
    found["hooks of an accelerator, cortex-m4"] = Asked(
        several_outputs, "cortex-m4", {"board": "nrf52"}, ACME
    )
    found["an Ethos-U, cortex-m55"] = Asked(
        chain, "cortex-m55", {"board": "mps3-an547", "accelerator": "ethos-u55-128"}
    )
    return found


def _classical(name: str) -> Path:
    return SHARED.parent / "repro" / "models" / f"{name}.onnx"


def _interfaces() -> dict[str, Checked]:
    """Every entry point that a bundle can have."""
    m4, steps = "cortex-m4", InterfaceOptions(steps=True)
    return {
        "digits on two cores, cortex-m0plus": Checked(
            digits, "cortex-m0plus", interface=InterfaceOptions(cores=2)
        ),
        "digits on two cores of different kinds, cortex-m7": Checked(
            digits, "cortex-m7", interface=InterfaceOptions(cores=2), board="stm32h745"
        ),
        "rows streamed, cortex-m4": Checked(
            rows_and_offsets, m4, inputs=InputOptions(streamed=("lines",))
        ),
        "digits in steps, cortex-m4": Checked(digits, m4, Goal.RAM, interface=steps),
        "digits outside, cortex-m4": Checked(
            digits, m4, inputs=InputOptions(external=("pixels",)), interface=steps
        ),
        "digits observed, cortex-m4": Checked(digits, m4, instrument=Instrument.TENSORS),
        "digits with labels, cortex-m4": Checked(
            digits, m4, interface=InterfaceOptions(labels=tuple("0123456789"))
        ),
        "two in two out, cortex-m4": Checked(two_in_two_out, m4),
        "copied from slow flash, cortex-m4": Checked(
            partial(random_network, 165), m4, board="nrf52"
        ),
        "copied by a DMA, cortex-m4": Checked(
            partial(_shared, "kws_int8"),
            m4,
            board="nrf52",
            interface=InterfaceOptions(prefetch=True),
        ),
    }


def _small_models() -> dict[str, Checked]:
    """Layers that no network of those above has."""
    found = {
        "float borders, cortex-m4": Checked(float_borders, "cortex-m4"),
        "vww_float for speed, cortex-m4": Checked(
            partial(_shared, "vww_float"), "cortex-m4", Goal.SPEED
        ),
        "softmax of int16, cortex-m4": Checked(_softmax_of_int16, "cortex-m4"),
        "functions of int16, cortex-m4": Checked(_functions_of_int16, "cortex-m4"),
        "wide windows, cortex-m4": Checked(_wide_windows, "cortex-m4"),
        "stream, cortex-m4": Checked(partial(random_stream_model, 6), "cortex-m4"),
    }
    for core in ("cortex-m4", "generic"):
        found[f"lstm, {core}"] = Checked(partial(lstm_model, LstmCase()), core)
        found[f"lstm of int16, {core}"] = Checked(
            partial(lstm_model, LstmCase(dtype="int16")), core
        )
        found[f"svdf, {core}"] = Checked(partial(svdf_model, SvdfCase()), core)
    return found
