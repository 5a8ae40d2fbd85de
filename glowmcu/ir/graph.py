"""Graph IR: values with types, nodes in topological order. Passes make new graphs from old ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

from glowmcu.ir.operation import Array, Constant, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class Value:
    """An SSA value: a graph input or a node's result. Compared by identity."""

    type: TensorType
    name: str


@dataclass(frozen=True, eq=False)
class Node:
    """One use of an operator. `name` is for people, `source` where it came from in the model
    file; `stage` is its stage's number in a graph of several rates.
    """

    op: Operation
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    name: str = ""
    source: str = ""
    stage: int = 0

    @cached_property
    def signature(self) -> Signature:
        return Signature(
            tuple(value.type for value in self.inputs), tuple(value.type for value in self.outputs)
        )

    @cached_property
    def type_fault(self) -> OperationError | None:
        """Why the operator does not take these types: found once, as neither changes, though every
        pass has its graph verified.
        """
        try:
            _verify_types(self.op, self.signature)
        except OperationError as cause:
            return cause
        return None

    @property
    def output(self) -> Value:
        return self.outputs[0]

    @property
    def macs(self) -> int:
        return self.op.macs(self.signature)


@dataclass(frozen=True, eq=False)
class State:
    """A value that outlives a run: an input of the graph that holds what the run before left of it,
    and `initial` (of its shape and dtype) at the beginning of a stream.

    A `shared` one is read as a whole by others than this graph's nodes. In a loop's body, where a
    run is a trip, it `is_carried`: the loop's operand is its beginning.
    """

    value: Value
    initial: Array
    shared: bool = False
    is_carried: bool = False


@dataclass(frozen=True)
class Rate:
    """When a stage computes: in run `first` of a stream (0 is the first) and every `period` from
    there. One with an `argument` does in the runs in which that argument of the graph, an int32,
    is from 0 to `end` - 1.
    """

    name: str
    first: int
    period: int
    argument: str = ""
    end: int = 0

    @property
    def is_always_due(self) -> bool:
        """Whether the stage computes in every run."""
        return self.first == 0 and self.period == 1 and not self.argument

    def is_due(self, run: int, arguments: Mapping[str, Array] | None = None) -> bool:
        """Whether the stage computes in this run, whose arguments are these by name."""
        if self.argument:
            assert arguments is not None, f"{self.name} waits for {self.argument}"
            return 0 <= int(arguments[self.argument].reshape(-1)[0]) < self.end
        return run >= self.first and (run - self.first) % self.period == 0


#: In `Graph.metadata`, where a file says how its numbers are rounded: a `Rounding`'s value.
FIXED_ROUNDING = "rounding"
_ONE_INTEGER = TensorType((1,), ElementType.I32)


class VerificationError(AssertionError):
    """A graph breaks its own rules after a pass: our bug. The text names the node and the rule."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A model: inputs, nodes in topological order, outputs. `kept` inputs survive a run.

    The values of `states` are the last inputs, in order, and as many last outputs are what they
    become. So a pass that keeps to inputs and outputs keeps states; what the application sees are
    `arguments` and `results`.

    With `rates` not all nodes compute in every run: those of a stage do by its rate. What one stage
    hands to the next, and every result, is a state, so that it is there when its maker is not due;
    or else the maker is always due.
    """

    name: str
    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]
    rounding: Rounding = Rounding.DOUBLE
    metadata: Mapping[str, str] = field(default_factory=dict)
    kept: tuple[Value, ...] = ()
    states: tuple[State, ...] = ()
    rates: tuple[Rate, ...] = ()

    @property
    def arguments(self) -> tuple[Value, ...]:
        """Inputs that the application writes."""
        return self.inputs[: len(self.inputs) - len(self.states)]

    @property
    def results(self) -> tuple[Value, ...]:
        """Outputs that the application reads."""
        return self.outputs[: len(self.outputs) - len(self.states)]

    @property
    def assigned(self) -> tuple[Value, ...]:
        """The value that each of `states` has at the end of a run, in their order."""
        return self.outputs[len(self.outputs) - len(self.states) :]

    @cached_property
    def producers(self) -> dict[Value, Node]:
        """Value to the node that makes it; graph inputs have none."""
        return {value: node for node in self.nodes for value in node.outputs}

    @cached_property
    def users(self) -> dict[Value, list[Node]]:
        """Value to the nodes that read it, in order (a node appears once a value)."""
        users: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in dict.fromkeys(node.inputs):
                users.setdefault(value, []).append(node)
        return users

    def constant_data(self, value: Value) -> Array | None:
        """Data of a constant value, or None."""
        node = self.producers.get(value)
        return node.op.data if node is not None and isinstance(node.op, Constant) else None

    @property
    def macs(self) -> int:
        return sum(node.macs for node in self.nodes)

    def replace(
        self,
        nodes: Iterable[Node] | None = None,
        outputs: Iterable[Value] | None = None,
        rounding: Rounding | None = None,
        kept: Iterable[Value] | None = None,
    ) -> Graph:
        """A copy with other nodes, outputs, rounding or kept inputs."""
        return Graph(
            self.name,
            self.inputs,
            self.nodes if nodes is None else tuple(nodes),
            self.outputs if outputs is None else tuple(outputs),
            self.rounding if rounding is None else rounding,
            self.metadata,
            self.kept if kept is None else tuple(kept),
            self.states,
            self.rates,
        )

    def verify(self) -> None:
        """Raise VerificationError unless every node is fed, typed and shaped rightly."""
        known = set(self.inputs)
        if len(known) != len(self.inputs):
            raise VerificationError(f"{self.name}: an input appears twice")
        for index, node in enumerate(self.nodes):
            try:
                _verify_node(node, known)
            except OperationError as cause:
                where = f"{self.name}, node {index} {node.op.name} {node.name!r}"
                raise VerificationError(f"{where}: {cause}") from cause
            known.update(node.outputs)
        for value in self.outputs:
            if value not in known:
                raise VerificationError(f"{self.name}: output {value.name!r} is never computed")
        self._verify_states()
        self._verify_rates()

    def _verify_states(self) -> None:
        count = len(self.states)
        values = tuple(state.value for state in self.states)
        if count > len(self.outputs) or self.inputs[len(self.inputs) - count :] != values:
            raise VerificationError(f"{self.name}: states are not the last inputs and outputs")
        for state, value in zip(self.states, self.assigned, strict=True):
            type_ = state.value.type
            if value.type != type_:
                raise VerificationError(
                    f"{self.name}: state {state.value.name!r} is {type_}, and becomes {value.type}"
                )
            if (state.initial.shape, state.initial.dtype) != (type_.shape, type_.element.numpy):
                raise VerificationError(
                    f"{self.name}: state {state.value.name!r} is {type_}, and begins as "
                    f"{state.initial.dtype}{list(state.initial.shape)}"
                )

    def _verify_rates(self) -> None:
        if not self.rates:
            if any(node.stage for node in self.nodes):
                raise VerificationError(f"{self.name}: a node has a stage that has no rate")
            return
        if not all(0 <= node.stage < len(self.rates) for node in self.nodes):
            raise VerificationError(f"{self.name}: a node has a stage that has no rate")
        gated = [node.stage for node in self.nodes if not self.rates[node.stage].is_always_due]
        if gated != sorted(gated):
            raise VerificationError(f"{self.name}: nodes are not in the order of their stages")
        for rate in self.rates:
            named = [value for value in self.arguments if value.name == rate.argument]
            if rate.argument and [value.type for value in named] != [_ONE_INTEGER]:
                raise VerificationError(f"{self.name}: {rate.argument!r} is no argument i32[1]")
        self._verify_crossings()

    def _verify_crossings(self) -> None:
        """A stage reads of others what is there in every run; one has a state's old value."""
        there = {*self.assigned, *self.arguments}
        for node in self.nodes:
            if self.rates[node.stage].is_always_due or isinstance(node.op, Constant):
                there.update(node.outputs)
        if not there.issuperset(self.results):
            raise VerificationError(f"{self.name}: a result is no state")
        readers = {state.value: set[int]() for state in self.states}
        for node in self.nodes:
            for value in node.inputs:
                if value in readers:
                    readers[value].add(node.stage)
                elif value not in there and self.producers[value].stage != node.stage:
                    raise VerificationError(f"{self.name}: {value.name!r} is read by another stage")
        for state, new in zip(self.states, self.assigned, strict=True):
            maker = self.producers.get(new)
            if maker is None:
                continue
            others = {*readers[state.value]} - {maker.stage}
            # What is assigned when an argument says so, all runs read: the old value in any case.
            if self.rates[maker.stage].argument:
                others = {stage for stage in others if not self.rates[stage].is_always_due}
            if others:
                name = state.value.name
                raise VerificationError(f"{self.name}: two stages read and assign state {name!r}")


def _verify_node(node: Node, known: set[Value]) -> None:
    for value in node.inputs:
        if value not in known:
            raise OperationError(f"operand {value.name!r} is not computed before its use")
    for value in node.outputs:
        if value in known:
            raise OperationError(f"result {value.name!r} is computed twice")
    if node.type_fault is not None:
        raise node.type_fault


def _verify_types(op: Operation, signature: Signature) -> None:
    shapes = op.infer(signature.inputs)
    got = tuple(out.shape for out in signature.outputs)
    if shapes != got:
        raise OperationError(f"result shapes must be {shapes}, got {got}")
    for type_ in (*signature.inputs, *signature.outputs):
        quantization = type_.quantization
        if quantization is None:
            continue
        count = 1 if quantization.axis is None else type_.shape[quantization.axis]
        if len(quantization.scales) != count or len(quantization.zero_points) != count:
            raise OperationError(f"{type_}: expected {count} scales and zero points")
    op.verify(signature)


def evaluate_node(node: Node, inputs: Sequence[Array], rounding: Rounding) -> tuple[Array, ...]:
    """Run one node's meaning and check that it kept its word about shapes and dtypes."""
    results = node.op.evaluate(inputs, node.signature, node.op.rounding_in(rounding))
    for value, result in zip(node.outputs, results, strict=True):
        expected = (value.type.shape, value.type.element.numpy)
        assert (result.shape, result.dtype) == expected, (
            f"{node.op.name} {node.name!r} made {result.shape} {result.dtype}, declared {expected}"
        )
    return results
