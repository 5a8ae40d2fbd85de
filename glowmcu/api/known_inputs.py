"""Compile a model for given inputs: what it has to know beforehand is taken from them.

Test suites and backends hand every input in at once, shapes and axes among them, where a user
writes `--bind axes=axes.npy`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.input_options import InputOptions
from glowmcu.ir.operation import Array
from glowmcu.pipeline import compile_model


def compile_for_inputs(
    data: bytes, file_name: str, options: Options, inputs: Mapping[str, Array]
) -> tuple[Compilation, tuple[str, ...]]:
    """The compilation, and the names of the inputs that became constants.

    An input is bound only when the model is refused for not knowing it. Raises GlowmcuError for any
    other reason.
    """
    bound: dict[str, Array] = {}
    while True:
        shapes = {name: array.shape for name, array in inputs.items() if name not in bound}
        given = replace(options, inputs=InputOptions(shapes, bind=bound, finds_states=False))
        try:
            return compile_model(data, file_name, given), tuple(bound)
        except GlowmcuError as cause:
            asked = [name for problem in cause.problems for name in problem.bind]
            wanted = [name for name in asked if name in inputs and name not in bound]
            if not wanted:
                raise
            bound.update({name: inputs[name] for name in wanted})
