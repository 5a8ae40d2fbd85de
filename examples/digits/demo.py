"""`make demo`: compile the digits model for a board, run real samples, show what it costs.

Real held-out digits go through the generated C on a modelled Cortex-M4 and, where it is installed,
on a whole emulated board in QEMU; both must agree in every byte.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import glowmcu
from glowmcu.report.tables import bench_table, count, summary_lines
from glowmcu.verify.executors import executor
from glowmcu.verify.measurement import Array, Measurement

HERE = Path(__file__).resolve().parent
SHADES = " .:-=+*#%@"


def draw(image: Array) -> list[str]:
    """An int8 image of 8x8 pixels as eight lines of text."""
    levels = (image.reshape(8, 8).astype(np.int32) + 128) * (len(SHADES) - 1) // 255
    return ["".join(SHADES[level] * 2 for level in row) for row in levels]


def show_digits(console: Console, images: Array, labels: Array, scores: list[Array]) -> None:
    """The first samples as pictures with label and prediction below."""
    drawings = [draw(image) for image in images]
    for line in zip(*drawings, strict=True):
        console.print("   ".join(line), markup=False)
    captions = [
        f"is {label}, read {int(np.argmax(score))}".ljust(16)
        for label, score in zip(labels, scores, strict=True)
    ]
    console.print("   ".join(captions), markup=False)


def run_everywhere(
    bundle: glowmcu.Bundle, inputs: list[list[Array]], console: Console
) -> dict[str, list[Measurement]]:
    """Results by executor; one whose tools are missing is named and left out."""
    results: dict[str, list[Measurement]] = {}
    for name in ("host", "cortex-m", "qemu"):
        lacking = executor(name, bundle.board).missing()
        if lacking is not None:
            console.print(f"[yellow]{name} skipped[/]: {lacking}")
            continue
        results[name] = bundle.measure_all(inputs, on=name)
    return results


def result_table(results: dict[str, list[Measurement]], labels: Array) -> Table:
    """Accuracy and cost by executor."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("executor", "right", "equal to the first", "instructions", "cycles", "stack B"):
        table.add_column(heading, justify="left" if heading == "executor" else "right")
    reference = next(iter(results.values()))
    for name, measured in results.items():
        right = sum(
            int(np.argmax(m.outputs[0])) == label for m, label in zip(measured, labels, strict=True)
        )
        equal = sum(
            m.outputs[0].tobytes() == r.outputs[0].tobytes()
            for m, r in zip(measured, reference, strict=True)
        )
        table.add_row(
            name, f"{right} of {len(labels)}", f"{equal} of {len(labels)}",
            count(measured[0].instructions), count(measured[0].cycles),
            count(measured[0].stack_bytes),
        )  # fmt: skip
    return table


def main() -> int:
    """Exit code 1 when two executors disagree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--board", default="nrf52")
    parser.add_argument("--samples", type=int, default=20, help="held-out digits to run")
    options = parser.parse_args()
    console = Console(highlight=False, width=110)

    samples = np.load(HERE / "test_samples.npz")
    images = samples["inputs"][: options.samples]
    labels = samples["labels"][: options.samples]
    output = Path("build") / "digits"
    bundle = glowmcu.compile(HERE / "digits_int8.tflite", options.board, output, name="digits")
    for line in summary_lines(bundle):
        console.print(line)
    console.print()

    results = run_everywhere(bundle, [[image[np.newaxis]] for image in images], console)
    first = next(iter(results.values()))
    show_digits(console, images[:5], labels[:5], [m.outputs[0] for m in first[:5]])
    console.print()
    console.print(result_table(results, labels))
    if "cortex-m" in results:
        console.print()
        console.print(bench_table(bundle.manifest, results["cortex-m"][0]))
        clock, cycles = bundle.board.clock_hz, results["cortex-m"][0].cycles
        if clock and cycles:
            time = 1e3 * cycles / clock
            console.print(f"{time:.2f} ms an inference at {clock // 10**6} MHz, zero wait states")
    console.print(f"\nThe C files are in {output}/; start with {output}/digits.h and README.md.")
    outputs = [[m.outputs[0].tobytes() for m in measured] for measured in results.values()]
    return 0 if all(item == outputs[0] for item in outputs) else 1


if __name__ == "__main__":
    raise SystemExit(main())
