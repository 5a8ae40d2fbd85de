"""What compiling a model of megabytes allocates at most, against the size of its file."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from benchmarks.foreign_models import POINT, DeepNetwork
from glowmcu.compilation import Options
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.pipeline import compile_model
from tests.memplan.spatial_models import Window

#: Sizes of the file that are allocated at most, by core: a layer has a quarter of the file's bytes,
#: and kernels widen and pack its weights.
BUDGETS = {"generic": 6.0, "cortex-m0plus": 6.0, "cortex-m4": 9.0, "cortex-m55": 12.5}


def megabytes() -> bytes:
    """Layers of half a megabyte: of a size alike, as those of large networks are."""
    model = DeepNetwork(52)
    x = model.conv(model.input(4, 4, 192), 256, Window(), "RELU")
    for _ in range(4):
        x = model.conv(x, 256, Window(), "RELU")
    x = model.conv(model.whole_mean(x), 1024, POINT, "RELU")
    return model.finish(model.conv(x, 1000, POINT))


@pytest.mark.parametrize("core", BUDGETS)
def test_a_large_model_takes_a_few_times_its_file(core: str, tmp_path: Path) -> None:
    data = megabytes()
    options = Options("m", core=core)
    compile_model(data, "m.tflite", options)  # what stays from one compilation to the next
    tracemalloc.start()
    try:
        compilation = compile_model(data, "m.tflite", options)
        write_bundle(compilation.files, tmp_path / "m", "m")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(data) > 4_000_000
    assert peak <= BUDGETS[core] * len(data)
