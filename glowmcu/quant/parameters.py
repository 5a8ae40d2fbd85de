"""Scale and zero point of every tensor of the int8 nodes.

Tensors that must agree (the operand and result of a pooling, all operands of a concatenation) are
gathered into groups; a group spans what any of its members needs. A result that mathematics fixes
(softmax) brings its parameters into its group, and so does a tensor that the model stores in int8
of itself; whoever needs others gets a requantization.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange, StateRule
from glowmcu.ir.types import ElementType, Quantization
from glowmcu.ops.quantization import Dequantize
from glowmcu.ops.wide import fixed_wide_parameters
from glowmcu.quant.int8_partition import is_conversion
from glowmcu.quant.masked_ranges import masked_ranges
from glowmcu.quant.profile import Profile, profiled_values
from glowmcu.quant.ranges import Calibration, Method, Range, choose_range
from glowmcu.quant.schemas import Schema, choose_parameters
from glowmcu.quant.wide import choose_sample_parameters, choose_wide_parameters

Parameters = dict[Value, Quantization]
_FixedParameters = Callable[[tuple[float, int]], Quantization]


def _fixed_parameters(fixed: tuple[float, int]) -> Quantization:
    return Quantization((fixed[0],), (fixed[1],))


_CHOICES: dict[
    ElementType, tuple[Callable[[float, float, Schema], Quantization], _FixedParameters]
] = {
    ElementType.I8: (choose_parameters, _fixed_parameters),
    ElementType.I16: (choose_wide_parameters, fixed_wide_parameters),
}


class _Groups:
    """Union-find over values; a group may have fixed parameters, made by `from_rule`."""

    def __init__(self, from_rule: _FixedParameters) -> None:
        self.from_rule = from_rule
        self._parent: dict[Value, Value] = {}
        self.fixed: dict[Value, Quantization] = {}

    def root(self, value: Value) -> Value:
        """The value that stands for the group of `value`."""
        self._parent.setdefault(value, value)
        while self._parent[value] is not value:
            self._parent[value] = self._parent[self._parent[value]]
            value = self._parent[value]
        return value

    def members_of_any(self) -> Iterable[Value]:
        """All values of all groups."""
        return self._parent.keys()

    def fixed_of(self, value: Value) -> Quantization | None:
        return self.fixed.get(self.root(value))

    def join(self, first: Value, second: Value) -> None:
        """One group of two; not for groups that are fixed to different parameters."""
        a, b = self.root(first), self.root(second)
        if a is b:
            return
        fixed = {q for q in (self.fixed.pop(a, None), self.fixed.pop(b, None)) if q is not None}
        assert len(fixed) < 2
        self._parent[b] = a
        if fixed:
            self.fixed[a] = fixed.pop()

    def members(self) -> dict[Value, list[Value]]:
        """Root to all values of its group, in order of their first use."""
        found: dict[Value, list[Value]] = {}
        for value in self._parent:
            found.setdefault(self.root(value), []).append(value)
        return found


def assign_parameters(
    graph: Graph,
    rules: Mapping[Node, QuantizationRule],
    profile: Profile,
    calibration: Calibration,
    also: Iterable[Value] = (),
    element: ElementType = ElementType.I8,
    others: Iterable[tuple[Node, QuantizationRule]] = (),
) -> Parameters:
    """Parameters of each activation and result of the nodes of `rules`, and of `also`; of int16 the
    states that are wide in any case, also those of the nodes of `others`.
    """
    choose, fixed = _CHOICES[element]
    groups = _Groups(fixed)
    if element is ElementType.I8:
        groups.fixed.update(_own_parameters(graph, rules))
    for value in (*groups.fixed, *also):
        groups.root(value)
    for node, rule in rules.items():
        _group(groups, node, rule)
    powers, heard = set[Value](), set[Value]()
    if element is ElementType.I16:
        for node, rule in (*rules.items(), *others):
            powers |= _group_wide_states(groups, node, rule)
            heard |= samples_of(node, rule)
        for value in heard:
            groups.root(value)
    for state, value in zip(graph.states, graph.assigned, strict=True):
        _join_state(groups, state, value, element)
    ranges = _Ranges(graph, profile, calibration)
    inputs = set(graph.arguments)
    parameters: Parameters = {}
    for root, members in groups.members().items():
        chosen = groups.fixed.get(root)
        if chosen is None:
            low, high = ranges.of_group(members, element)
            chosen = choose(low, high, calibration.schema)
            if not powers.isdisjoint(members):
                chosen = choose(low, high, Schema.SYMMETRIC_WITH_POWER2_SCALE)
            if not heard.isdisjoint(members) and not inputs.isdisjoint(members):
                chosen = choose_sample_parameters(low, high)
        parameters.update(dict.fromkeys(members, chosen))
    return parameters


def _own_parameters(graph: Graph, rules: Mapping[Node, QuantizationRule]) -> Parameters:
    """Those of real tensors that are stored in the model, as what they are read from or all that
    read them have it.
    """
    found: Parameters = {}
    for node in graph.nodes:
        if not is_conversion(graph, node):
            continue
        (x,), out = node.inputs, node.output
        if isinstance(node.op, Dequantize):
            real, stored = out, x.type.quantization
        else:
            real, stored = x, out.type.quantization
            maker = rules.get(graph.producers[x]) if x in graph.producers else None
            readers = graph.users[x]
            is_free = maker is None or (
                maker.result is ResultRange.OWN and not maker.unified and not maker.states
            )
            alike = all(
                is_conversion(graph, reader) and reader.output.type == out.type
                for reader in readers
            )
            if not is_free or not alike:
                continue
        if stored is not None:
            found[real] = stored
    return found


def _join_state(groups: _Groups, state: State, value: Value, element: ElementType) -> None:
    """What a state becomes is stored as it is: nothing is lost from run to run. One that begins
    beyond what is fixed for its values (a tanh's) has parameters of its own.
    """
    known = set(groups.members_of_any())
    if state.value in known or value in known:
        # Who is asked for what is fixed has a group.
        fixed = [groups.fixed_of(item) for item in (state.value, value)]
        chosen = {quantization for quantization in fixed if quantization is not None}
        if len(chosen) < 2 and all(_holds(item, element, state.initial) for item in chosen):
            groups.join(state.value, value)


def _holds(quantization: Quantization, element: ElementType, data: Array) -> bool:
    """Whether no real number of `data` is beyond what is stored by more than a step."""
    low, high = element.limits
    steps = data / quantization.scales[0] + quantization.zero_points[0]
    return bool(low - 1 <= steps.min(initial=low) and steps.max(initial=high) <= high + 1)


def _group(groups: _Groups, node: Node, rule: QuantizationRule) -> None:
    apart = wide_states(node, rule)
    operands = [
        node.inputs[position]
        for position in rule.activations
        if all(state.operand != position for state in rule.states)
        if position not in rule.samples
    ]
    real = [value for value in node.outputs if value.type.element is ElementType.F32]
    results = [value for value in real if value not in apart]
    for value in (*operands, *results):
        groups.root(value)
    if rule.result is ResultRange.FIXED:
        assert rule.fixed is not None, f"{node.op.name}: a fixed result without parameters"
        for value in results:
            groups.fixed[groups.root(value)] = groups.from_rule(rule.fixed)
    elif rule.unified:
        _unify(groups, operands, results)
    elif rule.result is ResultRange.SAME:
        for value in results:
            groups.join(operands[0], value)
    for state in rule.states:
        if not state.wide:
            groups.join(results[0], node.outputs[state.result])
            _join_if_free(groups, results[0], _operand(node, state))


def _operand(node: Node, state: StateRule) -> Value | None:
    return None if state.operand is None else node.inputs[state.operand]


def _join_if_free(groups: _Groups, result: Value, operand: Value | None) -> None:
    """One group, unless both are fixed to something else: then the operand is rescaled."""
    if operand is not None:
        groups.root(operand)
        if len({groups.fixed_of(value) for value in (result, operand)} - {None}) < 2:
            groups.join(result, operand)


def _group_wide_states(groups: _Groups, node: Node, rule: QuantizationRule) -> set[Value]:
    """Those that want a power of two."""
    powers = set()
    for state in rule.states:
        if state.wide:
            result = node.outputs[state.result]
            groups.root(result)
            _join_if_free(groups, result, _operand(node, state))
            powers |= {result} if state.is_power_of_two else set()
    return powers


def wide_states(node: Node, rule: QuantizationRule) -> set[Value]:
    """Results of the node that are int16 whatever it is."""
    return {node.outputs[state.result] for state in rule.states if state.wide}


def samples_of(node: Node, rule: QuantizationRule) -> set[Value]:
    """Operands of the node that are int16 whatever it is."""
    return {node.inputs[position] for position in rule.samples}


def raw_inputs(
    graph: Graph, rules: Mapping[Node, QuantizationRule], wide_nodes: Collection[Node]
) -> set[Value]:
    """Inputs of the model that are samples in int16, or what int16 layers make samples of."""
    found = set[Value]()
    for node in reversed(graph.nodes):
        if node in rules:
            found |= samples_of(node, rules[node])
        if node in wide_nodes and not found.isdisjoint(node.outputs):
            found.update(node.inputs)
    return found.intersection(graph.arguments)


def _unify(groups: _Groups, operands: list[Value], results: list[Value]) -> None:
    """All in one group; operands with fixed parameters only if that goes for all, alike."""
    fixed = {groups.fixed_of(value) for value in operands}
    together = operands if len(fixed) == 1 else [v for v in operands if not groups.fixed_of(v)]
    for value in (*together, *results):
        groups.join(results[0] if results else together[0], value)


class _Ranges:
    """Real ranges of values: measured, or those of a constant's data."""

    def __init__(self, graph: Graph, profile: Profile, calibration: Calibration) -> None:
        self._graph = graph
        self._profile = profile
        self._calibration = calibration
        self._names = profiled_values(graph)
        self._outputs = set(graph.outputs)
        self._masked = masked_ranges(graph, self._measured)

    def of(self, value: Value) -> Range:
        return self._masked[value] if value in self._masked else self._measured(value)

    def of_group(self, members: Iterable[Value], element: ElementType) -> Range:
        """What all members need. A constant so large that what was measured would lie within one
        step (3.4e38 for an infinity that never came) is saturated.
        """
        measured, constant = list[Range](), list[Range]()
        for value in members:
            is_constant = self._graph.constant_data(value) is not None
            (constant if is_constant else measured).append(self.of(value))
        low, high = _hull(measured or constant)
        lowest, highest = _hull([*measured, *constant])
        first, last = element.limits
        span = max(high, 0.0) - min(low, 0.0)
        is_lost = highest - lowest > span * (last - first)
        return (low, high) if span and is_lost else (lowest, highest)

    def _measured(self, value: Value) -> Range:
        data = self._graph.constant_data(value)
        if data is not None:
            return _range_of(data)
        if value not in self._names:
            return 0.0, 0.0  # an empty tensor
        # Outputs are what the application sees: nothing of theirs is cut off.
        calibration = Calibration(Method.MINMAX) if value in self._outputs else self._calibration
        return choose_range(self._profile.tensors[self._names[value]], calibration)


def _hull(ranges: Iterable[Range]) -> Range:
    lows, highs = zip(*ranges, strict=True)
    return min(lows), max(highs)


def _range_of(data: Array) -> Range:
    return (float(data.min()), float(data.max())) if data.size else (0.0, 0.0)
