"""A text of the `tosa` dialect becomes a graph, or one error with everything that is in the way."""

from __future__ import annotations

import difflib

from glowmcu.errors import GlowmcuError, Problem, error
from glowmcu.frontend.known_inputs import (
    bound_data,
    exit_code_for,
    unknown_inputs,
    unknown_symbols,
)
from glowmcu.frontend.tosa.container import OTHER_DIALECT, read_container
from glowmcu.frontend.tosa.importer import Import, load_importers, rounding_of
from glowmcu.frontend.tosa.recognize import recognize
from glowmcu.frontend.tosa.records import GraphNote, Ref, TosaFunction, TosaOp, signless
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import FIXED_ROUNDING, Graph, State, Value


def read_tosa(data: bytes, file_name: str, options: InputOptions) -> Graph:
    """Raises GlowmcuError: GM101 with the line where the text is damaged; GM102 to GM115 and GM156
    with every problem of the model at once.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as cause:
        message = f"the text is no UTF-8: byte {cause.start}"
        raise error("GM101", message, file_name, "MLIR's bytecode is not read: print it as text") \
            from cause  # fmt: skip
    function = read_container(text, file_name)
    return _Reader(function, file_name, options).graph()


class _Reader:
    def __init__(self, function: TosaFunction, file_name: str, options: InputOptions) -> None:
        self._function, self._file_name, self._options = function, file_name, options
        self._note = _fitting(function)
        rounding = self._note.rounding if self._note else rounding_of(function)
        self._state = Import(function, rounding)
        self._problems: list[Problem] = []

    def graph(self) -> Graph:
        """The whole function."""
        note, state = self._note, self._state
        self._check_options()
        inputs: list[Value] = []
        for number, ref in enumerate(self._function.arguments):
            type_ = note.types[number] if note else state.type_of(ref)
            name = note.inputs[number] if note else ref.name
            self._expect_integers(ref, f'input "{name[:120]}"')
            state.values[ref] = Value(type_, name)
            if name in self._options.bind:
                self._bind(state.values[ref])
            else:
                inputs.append(state.values[ref])
        self._operations()
        outputs = [] if self._problems else self._outputs()
        if self._problems:
            raise GlowmcuError(self._problems, exit_code_for(self._problems))
        if not inputs or not outputs:
            raise error("GM101", "the function has no arguments or no results", self._file_name)
        return self._finished(inputs, outputs)

    def _bind(self, value: Value) -> None:
        """The user says what an input always is."""
        given, type_ = self._options.bind[value.name], value.type
        try:
            data = bound_data(value.name, given, type_.element, type_.shape)
        except Unsupported as cause:
            self._problems.append(cause.problem(f"{self._file_name}, input {value.name!r}"))
            return
        self._state.builder.add_known(value, data)

    def _finished(self, inputs: list[Value], outputs: list[Value]) -> Graph:
        note, nodes = self._note, tuple(self._state.builder.nodes)
        initial = note.states if note else ()
        states = tuple(
            State(value, data)
            for value, data in zip(inputs[len(inputs) - len(initial) :], initial, strict=True)
        )
        metadata = dict(note.metadata) if note else {}
        if note is not None or self._state.is_rounding_seen:
            metadata[FIXED_ROUNDING] = self._state.rounding.value
        name, rounding = note.name if note else "main", self._state.rounding
        return Graph(name, tuple(inputs), nodes, tuple(outputs), rounding, metadata, states=states)

    def _check_options(self) -> None:
        options, note = self._options, self._note
        names = list(note.inputs) if note else [ref.name for ref in self._function.arguments]
        self._problems += unknown_inputs(options, names, self._file_name)
        self._problems += unknown_symbols(options.symbols, (), self._file_name)
        shapes = dict(zip(names, (ref.type.shape for ref in self._function.arguments), strict=True))
        for name, shape in options.shapes.items():
            if shapes.get(name, shape) != shape:
                self._problems.append(Problem(
                    "GM107", f"input {name!r} is {list(shapes[name])}, and {list(shape)} was asked "
                    "for: a TOSA function has fixed shapes", self._file_name,
                    "change the function's arguments in the compiler that wrote it",
                ))  # fmt: skip

    def _expect_integers(self, ref: Ref, what: str) -> None:
        if ref.type.element.is_float:
            self._problems.append(Problem(
                "GM105", f"{what} is {ref.type}: TOSA is read in its integer profile",
                self._file_name, "quantize the model before it is lowered, or compile its .onnx",
            ))  # fmt: skip

    def _operations(self) -> None:
        """Every operation; those downstream of a refused one are not reported for that alone."""
        starts = self._groups()
        refused = {ref for ref in self._function.arguments if ref.type.element.is_float}
        importers = load_importers()
        for number, op in enumerate(self._function.operations):
            if op in self._state.done:
                continue
            where = f'{self._file_name}, line {op.line}, "{op.name}"'
            try:
                if number in starts and self._recognized(*starts[number]):
                    continue
                function = importers.get(op.name)
                if function is None:
                    self._problems.append(_unknown(op, where, list(importers)))
                elif refused.isdisjoint(op.operands) and not self._state.builder.is_spent:
                    _expect_form(op)
                    function(self._state, op)
                    self._state.step += 1
                    continue
            except Unsupported as cause:
                self._problems.append(cause.problem(where))
            refused.update(op.results)

    def _groups(self) -> dict[int, tuple[int, TosaOp]]:
        """Where the operations of a note begin: its end, and the operation that has it."""
        return {
            number + 1 - op.origin.length: (number + 1, op)
            for number, op in enumerate(self._function.operations)
            if op.origin is not None and self._note is not None
        }

    def _recognized(self, end: int, last: TosaOp) -> bool:
        """Whether the operations up to `end` became the node that the note of the last one says."""
        assert last.origin is not None
        group = self._function.operations[end - last.origin.length : end]
        state = self._state
        found = recognize(last.origin, group, state.rounding)
        if found is None or not self._is_closed(group, set(found.results)):
            return False
        operands: list[Value] = []
        for ref, wanted, data in zip(found.operands, found.node.inputs, found.data, strict=True):
            if data is not None:
                made = state.builder.add_constant(data, wanted.name, wanted.type.quantization)
                operands.append(made)
            elif ref in state.values and ref.type == signless(wanted.type):
                # Stored values are the same, whatever is thought of them so far.
                operands.append(state.retyped(state.values[ref], wanted.type.quantization))
            else:
                return False
        names = [value.name for value in found.node.outputs]
        source = f"operator {state.step} {found.operation.name}"
        values = state.builder.add_node(found.operation, operands, found.types, names, source)
        for ref, value in zip(found.results, values, strict=True):
            state.values[ref] = value
        state.done.update(group)
        state.step += 1
        return True

    def _is_closed(self, group: tuple[TosaOp, ...], results: set[Ref]) -> bool:
        """Whether nobody else reads what is between the operations."""
        members = set(group)
        inside = [ref for op in group for ref in op.results if ref not in results]
        return not any(
            ref in self._function.results or not members.issuperset(self._state.users.get(ref, []))
            for ref in inside
        )

    def _outputs(self) -> list[Value]:
        outputs: list[Value] = []
        for number, ref in enumerate(self._function.results):
            self._expect_integers(ref, f"result {number}")
            if ref.data is not None or ref not in self._state.values:
                self._problems.append(Problem(
                    "GM105", f"result {number} is a constant", self._file_name,
                    "it is the same for every input: remove it from the function's results",
                ))  # fmt: skip
                continue
            outputs.append(self._state.values[ref])
        return outputs


def _fitting(function: TosaFunction) -> GraphNote | None:
    """The note, if it speaks of this function's arguments and results."""
    note = function.note
    if note is None or len({len(note.inputs), len(note.types), len(function.arguments)}) != 1:
        return None
    pairs = zip(note.types, function.arguments, strict=True)
    if any(signless(type_) != ref.type for type_, ref in pairs):
        return None
    count = len(note.states)
    if count > min(len(note.types), len(function.results)):
        return None
    types = note.types[len(note.types) - count :]
    fits = all(
        (data.shape, data.dtype) == (type_.shape, type_.element.numpy)
        for data, type_ in zip(note.states, types, strict=True)
    )
    return note if fits else None


def _expect_form(op: TosaOp) -> None:
    """One result, of integers; importers count operands by themselves."""
    if len(op.results) != 1:
        raise Unsupported("GM106", f"it has {len(op.results)} results, expected 1")
    for ref in (*op.operands, *op.results):
        if ref.type.element.is_float:
            raise Unsupported(
                "GM105", f"{ref.type}: TOSA is read in its integer profile",
                "quantize the model before it is lowered, or compile its ONNX file",
            )  # fmt: skip
        if 0 in ref.type.shape and not ref.is_shape:
            raise Unsupported("GM105", f"a tensor without elements: {ref.type}")


def _unknown(op: TosaOp, where: str, known: list[str]) -> Problem:
    near = difflib.get_close_matches(op.name, known, n=2, cutoff=0.5)
    if op.name == "fully_connected":
        hint = "TOSA 1.0 has conv2d on images of one pixel in its place: lower to that version"
    elif "." in op.name:
        hint = OTHER_DIALECT
    elif near:
        hint = f"similar and read: {', '.join(near)}"
    else:
        hint = f"what is read: {', '.join(known)}"
    return Problem("GM102", f"operation {op.name[:80]} is not supported", where, hint)
