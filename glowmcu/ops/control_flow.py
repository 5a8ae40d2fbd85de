"""`if` and `loop`: operators whose attributes are graphs.

A loop is one instruction with a body and a count. What the body makes anew in each trip is carried;
rows of operands are handed in one a trip, rows of results are collected.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.errors import ExitCode, error
from glowmcu.ir.body import Body
from glowmcu.ir.graph import Graph, VerificationError
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.registry import operation

#: A loop that data end is given up here: it may be one that never ends. One around other loops is
#: given up 2^_EARLIER times earlier for each level.
MOST_TRIPS, _EARLIER = 4_000, 5


@operation("if")
@dataclass(frozen=True)
class If(Operation):
    """Operand 0 decides; the others are the inputs of both bodies, whose results are of one type.

    Source: micro/kernels/if.cc of TensorFlow Lite Micro; ONNX If.
    """

    then: Body
    otherwise: Body

    def inner_graphs(self) -> tuple[Graph, ...]:
        return (self.then.graph, self.otherwise.graph)

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        if not inputs:
            raise OperationError("an if has no condition")
        for body in (self.then, self.otherwise):
            _expect_inputs(body, inputs[1:])
        if self.then.types != self.otherwise.types:
            raise OperationError("the results of an if differ in its branches")
        return tuple(type_.shape for type_ in self.then.types)

    def verify(self, signature: Signature) -> None:
        _expect_condition(signature.inputs[0])
        _verify_body(self.then)
        _verify_body(self.otherwise)
        if signature.outputs != self.then.types:
            raise OperationError(f"an if gives {self.then.types}, not {signature.outputs}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        body = self.then if bool(inputs[0].reshape(-1)[0]) else self.otherwise
        return tuple(run_graph(body.graph.replace(rounding=rounding), inputs[1:]))

    def macs(self, signature: Signature) -> int:
        """Of the branch that has more."""
        return max(self.then.graph.macs, self.otherwise.graph.macs)


@operation("loop")
@dataclass(frozen=True)
class Loop(Operation):
    """The body, again and again.

    Operands: a condition where the loop `is_conditional`; `carried` values that go from trip to
    trip; `scanned` ones, of which trip i gets row i; others, which stay as they are. The body
    has inputs for all but the condition. Its results: the condition of the next trip, what is
    carried on, rows to collect. The loop's: what is carried in the end, the collected rows.
    `trips` bounds the number of trips; None: the condition alone ends the loop. What is scanned or
    collected has as many rows as there are trips, so that no condition ends such a loop.

    Source: micro/kernels/while.cc of TensorFlow Lite Micro; ONNX Loop and Scan.
    """

    body: Body
    carried: int
    scanned: int = 0
    trips: int | None = None
    is_conditional: bool = False

    def inner_graphs(self) -> tuple[Graph, ...]:
        return (self.body.graph,)

    @property
    def collected(self) -> int:
        """How many results are rows of all trips."""
        return len(self.body.results) - self.first_carried - self.carried

    @property
    def evaluations(self) -> int:
        return self.trips or 1

    @property
    def first_carried(self) -> int:
        """The body's first result that is carried on, and the first such operand of the loop."""
        return int(self.is_conditional)

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        self._expect_consistent()
        first = self.first_carried
        own = list(inputs[first:])
        if len(own) < self.carried + self.scanned:
            raise OperationError(f"a loop over {self.carried} values has {len(inputs)} operands")
        for position in range(self.carried, self.carried + self.scanned):
            shape = own[position].shape
            if not shape or shape[0] != self.trips:
                raise OperationError(f"a loop of {self.trips} trips scans {own[position]}")
            own[position] = own[position].with_shape(shape[1:])
        _expect_inputs(self.body, own)
        types = self.body.types
        last = types[first : first + self.carried]
        if tuple(own[: self.carried]) != last:
            raise OperationError(f"a loop carries {own[: self.carried]} and then {list(last)}")
        rows = types[first + self.carried :]
        return (*(t.shape for t in last), *((self.trips or 0, *t.shape) for t in rows))

    def _expect_consistent(self) -> None:
        if min(self.carried, self.scanned, self.collected) < 0:
            raise OperationError("a loop's body does not give all that it carries")
        if self.trips is None and not self.is_conditional:
            raise OperationError("a loop has neither a count nor a condition")
        if self.trips is not None and self.trips < 1:
            raise OperationError(f"a loop of {self.trips} trips")
        if self.is_conditional and (self.scanned or self.collected):
            raise OperationError("a loop that data end cannot scan or collect rows")

    def verify(self, signature: Signature) -> None:
        _verify_body(self.body)
        if self.is_conditional:
            _expect_condition(signature.inputs[0])
            _expect_condition(self.body.types[0])
        results = self.body.types[self.first_carried :]
        expected = tuple(
            type_ if number < self.carried else type_.with_shape((self.trips or 0, *type_.shape))
            for number, type_ in enumerate(results)
        )
        if signature.outputs != expected:
            raise OperationError(f"a loop gives {expected}, not {signature.outputs}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        graph, first = self.body.graph.replace(rounding=rounding), self.first_carried
        again = bool(inputs[0].reshape(-1)[0]) if self.is_conditional else True
        rest = first + self.carried
        carried, scanned = list(inputs[first:rest]), inputs[rest : rest + self.scanned]
        others, rows, trip = inputs[rest + self.scanned :], list[list[Array]](), 0
        most = MOST_TRIPS >> (_EARLIER * _loops_inside(graph))
        while again and trip != self.trips:
            if self.trips is None and trip == most:
                raise _endless(most)
            given = [np.asarray(array[trip], order="C") for array in scanned]
            results = run_graph(graph, [*carried, *given, *others])
            again = bool(results[0].reshape(-1)[0]) if self.is_conditional else True
            carried = results[first:rest]
            if self.collected:
                rows.append(results[rest:])
            trip += 1
        return (*carried, *(np.stack(column) for column in zip(*rows, strict=True)))

    def macs(self, signature: Signature) -> int:
        """Of all trips where their number is known, else of one."""
        trips = 1 if self.is_conditional or self.trips is None else self.trips
        return trips * self.body.graph.macs


def _expect_inputs(body: Body, types: Sequence[TensorType]) -> None:
    if body.inputs != tuple(types):
        raise OperationError(f"a body takes {list(body.inputs)}, and is given {list(types)}")


def _expect_condition(type_: TensorType) -> None:
    if type_.element is not ElementType.BOOL or type_.element_count != 1:
        raise OperationError(f"a condition is {type_}; expected one bool")


def _verify_body(body: Body) -> None:
    try:
        body.graph.verify()
    except VerificationError as cause:
        raise OperationError(f"in a body: {cause}") from cause


def _loops_inside(graph: Graph) -> int:
    """How deep loops lie in each other."""
    return max(
        (
            _loops_inside(inner) + isinstance(node.op, Loop)
            for node in graph.nodes
            for inner in node.op.inner_graphs()
        ),
        default=0,
    )


def _endless(most: int) -> Exception:
    return error(
        "GM143",
        f"a loop goes on after {most} trips on inputs of the self test",
        "",
        "does it end for every input? let a counter bound it, as in `while i < 100 and …`",
        ExitCode.UNSUPPORTED,
    )
