"""From NNEF to the graph IR: the format, and what every operation does with its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glowmcu.errors import ExitCode, GlowmcuError, Problem
from glowmcu.frontend.formats import ModelFormat
from glowmcu.frontend.graph_builder import GraphBuilder, check_tensor_size
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.operation import Operation, OperationError
from glowmcu.ir.types import ElementType, TensorType
from nnef_format.container import Invocation, Name, members, read_container

Meaning = Callable[["Import", Invocation], None]
#: Operations by name, with the names of their arguments in order.
OPERATIONS: dict[str, tuple[tuple[str, ...], Meaning]] = {}


def operation(name: str, *arguments: str) -> Callable[[Meaning], Meaning]:
    """Decorator: this function imports an operation that takes these arguments."""

    def register(function: Meaning) -> Meaning:
        OPERATIONS[name] = arguments, function
        return function

    return register


class Import:
    """A model on its way into the graph IR."""

    def __init__(self, data: bytes, file_name: str, options: InputOptions) -> None:
        self.model = read_container(data, file_name)
        self.file_name, self.options = file_name, options
        self.builder = GraphBuilder()
        self.values: dict[str, Value] = {}

    def graph(self) -> Graph:
        """Raises GM102, GM105, GM106 with everything that stands in the way."""
        problems: list[Problem] = []
        refused: set[str] = set()
        for op in self.model.invocations:
            if any(name.name in refused for name in _mentioned(op)):
                refused.update(op.results)
                continue
            try:
                self._run(op)
            except (Unsupported, OperationError) as cause:
                found = (
                    cause if isinstance(cause, Unsupported) else Unsupported("GM106", str(cause))
                )
                place = f'{self.file_name}, operation {op.index} "{op.operation}"'
                problems.append(found.problem(place))
                refused.update(op.results)
        names = [*self.model.inputs, *self.model.outputs]
        missing = [name for name in names if name not in self.values and name not in refused]
        problems += [
            Problem("GM105", f"{name!r} is never computed", self.file_name) for name in missing
        ]
        if problems:
            raise GlowmcuError(problems, ExitCode.UNSUPPORTED)
        return self.builder.graph(
            [self.values[name] for name in self.model.inputs],
            [self.values[name] for name in self.model.outputs],
        )

    def _run(self, op: Invocation) -> None:
        if op.operation not in OPERATIONS:
            known = ", ".join(sorted(OPERATIONS))
            raise Unsupported("GM102", f"{op.operation} is not supported", f"known: {known}")
        arguments, function = OPERATIONS[op.operation]
        if len(op.positional) > len(arguments) or not set(op.named) <= set(arguments):
            raise Unsupported("GM105", f"{op.operation} takes {', '.join(arguments)}")
        function(self, op)

    # --- reading ---------------------------------------------------------------------------

    def argument(self, op: Invocation, name: str, default: Any = None) -> Any:
        """What is given for an argument, by name or by position."""
        position = OPERATIONS[op.operation][0].index(name)
        given = op.positional[position] if position < len(op.positional) else default
        return op.named.get(name, given)

    def integers(self, op: Invocation, name: str) -> tuple[int, ...]:
        """A list of integers, empty by default."""
        given = self.argument(op, name, [])
        if not isinstance(given, list) or not all(type(item) is int for item in given):
            raise Unsupported("GM105", f"{op.operation}: {name} is {given}, expected integers")
        return tuple(given)

    def tensor(self, op: Invocation, name: str) -> Value:
        """An operand; a number becomes a constant."""
        return self.value(op, self.argument(op, name))

    def value(self, op: Invocation, given: Any) -> Value:
        """What an argument stands for."""
        if isinstance(given, bool | int | float):
            return self.constant(np.full((), given, np.float32))
        if not isinstance(given, Name) or given.name not in self.values:
            raise Unsupported("GM105", f"{op.operation}: {given} is no tensor that is computed")
        return self.values[given.name]

    def known(self, op: Invocation, name: str, default: float = 0.0) -> np.ndarray[Any, Any]:
        """The data of an operand that must not depend on an input."""
        given = self.argument(op, name, default)
        value = self.value(op, given)
        if value not in self.builder.known:
            raise Unsupported("GM112", f"{op.operation}: {name} must be a variable")
        return self.builder.known[value]

    # --- emitting --------------------------------------------------------------------------

    def constant(self, data: np.ndarray[Any, Any], name: str = "constant") -> Value:
        """A constant."""
        return self.builder.add_constant(np.ascontiguousarray(data, np.float32), name)

    def node(
        self, op: Invocation, kind: Operation, inputs: Sequence[Value], name: str = ""
    ) -> Value:
        """A node with one result of float32."""
        type_ = TensorType((), ElementType.F32)
        label = name or f"{op.results[0]}/{kind.name}"
        source = f"operation {op.index} {op.operation}"
        return self.builder.add_node(kind, inputs, [type_], [label], source)[0]

    def emit(self, op: Invocation, kind: Operation, inputs: Sequence[Value]) -> None:
        """The node that gives the operation's result."""
        self.bind(op, self.node(op, kind, inputs, op.results[0]))

    def bind(self, op: Invocation, value: Value) -> None:
        """The operation's result is `value`."""
        if len(op.results) != 1:
            raise Unsupported("GM105", f"{op.operation} has one result")
        self.values[op.results[0]] = value

    def input(self, op: Invocation, shape: tuple[int, ...]) -> None:
        """A model input, with the shape that the user fixed if there is one."""
        name = op.results[0]
        shape = self.options.shapes.get(name, shape)
        check_tensor_size(shape, 4, f"input {name!r}")
        self.bind(op, Value(TensorType(shape, ElementType.F32), name))


def _mentioned(op: Invocation) -> list[Name]:
    found: list[Name] = []
    for given in (*op.positional, *op.named.values()):
        items = given if isinstance(given, list) else [given]
        found += [item for item in items if isinstance(item, Name)]
    return found


def recognizes(data: bytes, file_name: str) -> bool:
    """By its name, or a tar, packed or not, with `graph.nnef` in it."""
    if file_name.lower().endswith(".nnef"):
        return True
    if data[257:262] != b"ustar" and data[:2] != b"\x1f\x8b":
        return False
    try:
        return "graph.nnef" in members(data, file_name)
    except GlowmcuError:
        return False


def read(data: bytes, file_name: str, options: InputOptions) -> Graph:
    """The graph of an NNEF model."""
    import nnef_format.operations  # noqa: F401 - registers

    return Import(data, file_name, options).graph()


NNEF = ModelFormat("nnef", recognizes, read)
