"""A `.tflite` file becomes a graph, or one error that lists everything that stands in the way."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.errors import ExitCode, GlowmcuError, Problem, error
from glowmcu.frontend.tflite.container import (
    DECODE_ERRORS,
    ModelRecord,
    OperatorRecord,
    read_container,
)
from glowmcu.frontend.tflite.importer import Import, Unsupported, load_importers
from glowmcu.frontend.tflite.unsupported import summarize_float, unsupported_operator
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.types import Shape


def read_tflite(
    data: bytes, file_name: str, input_shapes: Mapping[str, Shape] | None = None
) -> Graph:
    """Import the model in `data`. `input_shapes` fixes the shapes of named inputs.

    Raises GlowmcuError: GM101 damaged file (exit 2); GM102 to GM108 with every problem of the model
    at once (exit 3).
    """
    model = read_container(data, file_name)
    state = Import(model, input_shapes or {})
    problems = _unknown_inputs(model, input_shapes or {}, file_name)
    inputs: list[Value] = []
    refused: set[int] = set()
    for index in model.inputs:
        try:
            inputs.append(state.graph_input(index))
        except Unsupported as cause:
            problems.append(cause.problem(f"{file_name}, input {model.tensors[index].name!r}"))
            refused.add(index)
    problems += _import_operators(state, file_name, refused)
    outputs = [] if problems else _outputs(state, file_name, problems)
    if problems:
        own_words = all(problem.code == "GM107" for problem in problems)
        exit_code = ExitCode.USAGE if own_words else ExitCode.UNSUPPORTED
        raise GlowmcuError(summarize_float(model, problems, file_name), exit_code)
    if not inputs or not outputs:
        raise error(
            "GM101", "the model has no inputs or no outputs", file_name,
            "there is nothing to compute: was the right graph exported?",
        )  # fmt: skip
    return Graph("main", tuple(inputs), tuple(state.nodes), tuple(outputs))


def _outputs(state: Import, file_name: str, problems: list[Problem]) -> list[Value]:
    """The graph's outputs; one that is no result of a run goes to `problems`."""
    outputs: list[Value] = []
    for index in state.model.outputs:
        where = f"{file_name}, output {state.model.tensors[index].name[:120]!r}"
        try:
            outputs.append(state.tensor_value(index))
        except Unsupported as cause:
            problems.append(cause.problem(where))
            continue
        if state.is_known(outputs[-1]):
            problems.append(
                Problem(
                    "GM105",
                    "a constant is a model output",
                    where,
                    "it is the same for every input: remove it from the model's outputs",
                )
            )
    return outputs


def _unknown_inputs(
    model: ModelRecord, input_shapes: Mapping[str, Shape], file_name: str
) -> list[Problem]:
    names = [model.tensors[index].name for index in model.inputs]
    return [
        Problem(
            "GM107", f"no input is named {name!r}", file_name, f"the inputs are: {', '.join(names)}"
        )
        for name in input_shapes
        if name not in names
    ]


def _import_operators(state: Import, file_name: str, refused: set[int]) -> list[Problem]:
    """Import every operator; those downstream of a refused one are not reported for that alone.

    `refused` are the inputs that could not be imported.
    """
    importers = load_importers()
    problems: list[Problem] = []
    unknown = set(refused)
    for op in state.model.operators:
        where = _where(state.model, op, file_name)
        function = importers.get(op.name)
        if function is None:
            problems.append(unsupported_operator(op, where, list(importers)))
        elif unknown.isdisjoint(op.inputs):
            try:
                function(state, op)
                continue
            except Unsupported as cause:
                problems.append(cause.problem(where))
            except DECODE_ERRORS as cause:
                problems.append(_damaged(op, cause, where))
        unknown.update(op.outputs)
    return problems


def _damaged(op: OperatorRecord, cause: BaseException, where: str) -> Problem:
    return Problem(
        "GM101",
        f"operator {op.name} is damaged: {str(cause)[:200] or type(cause).__name__}",
        where,
        "is the file complete? export or download it again",
    )


def _where(model: ModelRecord, op: OperatorRecord, file_name: str) -> str:
    name = model.tensors[op.outputs[0]].name if op.outputs else ""
    return f'{file_name}, node {op.index} "{name[:120]}"'
