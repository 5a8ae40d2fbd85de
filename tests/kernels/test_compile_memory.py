"""What compiling a model of megabytes allocates at most, against the size of its file."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.foreign_models import POINT, DeepNetwork
from glowmcu.api.model_file import read_model_file
from glowmcu.compilation import Options
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.pipeline import compile_model
from tests.memplan.spatial_models import Window

#: Sizes of the file that are allocated at most beside the file itself, by core: constants are views
#: of it, and what kernels pack of them is as large. Those of the M55 have it for several variants.
BUDGETS = {"generic": 2.0, "cortex-m0plus": 2.0, "cortex-m4": 2.5, "cortex-m55": 5.5}
#: The same for a result's element, and a channel.
PIXEL_BYTES, CHANNEL_BYTES = 20, 16_000


def peak_of(work: Callable[[], object]) -> int:
    """The most that is allocated at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


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

    def compiled() -> None:
        compilation = compile_model(data, "m.tflite", options)
        write_bundle(compilation.files, tmp_path / "m", "m")

    peak = peak_of(compiled)
    assert len(data) > 4_000_000
    assert peak <= BUDGETS[core] * len(data)


def test_many_pixels_take_a_few_bytes_each_where_plans_are_verified_and_vectors_computed() -> None:
    """Results of 0.5 MB each, which a plan, its verification and the interpreter look at."""
    model = DeepNetwork(53)
    x = model.conv(model.input(128, 128, 3), 32, POINT, "RELU")
    for _ in range(3):
        x = model.add(model.conv(x, 32, POINT, "RELU"), x, "RELU")
    data = model.finish(model.conv(model.whole_mean(x), 4, POINT))
    options = Options("m", core="cortex-m4")
    compile_model(data, "m.tflite", options)
    peak = peak_of(lambda: compile_model(data, "m.tflite", options))
    assert peak <= PIXEL_BYTES * 128 * 128 * 32


def test_a_narrow_form_of_many_channels_is_searched_some_at_a_time() -> None:
    """A channel has a point for each of 255 outputs in a dozen arrays of eight bytes."""
    model = DeepNetwork(54)
    x = model.conv(model.input(2, 2, 8), 4096, POINT, "RELU")
    data = model.finish(model.conv(model.whole_mean(x), 4, POINT))
    options = Options("m", core="cortex-m0plus")
    peak = peak_of(lambda: compile_model(data, "m.tflite", options))
    assert peak <= CHANNEL_BYTES * 4096


def test_reading_a_small_file_takes_no_more_than_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(bytes(1_000_000))  # beside which Python's own buffer is small
    assert peak_of(lambda: read_model_file(path)) < 1_500_000
