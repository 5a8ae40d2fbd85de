"""A hand-written bundle of three layers for testing executors: dense, lookup table, dense.

    x int8[16] -> fully_connected -> int8[8] -> lookup -> int8[8] -> fully_connected -> int8[4]

`write_tiny_bundle` writes what a compiled model looks like; `expected_output` is its meaning.
`fault` adds C statements as a fourth step, so that a test can misbehave on purpose.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from glowmcu.manifest import BufferEntry, LayerEntry, Manifest, TensorEntry
from glowmcu.verify.measurement import Array

NAME = "tiny"
ARENA_BYTES = 40
_RNG = np.random.default_rng(20)
_W0 = _RNG.integers(-127, 128, (8, 16)).astype(np.int8)
_B0 = _RNG.integers(-2000, 2000, 8).astype(np.int32)
_TABLE = np.clip(np.arange(-128, 128) // 2 + 3, -128, 127).astype(np.int8)
_W1 = _RNG.integers(-127, 128, (4, 8)).astype(np.int8)
_B1 = _RNG.integers(-2000, 2000, 4).astype(np.int32)

_HEADER = """\
#ifndef TINY_H
#define TINY_H
#include <stdint.h>

#define TINY_ARENA_BYTES 40
#define TINY_ARENA(name) uint64_t name[(TINY_ARENA_BYTES + 7) / 8]
#define TINY_INPUT_BYTES 16
#define TINY_OUTPUT_BYTES 4

#ifdef __cplusplus
extern "C" {
#endif
int8_t *tiny_input(void *arena);
const int8_t *tiny_output(const void *arena);
int32_t tiny_run(void *arena);
void tiny_infer(void *arena, const int8_t *in, int8_t *out);
#ifdef __cplusplus
}
#endif
#endif
"""

_SOURCE = """\
#include "tiny.h"
#include "tiny_weights.h"
#include <string.h>

#ifndef GLOWMCU_STEP
#define GLOWMCU_STEP(i) ((void)0)
#endif

static void k_fully_connected(const int8_t *in, int32_t depth_in, const int8_t *weights,
                              const int32_t *bias, int8_t *out, int32_t depth_out)
{
    int32_t oc;
    int32_t ic;
    for (oc = 0; oc < depth_out; oc++) {
        int32_t acc = bias[oc];
        for (ic = 0; ic < depth_in; ic++) {
            acc += (int32_t)in[ic] * (int32_t)weights[oc * depth_in + ic];
        }
        acc /= 256;
        acc = acc > 127 ? 127 : acc;
        acc = acc < -128 ? -128 : acc;
        out[oc] = (int8_t)acc;
    }
}

static void k_lookup(const int8_t *in, const int8_t *table, int8_t *out, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        out[i] = table[(int32_t)in[i] + 128];
    }
}

int8_t *tiny_input(void *arena)
{
    return (int8_t *)arena;
}

const int8_t *tiny_output(const void *arena)
{
    return (const int8_t *)arena + 32;
}

int32_t tiny_run(void *arena)
{
    int8_t *base = (int8_t *)arena;
    GLOWMCU_STEP(0);
    k_fully_connected(base, 16, tiny_w0, tiny_b0, base + 16, 8);
    GLOWMCU_STEP(1);
    k_lookup(base + 16, tiny_table, base + 24, 8);
    GLOWMCU_STEP(2);
    k_fully_connected(base + 24, 8, tiny_w1, tiny_b1, base + 32, 4);
@FAULT@    return 0;
}

void tiny_infer(void *arena, const int8_t *in, int8_t *out)
{
    memcpy(tiny_input(arena), in, TINY_INPUT_BYTES);
    tiny_run(arena);
    memcpy(out, tiny_output(arena), TINY_OUTPUT_BYTES);
}
"""


def expected_output(x: Array) -> Array:
    """int8[1, 4] that the bundle computes for int8[1, 16] `x`."""
    hidden = _dense(x.reshape(16), _W0, _B0)
    looked_up = _TABLE[hidden.astype(np.int32) + 128]
    return _dense(looked_up, _W1, _B1).reshape(1, 4)


def _dense(x: Array, weights: Array, bias: Array) -> Array:
    acc = weights.astype(np.int32) @ x.astype(np.int32) + bias
    return np.clip(np.trunc(acc / 256), -128, 127).astype(np.int8)


def random_inputs(count: int, seed: int = 0) -> list[list[Array]]:
    """`count` inferences' worth of inputs, as executors take them."""
    rng = np.random.default_rng(seed)
    return [[rng.integers(-128, 128, (1, 16)).astype(np.int8)] for _ in range(count)]


def write_tiny_bundle(directory: Path, fault: str = "", helpers: str = "") -> Path:
    """Write the bundle into `directory`; `helpers` is C before `tiny_run` for `fault` to use."""
    directory.mkdir(parents=True, exist_ok=True)
    step = f"    GLOWMCU_STEP(3);\n    {fault}\n" if fault else ""
    source = _SOURCE.replace("@FAULT@", step).replace(
        "int32_t tiny_run(", f"{helpers}\nint32_t tiny_run(", 1
    )
    tables = (
        ("int8_t", "tiny_w0", _W0),
        ("int32_t", "tiny_b0", _B0),
        ("int8_t", "tiny_table", _TABLE),
        ("int8_t", "tiny_w1", _W1),
        ("int32_t", "tiny_b1", _B1),
    )
    declared = "".join(f"extern const {kind} {name}[{t.size}];\n" for kind, name, t in tables)
    defined = "".join(
        f"const {kind} {name}[{t.size}] = {{{', '.join(str(int(v)) for v in t.ravel())}}};\n"
        for kind, name, t in tables
    )
    guard = "#ifndef TINY_WEIGHTS_H\n#define TINY_WEIGHTS_H\n#include <stdint.h>\n"
    files = {
        "tiny.h": _HEADER,
        "tiny.c": source,
        "tiny_weights.h": f"{guard}{declared}#endif\n",
        "tiny_weights.c": f'#include "tiny_weights.h"\n{defined}',
        "manifest.json": tiny_manifest(with_fault=bool(fault)).to_json(),
    }
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8")
    return directory


def tiny_manifest(with_fault: bool = False) -> Manifest:
    """What the bundle says about itself."""
    layers = [
        LayerEntry(0, "dense_0", "fully_connected", "fully_connected", 128, 160, 0),
        LayerEntry(1, "half", "lookup", "lookup", 0, 256, 0),
        LayerEntry(2, "dense_1", "fully_connected", "fully_connected", 32, 48, 0),
    ]
    if with_fault:
        layers.append(LayerEntry(3, "fault", "fault", "fault", 0, 0, 0))
    return Manifest(
        name=NAME,
        tool_version="0",
        model_file="tiny.tflite",
        model_sha256="0" * 64,
        board="generic",
        options={},
        arena_bytes=ARENA_BYTES,
        arena_lower_bound_bytes=ARENA_BYTES,
        arena_optimal=True,
        arena_align=8,
        weights_bytes=464,
        macs=160,
        inputs=(TensorEntry("x", "", (1, 16), "int8", 0.5, 0, 0, 16),),
        outputs=(TensorEntry("y", "", (1, 4), "int8", 0.25, 0, 32, 4),),
        layers=tuple(layers),
        buffers=(
            BufferEntry("x", 0, 16, 0, 0),
            BufferEntry("hidden", 16, 8, 0, 1),
            BufferEntry("looked_up", 24, 8, 1, 2),
            BufferEntry("y", 32, 4, 2, 3),
        ),
        sources=("tiny.c", "tiny_weights.c"),
        headers=("tiny.h", "tiny_weights.h"),
    )
