"""A `.tflite` file becomes a graph, or one error that lists everything that stands in the way."""

from __future__ import annotations

from glowmcu.errors import GlowmcuError, Problem, error
from glowmcu.frontend.custom_c import unused_custom
from glowmcu.frontend.known_inputs import (
    exit_code_for,
    hinted_at_batch,
    hinted_at_fixed_batch,
    open_batches,
    unknown_inputs,
    unknown_symbols,
)
from glowmcu.frontend.output_names import with_output_names
from glowmcu.frontend.run_end import held
from glowmcu.frontend.tflite.container import (
    DECODE_ERRORS,
    ModelRecord,
    OperatorRecord,
    described,
    read_container,
)
from glowmcu.frontend.tflite.custom_c import importers_with
from glowmcu.frontend.tflite.importer import Import, load_importers
from glowmcu.frontend.tflite.tensors import input_sizes
from glowmcu.frontend.tflite.unsupported import unsupported_operator
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Value


def read_tflite(data: bytes, file_name: str, options: InputOptions | None = None) -> Graph:
    """Import the model in `data`.

    Raises GlowmcuError: GM101 damaged file (exit 2); GM102 to GM113 with every problem of the model
    at once (exit 3).
    """
    options = options or InputOptions()
    model = read_container(data, file_name)
    state = Import(model, options)
    names = [model.tensors[index].name for index in model.inputs]
    problems = unknown_inputs(options, names, file_name)
    problems += unknown_symbols(options.symbols, (), file_name)
    problems += _unused_custom(model, options, file_name)
    inputs: list[Value] = []
    refused: set[int] = set()
    for index in model.inputs:
        try:
            if model.tensors[index].name in options.bind:
                state.bound_input(index)
            else:
                inputs.append(state.graph_input(index))
        except Unsupported as cause:
            problems.append(cause.problem(f"{file_name}, input {model.tensors[index].name!r}"))
            refused.add(index)
    problems += _import_operators(state, file_name, refused)
    outputs = [] if problems else _outputs(state, file_name, problems)
    if problems:
        sizes = input_sizes(model)
        problems = hinted_at_fixed_batch(problems, sizes, options)
        problems = hinted_at_batch(problems, open_batches(sizes, options))
        raise GlowmcuError(problems, exit_code_for(problems))
    if not inputs or not outputs:
        raise error(
            "GM101", "the model has no inputs or no outputs", file_name,
            "there is nothing to compute: was the right graph exported?",
        )  # fmt: skip
    graph = state.builder.graph(inputs, held(state.builder, outputs))
    # Some operators leave an output another name than the file's.
    return with_output_names(graph, [model.tensors[index].name for index in model.outputs])


def _unused_custom(model: ModelRecord, options: InputOptions, file_name: str) -> list[Problem]:
    """C for operators that none is, in no subgraph either."""
    names = {op.name for graph in (model, *model.others) for op in graph.operators}
    own = {name for name in load_importers() if not name.startswith("CUSTOM ")}
    foreign = {name.removeprefix("CUSTOM ") for name in names - own}
    return unused_custom(options.custom, foreign, foreign, file_name)


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


def _import_operators(state: Import, file_name: str, refused: set[int]) -> list[Problem]:
    """Import every operator; those downstream of a refused one are not reported for that alone.

    `refused` are the inputs that could not be imported.
    """
    importers = importers_with(state.custom, load_importers())
    problems: list[Problem] = []
    unknown = set(refused)
    for op in state.model.operators:
        where = _where(state.model, op, file_name)
        function = importers.get(op.name)
        if function is None:
            problems.append(unsupported_operator(op, where, list(importers)))
        elif unknown.isdisjoint(op.inputs) and not state.builder.is_spent:
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
        f"operator {op.name} is damaged: {described(cause)}",
        where,
        "is the file complete? export or download it again",
    )


def _where(model: ModelRecord, op: OperatorRecord, file_name: str) -> str:
    name = model.tensors[op.outputs[0]].name if op.outputs else ""
    return f'{file_name}, node {op.index} "{name[:120]}"'
