"""An `.onnx` file becomes a graph, or one error that lists everything that stands in the way."""

from __future__ import annotations

from dataclasses import replace

from glowmcu.errors import GlowmcuError, Problem, error
from glowmcu.frontend.custom_c import unused_custom
from glowmcu.frontend.known_inputs import (
    exit_code_for,
    hinted_at_batch,
    hinted_at_fixed_batch,
    unknown_inputs,
    unknown_symbols,
)
from glowmcu.frontend.onnx.biases import fold_biases
from glowmcu.frontend.onnx.container import NodeRecord, OnnxRecord, read_onnx_container
from glowmcu.frontend.onnx.custom_c import all_nodes, custom_kind, importer_of
from glowmcu.frontend.onnx.dynamic_ranges import with_real_activations
from glowmcu.frontend.onnx.fold_qdq import fold_qdq
from glowmcu.frontend.onnx.importer import Import, ImportFunction, load_importers
from glowmcu.frontend.onnx.joined_trees import join_trees
from glowmcu.frontend.onnx.leaf_functions import fold_leaf_functions
from glowmcu.frontend.onnx.nodes import in_order_of_use, unsupported_operator
from glowmcu.frontend.onnx.products_of_columns import join_products_of_columns
from glowmcu.frontend.onnx.refused import stand_in_for_results
from glowmcu.frontend.onnx.selected_rows import follow_rows
from glowmcu.frontend.onnx.sums_of_columns import join_sums_of_columns
from glowmcu.frontend.onnx.unsigned_pairs import with_signed_pairs
from glowmcu.frontend.open_shapes import with_hint_at_export
from glowmcu.frontend.output_names import with_output_names
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.types import ElementType
from glowmcu.string_categories import with_categories

#: Damaged or too large: nothing would come of looking behind it.
_NO_RESULT = ("GM101", "GM114")


def read_onnx(
    data: bytes,
    file_name: str,
    options: InputOptions | None = None,
) -> Graph:
    """Import the model in `data`.

    Raises GlowmcuError: GM101 damaged file (exit 2); GM102 to GM113 with every problem at once.
    """
    model = with_real_activations(read_onnx_container(data, file_name, load_importers()))
    model = with_signed_pairs(model)
    options = options or InputOptions()
    state = Import(model, options)
    problems = _unknown_options(model, options, file_name)
    problems += _unused_custom(model, options, file_name)
    inputs: list[Value] = []
    for record in model.inputs:
        try:
            if record.name in options.bind:
                state.bound_input(record)
            else:
                inputs.append(state.graph_input(record))
        except Unsupported as cause:
            problems.append(cause.problem(f"{file_name}, input {record.name!r}"))
    if not problems:
        found = _import_nodes(state, file_name)
        problems = [with_hint_at_export(problem, options) for problem in found]
    outputs: dict[str, Value] = {}
    if not problems:
        try:
            for name in model.outputs:
                outputs |= _outputs(state, name)
        except Unsupported as cause:
            problems.append(cause.problem(f"{file_name}, outputs"))
    if problems:
        sizes = {item.name: item.sizes for item in model.inputs}
        problems = hinted_at_fixed_batch(problems, sizes, options)
        raise GlowmcuError(hinted_at_batch(problems, state.batches), exit_code_for(problems))
    if not outputs:
        raise error("GM101", "the model has no outputs", file_name)
    graph = fold_qdq(state.builder.graph(inputs, list(outputs.values())))
    graph = join_products_of_columns(join_sums_of_columns(fold_biases(graph)))
    graph = join_trees(fold_leaf_functions(graph))
    metadata = with_categories(graph.metadata, state.categories.names, state.categories.inputs)
    return with_output_names(replace(graph, metadata=metadata), tuple(outputs))


def _outputs(state: Import, name: str) -> dict[str, Value]:
    """The value of a model output, if it has the type that the file says; of a sequence, all."""
    found = state.tensors(name)
    return found if name not in found else {name: _output(state, name, found[name])}


def _output(state: Import, name: str, value: Value) -> Value:
    element, type_name = state.model.output_types[name]
    may_be_index = bool(state.class_indices) and value.type.element is ElementType.I64
    is_index = type_name == "STRING" and may_be_index
    if type_name != "UNDEFINED" and element is not value.type.element and not is_index:
        raise Unsupported(
            "GM105",
            f"output {name!r} is {type_name}, which cannot be computed as such; "
            f"got {value.type.element.numpy}",
            "export the model in float32",
        )
    return value


def _unknown_options(model: OnnxRecord, options: InputOptions, file_name: str) -> list[Problem]:
    sizes = [size for record in model.inputs for size in record.sizes or ()]
    symbols = list(dict.fromkeys(size for size in sizes if isinstance(size, str)))
    return [
        *unknown_inputs(options, [record.name for record in model.inputs], file_name),
        *unknown_symbols(options.symbols, symbols, file_name),
    ]


def _unused_custom(model: OnnxRecord, options: InputOptions, file_name: str) -> list[Problem]:
    """C for operators that no node is, of graphs in attributes neither."""
    nodes = list(all_nodes(model))
    used = {custom_kind(op, options.custom) or "" for op in nodes}
    foreign = {f"{op.domain}.{op.kind}" for op in nodes if not op.domain.startswith("ai.onnx")}
    return unused_custom(options.custom, used, foreign, file_name)


def _import_nodes(state: Import, file_name: str) -> list[Problem]:
    """Import every node; one behind a refused node is reported for a fault of its own only."""
    importers = load_importers()
    problems: list[Problem] = []
    unknown: set[str] = set()
    for op in in_order_of_use(state.model):
        where = _where(op, file_name)
        function = importer_of(op, state.custom, importers)
        problem = None
        if function is None:
            problem = unsupported_operator(op, where, state.model)
        elif unknown.isdisjoint(op.reads) and not state.builder.is_spent:
            problem = _refusal(function, state, op, where)
            if problem is None:
                continue
        if problem is not None:
            problems.append(problem)
        if (problem is None or problem.code not in _NO_RESULT) and not state.builder.is_spent:
            stand_in_for_results(state, op, function is not None)
        unknown.update(name for name in op.outputs if name and state.bound(name) is None)
    return problems


def _refusal(function: ImportFunction, state: Import, op: NodeRecord, where: str) -> Problem | None:
    """What stands in the way of importing a node."""
    try:
        follow_rows(state, op)
        function(state, state.categories.read(op))
    except Unsupported as cause:
        return cause.problem(where)
    except MemoryError as cause:
        text = f"{op.kind} needs more memory than there is: {str(cause)[:200]}"
        return Problem("GM114", text, where)
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as cause:
        return Problem("GM101", f"{op.kind} is damaged: {str(cause)[:200]}", where)
    return None


def _where(op: NodeRecord, file_name: str) -> str:
    name = op.name or next((name for name in op.outputs if name), "")
    return f'{file_name}, node {op.index} "{name[:120]}"'
