"""Front ends of float models as exporters write them, and the sounds that they are shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from glowmcu.ir.operation import Array
from tests.support.onnx_models import finished

RATE = 16000


def hann(length: int) -> Array:
    return np.asarray(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length))


def mel_bank(bins: int, channels: int, least: float = 20.0) -> Array:
    """Triangles `[bins, channels]` that peak at 1, as torchaudio's `melscale_fbanks` has them."""
    hertz = np.linspace(0, RATE / 2, bins)
    ends = [2595 * math.log10(1 + hz / 700) for hz in (least, RATE / 2)]
    peaks = 700 * (10 ** (np.linspace(*ends, channels + 2) / 2595) - 1)
    slopes, widths = peaks[np.newaxis] - hertz[:, np.newaxis], np.diff(peaks)
    sides = (-slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:])
    return np.maximum(np.minimum(*sides), 0).astype(np.float32)


def speech(generator: np.random.Generator, samples: int, level: float = 0.99) -> Array:
    """Syllables of harmonics under an envelope, noise between them."""
    time = np.arange(samples) / RATE
    pitch = 120 + 30 * np.sin(2 * np.pi * 2 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    x = np.zeros(samples)
    for h in range(1, 40):
        loud = np.exp(-(((h * 120 - 700) / 900) ** 2)) + 0.1 / h
        x += loud * np.sin(h * phase + generator.uniform(0, 6))
    envelope = np.clip(np.sin(2 * np.pi * 3 * time + generator.uniform(0, 6)), 0, 1) ** 2
    x = x * envelope + 0.02 * generator.normal(size=samples)
    return np.asarray(level * x / np.abs(x).max(), np.float32)


def noise(generator: np.random.Generator, samples: int, level: float = 0.99) -> Array:
    return np.asarray(level * np.clip(generator.normal(size=samples) / 4, -1, 1), np.float32)


def sounds(samples: int, seed: int = 1) -> list[Array]:
    """Speech and noise, at full scale and 40 dB below."""
    generator = np.random.default_rng(seed)
    return [
        make(generator, samples, level)
        for make in (speech, noise)
        for level in (0.99, 0.0099)
    ]  # fmt: skip


@dataclass
class FrontEnd:
    """An ONNX model in the making; each method appends what an exporter writes for it."""

    samples: int = 3200
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    last: str = "x"

    def add(self, kind: str, *operands: Any, before: bool = False, **attributes: Any) -> FrontEnd:
        """A node of the last value and constants, or of these and the last value."""
        onnx = pytest.importorskip("onnx", reason="pip install onnx")
        names = [item if isinstance(item, str) else self.constant(item) for item in operands]
        inputs = [*names, self.last] if before else [self.last, *names]
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(kind, inputs, [name], name=name, **attributes))
        self.last = name
        return self

    def constant(self, data: Any) -> str:
        onnx = pytest.importorskip("onnx", reason="pip install onnx")
        name = f"c{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(data), name))
        return name

    def model(self, shape: Sequence[int] | None = None) -> bytes:
        onnx = pytest.importorskip("onnx", reason="pip install onnx")
        value = onnx.helper.make_tensor_value_info
        x = value("x", onnx.TensorProto.FLOAT, shape or (1, self.samples))
        last = onnx.helper.make_node("Identity", [self.last], ["y"])
        y = onnx.ValueInfoProto(name="y")
        return finished(onnx, [*self.nodes, last], [x], [y], self.constants)

    def centred(self, pad: int, mode: str = "reflect") -> FrontEnd:
        """`center=True`: the signal as an image, padded, and back."""
        whole = np.array([0, 0, pad, 0, 0, pad])
        self.add("Reshape", np.array([1, 1, self.samples]))
        operands = (whole,) if mode != "constant" else (whole, np.float32(0))
        return self.add("Pad", *operands, mode=mode).add("Reshape", np.array([1, -1]))

    def stft(self, window: Array, step: int, length: int | None = None) -> FrontEnd:
        """`[1, frames, bins, 2]` of `[1, samples]`; the window stands in the middle of a frame."""
        length = length or window.size
        before = (length - window.size) // 2
        padded = np.pad(window, (before, length - window.size - before)).astype(np.float32)
        self.add("Unsqueeze", np.array([-1]))
        return self.add("STFT", np.array(step), padded, np.array(length), onesided=1)

    def power_of_complex(self) -> FrontEnd:
        """`stft(…).abs() ** 2` as torch.export has it: bins before frames."""
        self.add("Transpose", perm=[0, 2, 1, 3])
        self.add("ReduceL2", np.array([-1]), keepdims=0)
        return self.add("Pow", np.float32(2))

    def power_of_pairs(self) -> FrontEnd:
        """`view_as_real(…).pow(2).sum(-1)`, as the older exporter can have it."""
        self.add("Transpose", perm=[0, 2, 1, 3]).add("Pow", np.float32(2))
        return self.add("ReduceSum", np.array([-1]), keepdims=0)

    def power_of_parts(self) -> FrontEnd:
        """re * re + im * im of slices, frames before bins."""
        onnx = pytest.importorskip("onnx", reason="pip install onnx")
        make, spectrum, at = onnx.helper.make_node, self.last, len(self.nodes)
        for name, place in (("re", 0), ("im", 1)):
            ends = [self.constant(np.array([end])) for end in (place, place + 1, -1)]
            flat = self.constant(np.array([-1]))
            self.nodes += [
                make("Slice", [spectrum, *ends], [f"{name}{at}_s"]),
                make("Squeeze", [f"{name}{at}_s", flat], [f"{name}{at}"]),
                make("Mul", [f"{name}{at}"] * 2, [f"{name}{at}_2"]),
            ]
        self.nodes.append(make("Add", [f"re{at}_2", f"im{at}_2"], [f"power{at}"]))
        self.last = f"power{at}"
        return self

    def mel(self, bank: Array) -> FrontEnd:
        """torchaudio's MelScale: bins before frames, there and back."""
        self.add("Transpose", perm=[0, 2, 1]).add("MatMul", bank)
        return self.add("Transpose", perm=[0, 2, 1])

    def decibels(self, top: float | None = None) -> FrontEnd:
        """torchaudio's AmplitudeToDB of powers, as torch.export has it."""
        self.add("Clip", np.float32(1e-10)).add("Log")
        self.add("Div", np.float32(math.log(10))).add("Mul", np.float32(10))
        if top is not None:
            onnx = pytest.importorskip("onnx", reason="pip install onnx")
            logs = self.last
            self.add("ReduceMax", keepdims=1).add("Sub", np.float32(top))
            name = f"max_{len(self.nodes)}"
            self.nodes.append(onnx.helper.make_node("Max", [logs, self.last], [name], name=name))
            self.last = name
        return self

    def logarithm(self, little: float = 1e-6) -> FrontEnd:
        return self.add("Add", np.float32(little)).add("Log")


def front_end(samples: int = 3200) -> FrontEnd:
    """log(mel + 1e-6) of 25 ms in transforms of 512, 40 channels."""
    made = FrontEnd(samples).stft(hann(400), 160, 512).power_of_complex()
    return made.mel(mel_bank(257, 40)).logarithm()
