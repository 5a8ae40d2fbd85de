"""`python -m benchmarks.int16`: layers of int16 activations and int8 weights, cycles a product.

Writes int16.json and int16.md: each layer on each core with the portable kernel and with what
`--optimize balanced` chooses, of a Cortex-M55 instructions. `--core` and `--layer` renew a part;
`--page` writes the page from what is recorded.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from glowmcu.compilation import Compilation, Options
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.pipeline import compile_model
from glowmcu.verify.modelled import modelled_core
from glowmcu.verify.verification import seeded_inputs

CORES = ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55")
RECORD = Path(__file__).with_name("int16.json")
PAGE = Path(__file__).with_name("int16.md")
#: The core whose instructions are counted, as they were asked for.
COUNTED = "cortex-m55"
#: Layers whose sums are short: what begins and ends them counts as much as products.
FEW_INPUTS = ("1x1, 16 to 32", "10x4 with stride 2, 1 to 64", "depthwise 3x3, 64")


def wanted_of(core_name: str) -> float:
    """The most that a multiply-accumulate of a convolution or matrix product is to take: cycles, on
    a Cortex-M55 instructions.
    """
    return 0.4 if core_name == COUNTED else 1.6


@dataclass(frozen=True)
class Layer:
    """`window` is empty for a fully connected layer, whose `shape` is rows and inputs."""

    kind: str
    shape: tuple[int, ...]
    outputs: int
    window: tuple[int, int] = ()  # type: ignore[assignment]
    stride: int = 1
    activation: str = "NONE"
    spread: float = 30.0


LAYERS = {
    "fully connected, 256 to 64": Layer("FULLY_CONNECTED", (1, 256), 64),
    "fully connected, 640 to 128": Layer("FULLY_CONNECTED", (1, 640), 128),
    "fully connected, 16 rows of 64 to 64": Layer("FULLY_CONNECTED", (16, 64), 64),
    "fully connected, 4000 to 12, sums of 64 bits": Layer("FULLY_CONNECTED", (1, 4000), 12),
    "1x1, 64 to 64": Layer("CONV_2D", (1, 8, 8, 64), 64, (1, 1), activation="RELU"),
    "1x1, 128 to 32": Layer("CONV_2D", (1, 6, 6, 128), 32, (1, 1)),
    "1x1, 16 to 32": Layer("CONV_2D", (1, 12, 12, 16), 32, (1, 1), activation="RELU"),
    "3x3, 16 to 16": Layer("CONV_2D", (1, 16, 16, 16), 16, (3, 3), activation="RELU"),
    "3x3 with stride 2, 32 to 64": Layer("CONV_2D", (1, 12, 12, 32), 64, (3, 3), 2, "RELU"),
    "10x4 with stride 2, 1 to 64": Layer("CONV_2D", (1, 49, 10, 1), 64, (10, 4), 2, "RELU"),
    "7x1, 32 to 32": Layer("CONV_2D", (1, 60, 1, 32), 32, (7, 1), activation="RELU"),
    "3x3, 128 to 32": Layer("CONV_2D", (1, 6, 6, 128), 32, (3, 3)),
    "3x3, 128 to 32, sums of 64 bits": Layer(
        "CONV_2D", (1, 6, 6, 128), 32, (3, 3), spread=100.0
    ),
    "depthwise 3x3, 64": Layer("DEPTHWISE_CONV_2D", (1, 12, 10, 64), 64, (3, 3)),
}  # fmt: skip


def layer_model(layer: Layer) -> bytes:
    """The layer alone, with weights as trained ones are spread and a bias of int64."""
    generator = np.random.default_rng(7)
    depthwise, depth = layer.kind == "DEPTHWISE_CONV_2D", layer.shape[-1]
    shape = (1, *layer.window, depth) if depthwise else (layer.outputs, *layer.window, depth)
    weights = np.clip(generator.normal(0, layer.spread, shape), -127, 127).astype(np.int8)
    scales = 0.01 * generator.uniform(0.5, 1.0, layer.outputs)
    model = ModelBuilder()
    x = model.input("x", layer.shape, "int16", 1e-4, 0)
    w = model.constant("w", weights, list(scales), axis=3 if depthwise else 0)
    bias = generator.integers(-(10**6), 10**6, layer.outputs).astype(np.int64)
    b = model.constant("b", bias, list(scales * 1e-4))
    out = (*layer.shape[:-1], layer.outputs)
    if layer.window:
        height, width = (-(-size // layer.stride) for size in layer.shape[1:3])
        out = (1, height, width, layer.outputs)
    y = model.tensor("y", out, "int16", 1e-3, 0)
    options: dict[str, int | str | bool] = {"fused_activation_function": layer.activation}
    if layer.window:
        options.update(padding="SAME", stride_h=layer.stride, stride_w=layer.stride)
    if depthwise:
        options["depth_multiplier"] = 1
    model.op(layer.kind, [x, w, b], [y], options)
    model.output(y)
    return model.finish()


def compiled(layer: Layer, core_name: str, variant: str = "") -> Compilation:
    """For a core at `balanced`, by `variant` where one is given."""
    choices = KernelChoices(forced_variant=variant) if variant else KernelChoices()
    options = Options("m", core=core_name, kernels=choices, simplify=False)
    return compile_model(layer_model(layer), "m.tflite", options)


def amount(compilation: Compilation, core_name: str) -> int:
    """Cycles of a run, of a Cortex-M55 instructions."""
    with tempfile.TemporaryDirectory(prefix="glowmcu-int16-") as work:
        write_bundle(compilation.files, Path(work) / "m", "m")
        inputs = [seeded_inputs(compilation.manifest, 1)]
        (done,) = modelled_core(core_name).run(Path(work) / "m", inputs)
    found = done.instructions if core_name == COUNTED else done.cycles
    assert found is not None
    return found


def measured(name: str, core_name: str) -> dict[str, Any]:
    """One row of the record."""
    layer = LAYERS[name]
    chosen = compiled(layer, core_name)
    portable = compiled(layer, core_name, f"{layer.kind.lower()}.portable_s16")
    (kernel,) = {selection.kernel_name for selection in chosen.selections.values()}
    return {
        "layer": asdict(layer),
        "kernel": kernel,
        "macs": chosen.manifest.macs,
        "arena_bytes": chosen.plan.arena_bytes,
        "estimated": round(chosen.estimated_cycles),
        "amount": amount(chosen, core_name),
        "portable_arena_bytes": portable.plan.arena_bytes,
        "portable_amount": amount(portable, core_name),
    }


_HEAD = """# Layers of int16 activations and int8 weights

Written by `python -m benchmarks.int16`. Layers alone, compiled at `--optimize balanced`, on the
modelled core with memory that never waits: cycles a multiply-accumulate (MAC), on a Cortex-M55
instructions. *Portable* is the kernel that any core can have, which computed all of them before
there were kernels of int16 for DSP instructions and for Helium. At most 1.6 cycles were asked for
and 0.4 instructions; layers of few inputs take more for what begins and ends their sums. Arenas are
those of the portable kernel, on a Cortex-M55 up to one pixel of results more: two are done at once.
*Estimated* is what compiling says against what was measured.

| layer | core | kernel | a MAC | portable | times as fast | estimated |
| --- | --- | --- | ---: | ---: | ---: | ---: |"""


def page(recorded: dict[str, Any]) -> str:
    """The page of a record."""
    lines = [_HEAD]
    for name in LAYERS:
        for core_name in CORES:
            row = recorded.get(f"{name} on {core_name}")
            if row is None:
                continue
            now, before = (row[key] / row["macs"] for key in ("amount", "portable_amount"))
            off = 100.0 * (row["estimated"] / row["amount"] - 1.0)
            lines.append(
                f"| {name} | {core_name} | `{row['kernel']}` | {now:.2f} | {before:.2f} "
                f"| {before / now:.2f} | {off:+.1f} % |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, record, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", choices=CORES)
    parser.add_argument("--layer", choices=LAYERS)
    parser.add_argument("--page", action="store_true", help="write the page from the record")
    arguments = parser.parse_args()
    recorded = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for name in () if arguments.page else LAYERS:
        for core_name in CORES:
            if arguments.core in (None, core_name) and arguments.layer in (None, name):
                recorded[f"{name} on {core_name}"] = measured(name, core_name)
    order = [f"{name} on {core_name}" for name in LAYERS for core_name in CORES]
    recorded = {key: recorded[key] for key in order if key in recorded}
    RECORD.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(recorded), encoding="utf-8")


if __name__ == "__main__":
    main()
