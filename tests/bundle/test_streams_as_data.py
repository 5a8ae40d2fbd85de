"""Streams and pipelines through the struct that describes a bundle as data: reset, run, push."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from tests.bundle.test_use import build, c_array, run_program
from tests.memplan.streaming_models import separable
from tests.support.pipelines import random_pipeline
from tests.support.stream_models import random_stream_model

RUNS = 6

#: Two streams over the same inputs, the second one begun anew; the header's names are not used.
STREAM = """
#include <string.h>
#include "net.h"
#include "net_model.h"
static NET_ARENA(arena);
{inputs}
{outputs}
int main(void)
{{
    const glowmcu_model *m = &net_model;
    int wrong = m->push != NULL;

    for (int stream = 0; stream < 2; ++stream) {{
        const unsigned char *in = (const unsigned char *)inputs;
        const unsigned char *out = (const unsigned char *)outputs;

        wrong += m->reset(arena) != 0;
        for (int run = 0; run < {runs}; ++run) {{
            for (uint32_t i = 0; i < m->input_count; in += m->inputs[i++].bytes) {{
                memcpy((unsigned char *)arena + m->inputs[i].offset, in, m->inputs[i].bytes);
            }}
            wrong += m->run(arena) != 0;
            for (uint32_t i = 0; i < m->output_count; out += m->outputs[i++].bytes) {{
                wrong += memcmp(
                    (unsigned char *)arena + m->outputs[i].offset, out, m->outputs[i].bytes) != 0;
            }}
        }}
    }}
    return wrong;
}}
"""

PIPELINE = """
#include "pipe.h"
#include "pipe_model.h"
static PIPE_ARENA(by_name);
static PIPE_ARENA(as_data);
{samples}
int main(void)
{{
    const glowmcu_model *m = &pipe_model;
    int wrong = m->push(as_data, samples, 1) != GLOWMCU_NOT_BEGUN;
    int news = 0;

    wrong += m->reset(as_data) != 0 || pipe_reset(by_name) != 0;
    for (int at = 0; at < {count}; ++at) {{
        const int32_t want = pipe_push(by_name, samples + at * {channels}, 1);

        wrong += m->push(as_data, samples + at * {channels}, 1) != want;
        news += want;
        for (uint32_t i = 0; i < m->output_count; ++i) {{
            const uint32_t offset = m->outputs[i].offset;

            wrong += memcmp((char *)by_name + offset, (char *)as_data + offset,
                m->outputs[i].bytes) != 0;
        }}
    }}
    return wrong + (news == 0);
}}
"""


@pytest.mark.parametrize("seed", [4, 8, 12])
def test_a_runner_that_knows_data_alone_begins_and_runs_streams(seed: int, tmp_path: Path) -> None:
    bundle = glowmcu.compile(random_stream_model(seed), output=tmp_path / "out", name="net")
    random = np.random.default_rng(seed)
    sets = [
        [random.integers(-128, 128, entry.shape).astype(entry.dtype) for entry in entries]
        for entries in [bundle.manifest.inputs] * RUNS
    ]
    session = bundle.session()
    wanted = [session.run(arrays) for arrays in sets]
    flat = [
        np.frombuffer(b"".join(x.tobytes() for row in rows for x in row), np.uint8)
        for rows in (sets, wanted)
    ]
    program = STREAM.format(
        inputs=c_array("inputs", flat[0], "unsigned char"),
        outputs=c_array("outputs", flat[1], "unsigned char"),
        runs=RUNS,
    )
    done = build(tmp_path, program, [bundle.path], ["-fsanitize=address,undefined"])
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0


def test_a_runner_that_knows_data_alone_pushes_samples(tmp_path: Path) -> None:
    pipeline = random_pipeline(3)
    bundle = glowmcu.compile(pipeline.write(tmp_path), output=tmp_path / "out", name="pipe")
    channels, count = pipeline.networks[0].channels, pipeline.hops[0] * 40
    samples = np.random.default_rng(1).integers(-128, 128, count * channels).astype(np.int8)
    program = "#include <string.h>\n" + PIPELINE.format(
        samples=c_array("samples", samples, "int8_t"), count=count, channels=channels
    )
    done = build(tmp_path, program, [bundle.path], ["-fsanitize=address,undefined"])
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0


def test_what_remembers_nothing_has_neither(tmp_path: Path) -> None:
    bundle = glowmcu.compile(separable(), output=tmp_path / "out", name="net")
    program = (
        '#include "net_model.h"\nint main(void)\n{\n'
        "    return net_model.reset != NULL || net_model.push != NULL;\n}\n"
    )
    done = build(tmp_path, program, [bundle.path])
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0
