"""Small PyTorch modules by name, files of them by LiteRT Torch, and these by AI Edge Quantizer.

    python -m benchmarks.converter_models.torch_modules DIR [NAME ...]

Needs litert-torch and ai-edge-quantizer. Files are DIR/lt_NAME.float.tflite, and
DIR/aq_NAME.RECIPE.tflite for those of `QUANTIZED`; one that is there stays.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

#: Of AI Edge Quantizer.
RECIPES = (
    "static_wi8_ai8", "static_wi8_ai16", "dynamic_wi8_afp32", "dynamic_wi4_afp32",
    "weight_only_wi8_afp32", "dynamic_wi4b32_afp32", "dynamic_wi2c_afp32", "dynamic_wi2b32_afp32",
    "dynamic_wi4c_hr_afp32",
)  # fmt: skip
QUANTIZED = ("lin", "cnn", "tr", "emb", "ct")
_CALIBRATING = 4


#: A module and what it is called with, by name.
Modules = dict[str, tuple[Any, tuple[Any, ...]]]


class Operands:
    """What most modules are called with."""

    def __init__(self) -> None:
        from torch import randn

        self.image, self.maps, self.series = (
            (randn(1, 3, 16, 16),), (randn(1, 8, 6, 6),), (randn(1, 4, 20),),
        )  # fmt: skip
        self.steps, self.row = (randn(1, 7, 6),), (randn(1, 6),)


def modules() -> Modules:
    """All of them, drawn one after another from one seed."""
    import torch

    torch.manual_seed(0)
    operands = Operands()
    return {**_layers(operands), **_functions(operands), **_networks(operands)}


def _layers(given: Operands) -> Modules:
    from torch import nn, randn

    image, maps, series, steps, row = (
        given.image, given.maps, given.series, given.steps, given.row,
    )  # fmt: skip
    chain = nn.Sequential
    return {
        "conv": (chain(nn.Conv2d(3, 8, 3), nn.ReLU()), image),
        "convbn": (
            chain(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6()), image,
        ),
        "dw": (chain(nn.Conv2d(8, 8, 3, groups=8, padding=1), nn.Hardswish()), maps),
        "grp": (nn.Conv2d(8, 12, 3, groups=4), maps),
        "conv1d": (chain(nn.Conv1d(4, 8, 3, dilation=2, padding=2), nn.ReLU()), series),
        "convt4": (nn.ConvTranspose2d(8, 6, 4, stride=2, padding=1), maps),
        "conv3d": (nn.Conv3d(2, 4, 3), (randn(1, 2, 6, 6, 6),)),
        "gelu": (chain(nn.Linear(6, 8), nn.GELU()), row),
        "hardsig": (nn.Hardsigmoid(), row),
        "gn": (nn.GroupNorm(2, 8), maps),
        "ln": (nn.LayerNorm(6), steps),
        "rms": (nn.RMSNorm(6), steps),
        "in": (nn.InstanceNorm2d(8), maps),
        "up_near": (nn.Upsample(scale_factor=2), maps),
        "up_bil": (nn.Upsample(scale_factor=2, mode="bilinear"), maps),
        "pshuf": (nn.PixelShuffle(2), maps),
        "maxpool": (nn.MaxPool2d(3, 2, 1), image),
        "avgpool": (nn.AvgPool2d(2), image),
        "avgpoolp": (nn.AvgPool2d(3, 2, 1), image),
        "avgpoolnp": (nn.AvgPool2d(3, 2, 1, count_include_pad=False), image),
        "adapt1": (chain(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 4)), image),
        "adapt2": (nn.AdaptiveAvgPool2d((4, 4)), image),
    }  # fmt: skip


def _functions(given: Operands) -> Modules:
    import torch
    from torch import nn

    class Function(nn.Module):
        """`function` of the operands, behind the parts that it needs."""

        def __init__(self, function: Callable[..., Any], *parts: Any) -> None:
            super().__init__()
            self.function, self.parts = function, nn.ModuleList(parts)

        def forward(self, *given: Any) -> Any:
            return self.function(*self.parts, *given)

    image, maps, steps, row = given.image, given.maps, given.steps, given.row
    functional, one, chain, draw = nn.functional, Function, nn.Sequential, torch.randn
    return {
        "lstm": (one(lambda m, x: m(x)[0], nn.LSTM(6, 5, batch_first=True)), steps),
        "gru": (one(lambda m, x: m(x)[0], nn.GRU(6, 5, batch_first=True)), steps),
        "mha": (one(lambda m, x: m(x, x, x)[0], nn.MultiheadAttention(6, 2, batch_first=True)),
                steps),
        "enc": (nn.TransformerEncoderLayer(6, 2, 16, batch_first=True), steps),
        "softmax": (nn.Softmax(1), row),
        "prelu": (chain(nn.Conv2d(3, 4, 3), nn.PReLU(4)), image),
        "elu": (nn.ELU(), image),
        "silu": (nn.SiLU(), image),
        "mish": (nn.Mish(), image),
        "reflpad": (nn.ReflectionPad2d(2), image),
        "chshuf": (nn.ChannelShuffle(2), maps),
        "unfold": (nn.Unfold(3), maps),
        "fold": (nn.Fold((6, 6), 2, stride=2), (draw(1, 8, 9),)),
        "norm": (one(lambda x: functional.normalize(x, dim=1)), row),
        "cat": (one(lambda a, b: torch.cat([a, b], 1)), (draw(1, 3, 4, 4), draw(1, 2, 4, 4))),
        "bmm": (one(torch.matmul), (draw(1, 4, 5), draw(1, 5, 3))),
        "where": (one(lambda a, b: torch.where(a > b, a, b * 2)), (draw(1, 6), draw(1, 6))),
        "scatter": (
            one(lambda a: a.scatter_add(1, torch.tensor([[0, 2, 1]]), a[:, :3])), row,
        ),
        "idxput": (one(lambda a: torch.index_add(a, 1, torch.tensor([0, 2]), a[:, :2])), row),
        "gridsample": (
            one(functional.grid_sample),
            (draw(1, 2, 4, 4), torch.rand(1, 3, 3, 2) * 2 - 1),
        ),
    }  # fmt: skip


def _networks(given: Operands) -> Modules:
    """Those that are quantized."""
    import torch
    from torch import nn

    image, maps, chain, draw = given.image, given.maps, nn.Sequential, torch.randn
    return {
        "lin": (chain(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)), (draw(1, 64),)),
        "cnn": (
            chain(
                nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU6(),
                nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.ReLU6(), nn.Conv2d(8, 64, 1), nn.ReLU(),
                nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10), nn.Softmax(1),
            ),
            image,
        ),
        "tr": (nn.TransformerEncoderLayer(32, 2, 64, batch_first=True), (draw(1, 6, 32),)),
        "emb": (chain(nn.Embedding(64, 64), nn.Linear(64, 8)), (torch.randint(0, 64, (1, 6)),)),
        "ct": (chain(nn.ConvTranspose2d(8, 6, 4, 2, 1), nn.Tanh()), maps),
    }  # fmt: skip


def quantize(source: Path, name: str, target: Path) -> None:
    """By one of `RECIPES`, on drawn samples where it asks for some."""
    from ai_edge_litert.interpreter import Interpreter
    from ai_edge_quantizer import quantizer, recipe

    tool = quantizer.Quantizer(str(source), getattr(recipe, name)())
    found = None
    if name.startswith("static"):
        model = Interpreter(str(source))
        key = next(iter(model.get_signature_list()))
        inputs = model.get_signature_runner(key).get_input_details()
        random = np.random.default_rng(0)
        samples = [
            {input_name: _drawn(random, details) for input_name, details in inputs.items()}
            for _ in range(_CALIBRATING)
        ]
        found = tool.calibrate({key: samples})
    target.write_bytes(tool.quantize(found).quantized_model)


def _drawn(random: np.random.Generator, details: dict[str, Any]) -> Any:
    shape, dtype = details["shape"], np.dtype(details["dtype"])
    if dtype.kind == "i":
        return random.integers(0, 20, shape).astype(dtype)
    return random.normal(size=shape).astype(dtype)


def main() -> None:
    """What a converter refuses is said, and no file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.converter_models.torch_modules")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    import litert_torch

    for name, (module, given) in modules().items():
        if asked.names and name not in asked.names:
            continue
        file = asked.folder / f"lt_{name}.float.tflite"
        try:
            if not file.is_file():
                litert_torch.convert(module.eval(), given).export(str(file))
            for recipe in RECIPES if name in QUANTIZED else ():
                target = asked.folder / f"aq_{name}.{recipe}.tflite"
                if not target.is_file():
                    quantize(file, recipe, target)
        except Exception as cause:  # noqa: BLE001 - whatever it raises, it is the converter's
            print(f"{name}: {str(cause).strip().splitlines()[0][:160]}", flush=True)


if __name__ == "__main__":
    main()
