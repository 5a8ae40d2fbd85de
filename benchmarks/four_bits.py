"""`python -m benchmarks.four_bits`: what weights of four bits lose, and how many bytes they save.

Writes its section of docs/quantization.md, as `benchmarks.quantization` does. A network's constants
are its weights, two to a byte where all of a layer's are -8..7, and its int32 biases.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.quantization_models import REPO, Array, Case, own_model
from glowmcu.ir.graph import Graph
from glowmcu.quality import Demands
from glowmcu.quant.automatic import Needs
from glowmcu.quant.judgement import figures_of, judge_of
from glowmcu.quant.mixed_weights import choose_four_bits
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.quantizer import quantize_graph
from glowmcu.quant.real_outputs import real_outputs, stored_samples
from glowmcu.quant.samples import samples_of

PAGE = REPO / "docs" / "quantization.md"
#: Every example with a float model, samples to calibrate with and samples to judge on.
MODELS = (
    "digits/digits.onnx", "gestures/model.onnx", "vowels/model.onnx",
    "spoken_digits/model_float.tflite",
)  # fmt: skip
TITLE = "## Weights of four bits"
#: Points of accuracy that may be lost, and the share of int8's constants that mixed may take.
MOST_LOST, MOST_LOST_MIXED, MOST_SHARE_MIXED = 1.0, 0.4, 0.65
INT8 = QuantizationOptions()
INT4 = QuantizationOptions(four_bit_weights=("all",), adaptive_rounding=True)
#: As no samples are at hand: a profile alone.
INT4_ALONE = replace(INT4, adaptive_rounding=False)
#: What mixed is asked for: decibels of the outputs, and per cent of float's decisions.
DEMANDS = Demands(None, 99.0)
TEXT = f"""{TITLE}

`--weights 4` stores the weights of matrix products (conv_2d, depthwise_conv_2d, fully_connected) as
-7..7. A channel's scale is the one of least squared error of the layer's output on the samples,
which cuts its largest weights off, and weights are rounded adaptively, as `--adaround` does; with a
profile alone scales are those of least error of the weights, and each weight is rounded by itself.
`--weights mixed` tries each layer alone on samples that did not calibrate and gives four bits to as
many as leave nothing to warn of, those of least harm a weight first; with `--flash-budget` to as
few as meet it. The bundle's quality lists every layer. `--require-sqnr` and `--require-agreement`
are the bound where they are given: here mixed had to keep {DEMANDS.agreement:g} % of float's
decisions. `glowmcu export` writes such weights as int4 where TensorFlow Lite Micro takes them
(CONV_2D, DEPTHWISE_CONV_2D; FULLY_CONNECTED with one scale, `--per-tensor-weights`). A note says
how many layers store a byte for such a weight, as the kernels that were chosen do.

On cores with DSP instructions (Cortex-M4, M7, M33), without them (Cortex-M0, M0+, M3), with Helium
(Cortex-M55, M85) and on RISC-V convolutions and fully connected layers have kernels that read two
weights from a byte; `balanced` takes them where they shorten the bundle and all layers need at most
1.15 times the cycles. On Arm cores without DSP instructions they need fewer than those of bytes
([figures](flash.md)).

Where a kernel reads a byte or a half for each weight, they are two to a byte in flash all the same,
and unpacked to the arena right before the layer: at `balanced` where two bytes of flash are saved
for a byte that the arena grows by and the layer takes at most 15 % more cycles, at `size` where one
is. `ram` and `speed` keep a byte each, and so do layers that stream rows, `--weights pointer`,
`--steps`, `--cores 2` and sizes of the run. What unpacks is a function of some 300 bytes.

This section alone: `python -m benchmarks.four_bits`. A cell is accuracy on held-out samples in per
cent / SQNR of the outputs in dB / constants in bytes: weights, two to a byte where they have four
bits, and biases.
"""


def main() -> None:
    """Measure, and exchange the section."""
    text = PAGE.read_text(encoding="utf-8")
    section = "\n".join(four_bit_lines()) + "\n"
    pattern = re.compile(rf"{re.escape(TITLE)}\n.*?(?=\n## |\Z)", re.DOTALL)
    if pattern.search(text):
        text = pattern.sub(lambda _: section, text)
    else:
        place = text.index("\n## Front ends") + 1
        text = f"{text[:place]}{section}\n{text[place:]}"
    PAGE.write_text(text, encoding="utf-8")


def four_bit_lines() -> list[str]:
    """The section: a table, and whether it is as good as is asked for."""
    head = ["", "float32", "int8", "four bits", "four bits, profile alone", "mixed", "mixed/int8"]
    lines = [TEXT, _row(head), _row(["---"] * len(head))]
    lost, lost_mixed, shares = [], [], []
    for name in MODELS:
        case = example(name)
        samples = samples_of(case.graph, case.inputs)
        wanted = real_outputs(case.graph, samples)
        best = accuracy(wanted[0], case.labels)
        mixed = mixed_options(case)
        cells, sizes = [f"{best:.2f}"], []
        accuracies = []
        for options in (INT8, INT4, INT4_ALONE, mixed):
            graph = quantize_graph(case.graph, case.profile, options, case.calibration)
            outputs = real_outputs(graph, stored_samples(graph, samples))
            figures = figures_of(case.graph, wanted, outputs)
            accuracies.append(accuracy(outputs[0], case.labels))
            sizes.append(constants_bytes(graph))
            cells.append(f"{accuracies[-1]:.2f} / {figures.sqnr_db} / {sizes[-1]:,}")
        shares.append(sizes[3] / sizes[0])
        lost.append(best - accuracies[1])
        lost_mixed.append(best - accuracies[3])
        lines.append(_row([case.name, *cells, f"{shares[-1]:.1%}"]))
    verdict = (
        f"Asked: four bits lose {MOST_LOST} points at most; mixed {MOST_LOST_MIXED} at most, with "
        f"{MOST_SHARE_MIXED:.0%} of int8's constants. The most that is lost is {max(lost):.2f} and "
        f"{max(lost_mixed):.2f} points (below 0 is a gain), the largest share {max(shares):.1%}."
    )
    return [*lines, "", verdict]


def example(name: str) -> Case:
    """A network with its samples."""
    case = own_model(name)
    if not name.startswith("spoken_digits/"):
        return case
    # The features that this network hears are small integers of their own.
    with np.load(REPO / "examples" / "spoken_digits" / "test_samples.npz") as stored:
        return replace(case, inputs=stored["inputs"].astype(np.float32))


def mixed_options(case: Case) -> QuantizationOptions:
    """What `--weights mixed` chooses by the calibration's samples."""
    judge = judge_of(case.graph, case.calibration, case.profile, is_own=True)
    start = QuantizationOptions(adaptive_rounding=True)
    return choose_four_bits(judge, start, Needs(DEMANDS, lambda _: 0.0)).options


def constants_bytes(graph: Graph) -> int:
    """Weights and biases as a bundle can store them."""
    size = 0
    for node in graph.nodes:
        for value in node.inputs[1:]:
            data = graph.constant_data(value)
            if data is not None and node.macs:
                is_narrow = data.dtype == np.int8 and data.min() >= -8 and data.max() <= 7
                size += (data.size + 1) // 2 if is_narrow else data.nbytes
    return size


def accuracy(outputs: Array, labels: Array) -> float:
    """Per cent of largest entries that are the label's."""
    return 100 * float(np.mean(outputs.reshape(len(labels), -1).argmax(axis=1) == labels))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
