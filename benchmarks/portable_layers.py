"""Layers that no kernel of a core's family computes: which, what they take, and why.

    python -m benchmarks.portable_layers [--network NAME]

Every int8 network here (MLPerf Tiny's, those in ../shared that TensorFlow Lite Micro runs, foreign
ones) and a sample of random layers are compiled for a Cortex-M4, a Cortex-M0+ and a Cortex-M55.
Cycles are the kernels' calibrated estimates. What takes at least a hundredth of its network's
cycles is in the table, each with its reason.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

from benchmarks.foreign_models import MODELS as FOREIGN
from benchmarks.models import MODELS, SHARED
from benchmarks.portable_page import Row, page, reason_of
from benchmarks.random_layers import FAMILIES, random_model
from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model

RECORD = Path(__file__).resolve().with_suffix(".json")
PAGE = RECORD.with_suffix(".md")
CORES = ("cortex-m4", "cortex-m0plus", "cortex-m55")
#: Parts of the names of kernels that are made for a family of cores, or need no faster one.
_OF_FAMILIES = ("dsp", "mve", "sum.linear", ".rows", ".row_sums", ".table")
_LEAST_SHARE = 0.01
#: Layers of each family of random ones.
RANDOM_LAYERS = 12
#: Of ../shared.
FILES = ("streams/micro_speech_quantized.tflite", "repro/models/mnist_dw_q.tflite",
         "repro/models/person_detect.tflite", "repro/models/cnn1d_int8.tflite")  # fmt: skip


def networks() -> dict[str, Callable[[], bytes]]:
    """All that is compiled, by name."""
    files = {Path(name).stem: SHARED.parent / name for name in FILES}
    return {
        **{model.name: model.path.read_bytes for model in MODELS},
        **{name: path.read_bytes for name, path in files.items()},
        **FOREIGN,
        **{
            f"random {family}": partial(random_model, family, 11, range(RANDOM_LAYERS))
            for family in FAMILIES
        },
    }


def is_portable(kernel: str) -> bool:
    """Whether the kernel is the same for every core."""
    return not any(part in kernel for part in _OF_FAMILIES)


def layers(network: str, data: bytes, core: str) -> Iterator[Row]:
    """Those that portable kernels take and that matter. Raises GlowmcuError."""
    selections = compile_model(data, f"{network}.tflite", Options("m", core=core)).selections
    total = sum(item.cost.cycles for item in selections.values())
    for node, item in selections.items():
        share = item.cost.cycles / total
        if share < _LEAST_SHARE or not is_portable(item.kernel_name):
            continue
        shapes = [value.type.shape for value in (*node.inputs[:2], *node.outputs[:1])]
        text = " ".join("x".join(map(str, shape)) or "scalar" for shape in shapes)
        amount = node.macs or sum(value.type.element_count for value in node.outputs)
        yield Row(
            network, core, node.op.name, item.kernel_name, text, amount, node.macs > 0,
            round(item.cost.cycles), round(share, 4),
        )  # fmt: skip


def found(network: str) -> list[Row]:
    """Of a network on every core; one that is refused has no rows."""
    data = networks()[network]()
    try:
        return [row for core in CORES for row in layers(network, data, core)]
    except GlowmcuError as cause:
        print(f"{network}: {cause}".splitlines()[0])
        return []


def stored() -> list[Row]:
    """What was recorded."""
    if not RECORD.is_file():
        return []
    return [Row(**row) for row in json.loads(RECORD.read_text(encoding="utf-8"))]


def record(network: str, fresh: list[Row]) -> None:
    """Put a network's layers in the place of those before and write the page again."""
    kept = [row for row in stored() if row.network != network]
    order = list(networks())
    rows = sorted([*kept, *fresh], key=lambda row: order.index(row.network))
    lines = ",\n".join(f" {json.dumps(asdict(row))}" for row in rows)
    RECORD.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    PAGE.write_text(page(rows), encoding="utf-8")


def main() -> None:
    """Exit code 1 when a layer has no reason."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.portable_layers")
    parser.add_argument("--network", action="append", choices=list(networks()))
    unexplained = 0
    for network in parser.parse_args().network or networks():
        rows = found(network)
        record(network, rows)
        print(f"{network}: {len(rows)} layers", flush=True)
        unexplained += sum(reason_of(row) is None for row in rows)
    raise SystemExit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
