"""The spoken digits' front end in C computes what the network was trained on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import pytest

import glowmcu
from examples.spoken_digits import front_end

REPO = Path(__file__).resolve().parents[2]
EXAMPLE = REPO / "firmware_examples" / "spoken_digits"
MODEL = REPO / "examples" / "spoken_digits"
DECLARATIONS = """
void front_end_of(const int16_t *samples, int8_t *features);
int bands(void);
"""
SOURCE = f"""
#include "front_end.h"
{DECLARATIONS}void front_end_of(const int16_t *samples, int8_t *features)
{{
    static front_end_work work;
    front_end(&work, samples, features);
}}
int bands(void) {{ return FRONT_END_BANDS; }}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """The C front end through cffi, with its tables made anew."""
    folder = tmp_path_factory.mktemp("front_end")
    tables = str(folder / "front_end_tables.h")
    subprocess.run(
        [sys.executable, str(EXAMPLE / "make_data.py"), "tables", "-", tables],
        env={"PYTHONPATH": str(REPO)}, check=True,
    )  # fmt: skip
    builder = cffi.FFI()
    builder.cdef(DECLARATIONS)
    (folder / "front.c").write_text(SOURCE, encoding="utf-8")
    library = folder / "front.so"
    subprocess.run(
        ["gcc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined",
         "-fsanitize-undefined-trap-on-error", "-shared", "-fPIC", f"-I{EXAMPLE}", f"-I{folder}",
         str(folder / "front.c"), str(EXAMPLE / "front_end.c"), "-o", str(library)],
        check=True,
    )  # fmt: skip
    return builder, builder.dlopen(str(library))


def sounds() -> dict[str, front_end.Ints]:
    """The firmware's sound, and what is hard for fixed point."""
    rng = np.random.default_rng(3)
    steps = np.arange(2048)
    return {
        "speech": np.load(MODEL / "sound.npz")["samples"][:24000].astype(np.int64) * 256,
        "silence": np.zeros(1024, np.int64),
        "one": np.eye(1, 512, 300, dtype=np.int64)[0],
        "loudest noise": rng.choice(np.array([-32768, 32767]), 2048),
        "square": np.where(steps // 16 % 2, -32768, 32767),
        "lowest": np.full(1024, -32768, np.int64),
        "faint": rng.integers(-2, 3, 1024),
    }


@pytest.mark.parametrize("name", sounds())
def test_c_computes_the_features_of_training_bit_for_bit(
    name: str, compiled: tuple[Any, Any]
) -> None:
    samples = sounds()[name]
    expected = front_end.features(samples)
    ffi, lib = compiled
    assert lib.bands() == front_end.BANDS
    got = []
    for first in range(0, len(samples) - front_end.FRAME + 1, front_end.HOP):
        frame = samples[first : first + front_end.FRAME].astype(np.int16)
        features = np.zeros(front_end.BANDS, np.int8)
        lib.front_end_of(
            ffi.cast("const int16_t *", frame.ctypes.data),
            ffi.cast("int8_t *", features.ctypes.data),
        )
        got.append(features)
    np.testing.assert_array_equal(np.stack(got), expected)


def test_the_int8_bundle_hears_as_well_as_the_float_model(tmp_path: Path) -> None:
    held_out = np.load(MODEL / "test_samples.npz")
    bundle = glowmcu.compile(
        MODEL / "model_float.tflite", samples=MODEL / "calibration.npz", output=tmp_path / "bundle"
    )
    tensor = bundle.manifest.inputs[0]
    assert (tensor.scale, tensor.zero_point) == (1.0, 0)  # features go in as they are
    inputs = held_out["inputs"]
    right = sum(
        int(np.argmax(bundle.run([window[None]])[0])) == label
        for window, label in zip(inputs[::9], held_out["labels"][::9], strict=True)
    )
    float_right = int((held_out["float_predictions"][::9] == held_out["labels"][::9]).sum())
    assert right >= float_right - 2
