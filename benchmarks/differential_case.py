"""One case of the differential test: a network, a way to compile it, and what came of it."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.differential_modes import WIDE_FROM
from benchmarks.differential_outcome import Outcome
from benchmarks.differential_ways import (
    BOARDS,
    STREAM_RUNS,
    as_without_cross_compiler,
    compiled,
    difference_of,
    draw_executors,
    draw_inputs,
    draw_way,
    failure_text,
    is_thorough,
    network_facts,
)
from benchmarks.differential_wide import run_wide
from benchmarks.random_draws import pick
from benchmarks.random_networks import random_network
from glowmcu.errors import GlowmcuError
from glowmcu.goals import Goal
from tests.support.oracle import OracleRefused, open_tflm
from tests.support.stream_models import random_stream_model

#: One network in so many has states; seeds before that were drawn without.
_STREAMS, _STREAMS_FROM = 4, 144


def run_case(seed: int, folder: Path, thorough: bool | None = None) -> Outcome:
    """Compile and compare the seed's network; `folder` is made and removed."""
    folder.mkdir(parents=True)
    try:
        careful = is_thorough(seed) if thorough is None else thorough
        if seed >= WIDE_FROM:
            return run_wide(seed, folder, careful)
        return _run(seed, folder, careful)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(seed: int, folder: Path, thorough: bool) -> Outcome:
    random = np.random.default_rng([8147, seed])
    data = network(seed)
    names, operators = network_facts(data)
    board, goal = str(pick(random, BOARDS)), pick(random, tuple(Goal)).value
    way = draw_way(random, names, board)
    facts: dict[str, Any] = {
        "seed": seed, "board": board, "goal": goal, "modes": way.modes, "operators": operators,
    }  # fmt: skip
    model = folder / "network.tflite"
    model.write_bytes(data)
    try:
        oracle = open_tflm(data)
    except OracleRefused as cause:
        return Outcome(**facts, refused=str(cause))
    try:
        with nullcontext() if thorough else as_without_cross_compiler():
            bundle, facts["modes"], facts["unmet"] = compiled(
                model, folder / "bundle", board, goal, way
            )
        inputs = draw_inputs(bundle, random, STREAM_RUNS if bundle.manifest.states else 2)
        executors, facts["compiler"] = draw_executors(bundle, seed, random, thorough)
        facts["executors"] = tuple(executor.name for executor in executors)
        wanted = [[np.asarray(output) for output in oracle(arrays)] for arrays in inputs]
        failure = difference_of(bundle, inputs, wanted, executors)
    except (OracleRefused, KeyboardInterrupt):
        raise
    except GlowmcuError as cause:
        return Outcome(**facts, failure=f"refused: {cause}".replace(f"{folder}/", ""))
    except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
        return Outcome(**facts, failure=failure_text())
    return Outcome(**facts, inputs=len(inputs), failure=failure)


def network(seed: int) -> bytes:
    """One in four is a network of variables, whose runs are one stream."""
    if seed >= _STREAMS_FROM and seed % _STREAMS == 0:
        return random_stream_model(seed)
    return random_network(seed)
