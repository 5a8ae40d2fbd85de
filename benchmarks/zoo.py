"""Architectures that people put on microcontrollers, and what the compiler makes of each.

    python -m benchmarks.zoo [--only NAME] [--jobs N|dask://HOST:PORT] [--record]

Needs PyTorch, onnx and onnxscript. Every network has seeded weights and batch norms whose
statistics were run on seeded data; it is exported to ONNX, quantized with 32 seeded samples and
compiled for a Cortex-M4. Results go to zoo.json, and so to zoo.md, with --record.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import glowmcu
from benchmarks.kernel_sources import kernel_sources_digest, list_sources
from benchmarks.zoo_page import Row, page
from glowmcu.errors import GlowmcuError
from glowmcu.tuning.workers import Task, Workers, read_workers, working

RECORD = Path(__file__).resolve().parent / "zoo.json"
PAGE = RECORD.with_suffix(".md")
NETWORKS_DIR = Path(__file__).resolve().parent / "zoo_networks"
BOARD = "nucleo-l4r5zi"
SAMPLES, BATCHES = 32, 4
_NAMED = re.compile(r'^@?network\("([^"]+)"', re.MULTILINE)


def names() -> list[str]:
    """All networks' names, without a need for PyTorch."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(NETWORKS_DIR.glob("*.py")))
    return [name for text in texts for name in _NAMED.findall(text)]


def samples(shape: tuple[int, ...], count: int, seed: int) -> np.ndarray[Any, Any]:
    """Smooth waves of random frequencies along the last two axes, and some noise."""
    random = np.random.default_rng(seed)
    steps = np.arange(shape[-1])
    rows = np.arange(shape[-2]) if len(shape) > 1 else np.zeros(1)
    size = (count, *shape[:-2], 1, 1)
    total = 0.3 * random.normal(size=(count, *shape[:-2], len(rows), len(steps)))
    for _ in range(3):
        across, down = random.uniform(0, 0.6, size), random.uniform(0, 0.6, size)
        phase, gain = random.uniform(0, 6.28, size), random.uniform(0.2, 1, size)
        total += gain * np.sin(across * steps + down * rows[:, None] + phase)
    return total.reshape(count, *shape).astype(np.float32)


def export(name: str, path: Path) -> np.ndarray[Any, Any]:
    """Write the network's ONNX file, and give its samples."""
    import torch

    from benchmarks.zoo_networks.blocks import NETWORKS

    for module in ("attention", "images", "series", "tasks"):
        import_module(f"benchmarks.zoo_networks.{module}")
    found = NETWORKS[name]
    seed = zlib.crc32(name.encode())
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model = found.make()
    for part in model.modules():
        if isinstance(part, (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d)):
            part.momentum = None
            torch.nn.init.uniform_(part.weight, 0.6, 1.4)
            torch.nn.init.normal_(part.bias, 0, 0.2)
    model.train()
    with torch.no_grad():
        for batch in range(BATCHES):
            model(torch.from_numpy(samples(found.shape, 16, seed + 1 + batch)))
    model.eval()
    example = (torch.from_numpy(samples(found.shape, 1, seed)),)
    torch.onnx.export(model, example, str(path), dynamo=found.dynamo, verbose=False)
    return samples(found.shape, SAMPLES, seed + 100)


def measure(name: str) -> Row:
    """Export and compile; a refusal is a result too."""
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "m.onnx"
        given = export(name, path)
        import onnx

        nodes = len(onnx.load(path, load_external_data=False).graph.node)
        empty = Row(name, nodes, "", kernel_sources_digest())
        try:
            bundle = glowmcu.compile(
                path, board=BOARD, output=Path(work) / "b", name="m", samples=[given]
            )
        except GlowmcuError as refusal:
            return Row(name, nodes, str(refusal).replace(work, "").strip(), empty.kernels)
    manifest = bundle.manifest
    quality = manifest.quality[0]
    return Row(
        name, nodes, "", empty.kernels, len(manifest.layers),
        [layer.name for layer in manifest.layers if layer.kernel.endswith("_f32")],
        quality.figures.sqnr_db, list(quality.shortfalls), manifest.arena_bytes,
        manifest.weights_bytes, manifest.costs.cycles_estimate, manifest.macs,
    )  # fmt: skip


def stored() -> list[Row]:
    """What was measured."""
    if not RECORD.is_file():
        return []
    return [Row(**row) for row in json.loads(RECORD.read_text(encoding="utf-8"))]


def record(fresh: Row) -> None:
    """Put one result in the place of the one before and write the page again."""
    found = {row.name: row for row in (*stored(), fresh)}
    rows = [found[name] for name in names() if name in found]
    lines = ",\n".join(f" {json.dumps(asdict(row))}" for row in rows)
    RECORD.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    PAGE.write_text(page(rows, len(names())), encoding="utf-8")


def measured(wanted: list[str], workers: Workers) -> Iterator[Row]:
    """Every network in a process that is not this one: exporting leaves much behind."""
    if workers.address:
        with working(Task("", str, _measured_by), workers) as compute:
            yield from compute(wanted)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers.processes) as pool:
        yield from pool.imap_unordered(measure, wanted)


def _measured_by(_ready: str, name: str) -> Row:
    return measure(name)


def main() -> None:
    """Exit code 1 when a network is refused."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zoo")
    parser.add_argument("--only", action="append", choices=names(), metavar="NAME")
    parser.add_argument("--jobs", default="1", metavar="N|dask://HOST:PORT")
    parser.add_argument("--record", action="store_true", help="write zoo.json and zoo.md")
    asked = parser.parse_args()
    list_sources()
    refused = False
    for row in measured(asked.only or names(), read_workers(asked.jobs)):
        print(f"{row.name}: {row.refusal or f'{row.sqnr_db} dB, {row.arena_bytes} B'}", flush=True)
        refused |= bool(row.refusal)
        if asked.record:
            record(row)
    raise SystemExit(1 if refused else 0)


if __name__ == "__main__":
    main()
