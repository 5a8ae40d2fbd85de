"""Graph IR as text: one function whose operations are the nodes.

Names of people (`model/conv2d/Relu;…`) stand in attributes `glowmcu.*` where the SSA name cannot
hold them, so that parsing gives back an identical graph.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Rate, State, Value, VerificationError
from glowmcu.ir.operation import Array, Operation, OperationError, Rounding
from glowmcu.ir.text.attribute_text import AttributeParser, AttributePrinter, operator_name
from glowmcu.ir.text.fields import FieldError, FieldReader, Operations
from glowmcu.ir.text.names import Names
from glowmcu.ir.text.scanner import Scanner, quoted
from glowmcu.ir.text.sidecar import Sidecar
from glowmcu.ir.text.syntax import (
    Definitions,
    FunctionParser,
    FunctionText,
    OperationText,
    print_function,
    print_operation,
)
from glowmcu.ir.text.type_text import parse_type, print_type
from glowmcu.ir.types import TensorType

#: Attributes that are ours, not an operator's.
_NAME, _SOURCE, _RESULTS = "glowmcu.name", "glowmcu.source", "glowmcu.results"
_INPUTS, _ROUNDING, _METADATA = "glowmcu.inputs", "glowmcu.rounding", "glowmcu.metadata"
#: Initial values of states: these are the last arguments of the function, and its last results.
_STATES = "glowmcu.states"
#: By number which of them others read, when each stage computes, and the stage of a node.
_SHARED, _RATES, _STAGE = "glowmcu.shared_states", "glowmcu.rates", "glowmcu.stage"
_ALIAS_LINE = re.compile(r"(?P<name>![A-Za-z_]\w*)\s*=")


def print_graph(graph: Graph, sidecar: Sidecar | None = None) -> str:
    """`graph` as MLIR. Large constants go to `sidecar` when there is one, else into the text."""
    return _GraphPrinter(graph, sidecar).text()


class _GraphPrinter:
    def __init__(self, graph: Graph, sidecar: Sidecar | None) -> None:
        self._graph = graph
        self._names = Names()
        self._attributes = AttributePrinter(sidecar)
        self._aliases: dict[TensorType, str] = {}
        values = [*graph.inputs, *(value for node in graph.nodes for value in node.outputs)]
        for value in values:
            name = self._names.add(value, value.name)
            quantization = value.type.quantization
            if quantization is not None and quantization.per_channel:
                self._aliases.setdefault(value.type, f"!{name}_type")

    def text(self) -> str:
        graph = self._graph
        body = [self._node(node) for node in graph.nodes]
        results = [self._type(value) for value in graph.outputs]
        returned = [self._names[value] for value in graph.outputs]
        body.append(print_operation([], "func.return", returned, {}, results, []))
        arguments = [(self._names[value], self._type(value)) for value in graph.inputs]
        function = print_function(graph.name, arguments, results, body, self._function_attributes())
        aliases = [f"{name} = {print_type(type_)}\n" for type_, name in self._aliases.items()]
        return "".join(aliases) + function

    def _type(self, value: Value) -> str:
        return self._aliases.get(value.type) or print_type(value.type)

    def _function_attributes(self) -> dict[str, str]:
        graph = self._graph
        attributes = {_ROUNDING: quoted(graph.rounding.value)}
        attributes |= self._value_names(_INPUTS, graph.inputs)
        if graph.states:
            initial = tuple(state.initial for state in graph.states)
            attributes[_STATES] = self._attributes.value(initial, "state")
        if shared := tuple(at for at, state in enumerate(graph.states) if state.shared):
            attributes[_SHARED] = self._attributes.value(shared, "")
        if graph.rates:
            rates = tuple(
                (rate.name, rate.first, rate.period)
                + ((rate.argument, rate.end) if rate.argument else ())
                for rate in graph.rates
            )
            attributes[_RATES] = self._attributes.value(rates, "")
        if graph.metadata:
            attributes[_METADATA] = self._attributes.value(dict(graph.metadata), "")
        return attributes

    def _value_names(self, key: str, values: tuple[Value, ...]) -> dict[str, str]:
        names = tuple(value.name for value in values)
        if names == tuple(self._names[value] for value in values):
            return {}
        return {key: self._attributes.value(names, "")}

    def _node(self, node: Node) -> str:
        results = [self._names[value] for value in node.outputs]
        label = results[0] if results else ""
        attributes = self._attributes.fields(node.op, label)
        attributes |= self._value_names(_RESULTS, node.outputs)
        if node.name != _default_name(node.outputs):
            attributes[_NAME] = quoted(node.name)
        if node.source:
            attributes[_SOURCE] = quoted(node.source)
        if node.stage:
            attributes[_STAGE] = self._attributes.value(node.stage, "")
        return print_operation(
            results,
            operator_name(type(node.op)),
            [self._names[value] for value in node.inputs],
            attributes,
            map(self._type, node.inputs),
            map(self._type, node.outputs),
        )


def _default_name(outputs: tuple[Value, ...]) -> str:
    return outputs[0].name if outputs else ""


def parse_graph(
    text: str,
    operations: Operations,
    sidecar: Mapping[str, Array] | None = None,
    name: str = "graph.mlir",
) -> Graph:
    """The graph that `print_graph` printed. `operations` are the known operators by name.

    Raises GlowmcuError GM210 to GM218 with the line in file `name`.
    """
    return _GraphParser(Scanner(text, name), operations, sidecar).graph()


class _GraphParser:
    def __init__(
        self, scanner: Scanner, operations: Operations, sidecar: Mapping[str, Array] | None
    ) -> None:
        self._scanner = scanner
        self._aliases: dict[str, TensorType] = {}
        self._attributes = AttributeParser(scanner, self._aliases, sidecar)
        self._reader = FieldReader(operations)
        self._values: Definitions[Value] = Definitions(scanner)

    def graph(self) -> Graph:
        scanner = self._scanner
        while (alias := scanner.try_match(_ALIAS_LINE)) is not None:
            if alias["name"] in self._aliases:
                raise scanner.fail("GM216", f"type {alias['name']} is defined twice")
            self._aliases[alias["name"]] = parse_type(scanner, self._aliases)
        parser = FunctionParser(
            scanner, self._attributes, lambda: parse_type(scanner, self._aliases)
        )
        function = parser.function()
        inputs = self._inputs(function)
        nodes = [self._node(operation) for operation in function.operations[:-1]]
        outputs = self._operands(function.operations[-1])
        states = self._states(function, inputs)
        rates = self._rates(function)
        rounding, metadata = self._function_attributes(function)
        graph = Graph(
            function.name, inputs, tuple(nodes), outputs, rounding, metadata, states=states,
            rates=rates,
        )  # fmt: skip
        self._verify(graph, function)
        return graph

    def _inputs(self, function: FunctionText[TensorType]) -> tuple[Value, ...]:
        ids = tuple(name for name, _ in function.arguments)
        names = self._strings(function.attributes.pop(_INPUTS, list(ids)), len(ids), _INPUTS, 0)
        return tuple(
            self._values.define(id_, Value(type_, name), 0)
            for (id_, type_), name in zip(function.arguments, names, strict=True)
        )

    def _states(
        self, function: FunctionText[TensorType], inputs: tuple[Value, ...]
    ) -> tuple[State, ...]:
        initial = function.attributes.pop(_STATES, [])
        fits = isinstance(initial, list) and len(initial) <= len(inputs)
        if not fits or not all(isinstance(data, np.ndarray) for data in initial):
            raise self._scanner.fail("GM214", f"{_STATES} must be dense elements, an input each")
        values = inputs[len(inputs) - len(initial) :]
        shared = function.attributes.pop(_SHARED, [])
        if not isinstance(shared, list) or not set(shared) <= set(range(len(initial))):
            raise self._scanner.fail("GM214", f"{_SHARED} must be numbers of states")
        return tuple(
            State(value, data, number in shared)
            for number, (value, data) in enumerate(zip(values, initial, strict=True))
        )

    def _rates(self, function: FunctionText[TensorType]) -> tuple[Rate, ...]:
        rates = function.attributes.pop(_RATES, [])
        for item in rates if isinstance(rates, list) else [None]:
            kinds = list(map(type, item)) if isinstance(item, list) else []
            fits = kinds in ([str, int, int], [str, int, int, str, int])
            if item is None or not fits or item[1] < 0 or item[2] < 1:
                raise self._scanner.fail(
                    "GM214", f"{_RATES} must be [name, first, period] or with argument, end each"
                )
        return tuple(Rate(*item) for item in rates)

    def _function_attributes(
        self, function: FunctionText[TensorType]
    ) -> tuple[Rounding, dict[str, str]]:
        attributes = dict(function.attributes)
        metadata = attributes.pop(_METADATA, {})
        try:
            rounding = Rounding(attributes.pop(_ROUNDING, None))
        except ValueError as cause:
            known = " or ".join(repr(mode.value) for mode in Rounding)
            raise self._scanner.fail("GM214", f"{_ROUNDING} must be {known}") from cause
        if not isinstance(metadata, dict) or not all(
            isinstance(text, str) for text in metadata.values()
        ):
            raise self._scanner.fail("GM214", f"{_METADATA} must be a dictionary of strings")
        if attributes:
            raise self._scanner.fail("GM212", f"the function has no attribute {min(attributes)!r}")
        return rounding, metadata

    def _node(self, operation: OperationText[TensorType]) -> Node:
        attributes = dict(operation.attributes)
        results, at = operation.results, operation.at
        names = self._strings(attributes.pop(_RESULTS, list(results)), len(results), _RESULTS, at)
        default = names[0] if names else ""
        name = self._strings([attributes.pop(_NAME, default)], 1, _NAME, at)[0]
        source = self._strings([attributes.pop(_SOURCE, "")], 1, _SOURCE, at)[0]
        stage = attributes.pop(_STAGE, 0)
        if type(stage) is not int or stage < 0:
            raise self._scanner.fail("GM214", f"{_STAGE} must be a stage's number", at=at)
        op = build_operation(self._scanner, self._reader, operation.name, attributes, at)
        inputs = self._operands(operation)
        outputs = tuple(Value(t, n) for t, n in zip(operation.result_types, names, strict=True))
        for id_, value in zip(results, outputs, strict=True):
            self._values.define(id_, value, at)
        return Node(op, inputs, outputs, name, source, stage)

    def _operands(self, operation: OperationText[TensorType]) -> tuple[Value, ...]:
        found = tuple(self._values.find(name, operation.at) for name in operation.operands)
        for id_, value, type_ in zip(
            operation.operands, found, operation.operand_types, strict=True
        ):
            if value.type != type_:
                message = f"%{id_} is {print_type(value.type)}, used as {print_type(type_)}"
                raise self._scanner.fail("GM216", message, at=operation.at)
        return found

    def _strings(self, raw: object, count: int, key: str, at: int) -> list[str]:
        fits = isinstance(raw, list) and len(raw) == count
        if not fits or not all(isinstance(item, str) for item in raw):  # type: ignore[attr-defined]
            raise self._scanner.fail("GM214", f"{key} must be {count} strings", at=at)
        return list(raw)  # type: ignore[call-overload, no-any-return]

    def _verify(self, graph: Graph, function: FunctionText[TensorType]) -> None:
        """Whatever an operator says to a node that no importer would make is the text's fault."""
        for node, operation in zip(graph.nodes, function.operations[:-1], strict=True):
            inputs = tuple(dict.fromkeys(node.inputs))
            alone = Graph(graph.name, inputs, (replace(node, stage=0),), node.outputs)
            try:
                alone.verify()
            except RULE_ERRORS as cause:
                text = str(cause).partition(": ")[2] or str(cause)
                message = f"{operation.name} does not fit its types: {text}"
                raise self._scanner.fail("GM218", message, at=operation.at) from cause
        try:
            graph.verify()
        except VerificationError as cause:
            raise self._scanner.fail("GM218", str(cause)) from cause


#: Exceptions of a shape rule that is given operands of a number or rank that it does not expect.
RULE_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OperationError,
    TypeError,
    ValueError,
    VerificationError,
)


def build_operation(
    scanner: Scanner, reader: FieldReader, name: str, attributes: Mapping[str, object], at: int
) -> Operation:
    """The operator called `name`; FieldErrors get the line of position `at`."""
    try:
        return reader.build(reader.operation_class(name), attributes, name)
    except FieldError as cause:
        raise scanner.fail(cause.code, cause.message, cause.hint, at) from cause
