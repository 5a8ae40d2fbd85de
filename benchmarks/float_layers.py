"""`python -m benchmarks.float_layers`: cycles a product of float layers, to float_layers.json.

Single layers with the kernel that is chosen for them, on the modelled core, beside what their loops
cannot be faster than on a Cortex-M4. `python -m benchmarks.float_models --page` writes the table.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibration_shapes import Image
from glowmcu.compilation import Options
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import compile_model
from glowmcu.verify.modelled import modelled_core
from glowmcu.verify.verification import seeded_inputs

RECORD = Path(__file__).with_name("float_layers.json")
CORES = ("cortex-m4", "cortex-m33", "cortex-m7")
#: All taps lie inside the image, so that every product is one.
LAYERS: Mapping[str, Image] = {
    "1x1, 8 inputs": Image(12, 12, 8, 16),
    "1x1, 16 inputs": Image(12, 12, 16, 32),
    "1x1, 32 inputs": Image(12, 12, 32, 64),
    "1x1, 64 inputs": Image(12, 12, 64, 64),
    "1x1, 128 inputs": Image(6, 6, 128, 128),
    "3x3, 3 inputs": Image(32, 32, 3, 16, (3, 3), padding="VALID"),
    "3x3, 8 inputs": Image(18, 18, 8, 16, (3, 3), padding="VALID"),
    "3x3, 16 inputs": Image(18, 18, 16, 16, (3, 3), padding="VALID"),
}
#: Two pixels by eight channels, with a total of each block before its ReLU, commit dd6cda56.
BEFORE = {
    "1x1, 8 inputs": 4.24, "1x1, 16 inputs": 3.45, "1x1, 32 inputs": 3.11,
    "1x1, 64 inputs": 2.95, "1x1, 128 inputs": 2.87, "3x3, 3 inputs": 3.32,
    "3x3, 8 inputs": 2.99, "3x3, 16 inputs": 2.89,
}  # fmt: skip
_HEAD = """
## Layers by their number of inputs

Written from what `python -m benchmarks.float_layers` measures: cycles a product of single layers
before a ReLU, with the kernel that a Cortex-M4 chooses. A product is a multiplication and an
addition of one cycle each there (VFMA and VMLA take three), where the bias's addition takes the
place of the first product's; a ReLU and a store take three cycles a result, for no instruction of
that core takes less than one each to move a result, to make it 0, and to store it. *Arithmetic* is
no more than that: 2 + 3 / products. *Loop* adds its loads, of which VLDM takes one cycle more than
it has words: weights of two products of four channels and two inputs of each of five pixels (24
cycles for 40 products), or, with eight inputs, the weights of a channel for three pixels (11 cycles
for 24). What is measured adds counters, pointers and pixels that fill no five.

| layer | kernel | arithmetic | loop | Cortex-M4 | before | Cortex-M33 | Cortex-M7 |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"""


def convolution(image: Image) -> bytes:
    """A model of this layer alone, before a ReLU; weights are no int8 times a scale."""
    model, generator = ModelBuilder(), np.random.default_rng(0)
    window = (image.out_channels, *image.kernel, image.channels)
    x = model.input("x", (1, image.height, image.width, image.channels), "float32")
    w = model.constant("w", generator.normal(size=window).astype(np.float32))
    b = model.constant("b", generator.normal(size=image.out_channels).astype(np.float32))
    y = model.tensor("y", (1, *image.out_size, image.out_channels), "float32")
    model.op("CONV_2D", [x, w, b], [y], {**image.options, "fused_activation_function": "RELU"})
    model.output(y)
    return model.finish()


def measured(image: Image, core_name: str) -> dict[str, Any]:
    """The kernel that is chosen, and what it takes a product."""
    compilation = compile_model(convolution(image), "m.tflite", Options("m", core=core_name))
    with tempfile.TemporaryDirectory(prefix="glowmcu-float-") as work:
        write_bundle(compilation.files, Path(work) / "m", "m")
        inputs = [seeded_inputs(compilation.manifest, 1)]
        (done,) = modelled_core(core_name).run(Path(work) / "m", inputs)
    assert done.cycles is not None
    (kernel,) = {item.kernel_name for item in compilation.selections.values()}
    return {"kernel": kernel, "cycles_a_product": round(done.cycles / compilation.manifest.macs, 3)}


def products(image: Image) -> int:
    """Of a result."""
    return image.channels * image.kernel[0] * image.kernel[1]


def loop_cycles(image: Image, kernel: str) -> float:
    """A product's on a Cortex-M4, with nothing but arithmetic, loads and stores."""
    count = products(image)
    if kernel == "conv_2d.few_inputs_f32":
        return 2 + (11 + 9) / 24
    # The last product of an odd row loads four weights, and five inputs one by one.
    row = image.channels * image.kernel[1]
    loads = image.kernel[0] * (row // 2 * 24 + row % 2 * 15)
    return 2 + (loads + 5 + 60) / (20 * count)


def table(record: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """The record as a table."""
    lines = [_HEAD]
    for name, image in LAYERS.items():
        kernel = record[name][CORES[0]]["kernel"]
        cycles = [f"{record[name][core_name]['cycles_a_product']:.2f}" for core_name in CORES]
        lines.append(
            f"| {name} | `{kernel}` | {2 + 3 / products(image):.2f} | "
            f"{loop_cycles(image, kernel):.2f} | {cycles[0]} | {BEFORE[name]:.2f} | "
            f"{cycles[1]} | {cycles[2]} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure all of them."""
    record = {
        name: {core_name: measured(image, core_name) for core_name in CORES}
        for name, image in LAYERS.items()
    }
    RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(table(record))


if __name__ == "__main__":
    main()
