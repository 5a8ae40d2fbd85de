"""Firmware that handles several bundles through `NAME_model` alone: runs, streams and pipelines."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import glowmcu
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array
from glowmcu.pipeline import reference_graph
from tests.bundle.test_use import build, c_array, run_program
from tests.support.onnx_models import onnx_model
from tests.support.pipelines import random_pipeline
from tests.support.stream_models import random_stream_model

RUNS = 8
MAIN = """#include <string.h>
#include "plain_model.h"
#include "stream_model.h"
#include "pipe_model.h"
{arrays}
GLOWMCU_ALIGNED(16) static int8_t arena[{arena_bytes}];
static const glowmcu_model *const models[] = {{ &plain_model, &stream_model, &pipe_model }};
static const void *samples_of[] = {{ in_plain, in_stream, in_pipe }};
static const int8_t *const wanted_of[] = {{ NULL, out_stream, out_pipe }};

static int run_all(const glowmcu_model *m, const int8_t *input, const int8_t *wanted)
{{
    const glowmcu_tensor *x = &m->inputs[0], *y = &m->outputs[0];
    int wrong = 0;

    for (uint32_t run = 0; run < {runs}u; ++run) {{
        memcpy(arena + x->offset, input + run * x->bytes, x->bytes);
        wrong += m->run(arena) != 0;
        wrong += wanted != NULL
            && memcmp(arena + y->offset, wanted + run * y->bytes, y->bytes) != 0;
    }}
    return wrong;
}}

static int push_all(const glowmcu_model *m, const int8_t *input, const int8_t *wanted)
{{
    const glowmcu_tensor *y = &m->outputs[0];
    int wrong = 0;
    uint32_t results = 0;

    for (int at = 0; at < {samples}; ++at) {{
        const int32_t found = m->push(arena, input + {channels} * at, 1u);

        wrong += found < 0 || found > 1;
        if (found == 1) {{
            wrong += memcmp(arena + y->offset, wanted + results * y->bytes, y->bytes) != 0;
            ++results;
        }}
    }}
    return wrong + (results != {results}u);
}}

int main(void)
{{
    int wrong = models[0]->reset != NULL || models[0]->push != NULL || models[1]->push != NULL;

    for (int i = 0; i < 3; ++i) {{
        const glowmcu_model *m = models[i];

        memset(arena, 0xA5, sizeof arena);
        wrong += m->reset != NULL && m->run(arena) != GLOWMCU_NOT_BEGUN;
        wrong += m->push != NULL && m->push(arena, samples_of[i], 1u) != GLOWMCU_NOT_BEGUN;
        for (int stream = 0; stream < 2; ++stream) {{
            wrong += m->reset != NULL && m->reset(arena) != 0;
            wrong += m->push != NULL ? push_all(m, samples_of[i], wanted_of[i])
                                     : run_all(m, samples_of[i], wanted_of[i]);
        }}
    }}
    return wrong;
}}
"""


def test_states_are_reset_and_samples_pushed_through_the_struct(tmp_path: Path) -> None:
    (tmp_path / "plain.onnx").write_bytes(onnx_model("Relu", [("x", "float32", (1, 4))]))
    data = random_stream_model(6)
    (tmp_path / "stream.tflite").write_bytes(data)
    pipeline = random_pipeline(4)
    pipe = pipeline.write(tmp_path)
    files = {"plain": tmp_path / "plain.onnx", "stream": tmp_path / "stream.tflite", "pipe": pipe}
    bundles = {
        name: glowmcu.compile(file, output=tmp_path / f"{name}_out", name=name)
        for name, file in files.items()
    }
    for name, bundle in bundles.items():
        text = (bundle.path / f"{name}_model.c").read_text(encoding="utf-8")
        assert "\n\n\n" not in text
    random = np.random.default_rng(3)
    session = Session(reference_graph(data, "stream.tflite"))
    shape = bundles["stream"].manifest.inputs[0].shape
    inputs = [random.integers(-128, 128, shape).astype(np.int8) for _ in range(RUNS)]
    outputs = [session.run([x])[0] for x in inputs]
    hop, channels = pipeline.hops[0], pipeline.networks[0].channels
    samples = random.integers(-128, 128, (hop * 4 * RUNS, channels)).astype(np.int8)
    pieces = [samples[at : at + hop] for at in range(0, len(samples), hop)]
    results = [item[0] for piece in pieces for item in pipeline.push(piece)]
    assert results
    arrays: dict[str, list[Array]] = {
        "in_stream": inputs, "out_stream": outputs, "in_pipe": [samples], "out_pipe": results,
        "in_plain": [np.zeros(16 * RUNS, np.int8)],
    }  # fmt: skip
    text = MAIN.format(
        arrays="".join(
            c_array(name, np.concatenate([part.reshape(-1) for part in parts]), "int8_t")
            for name, parts in arrays.items()
        ),
        arena_bytes=max(bundle.manifest.arena_bytes for bundle in bundles.values()),
        runs=RUNS, samples=len(samples), channels=channels, results=len(results),
    )  # fmt: skip
    folders = [bundle.path for bundle in bundles.values()]
    done = build(tmp_path, text, folders, ["-fsanitize=address,undefined"])
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0
