"""Operators of .tflite files that mean something together: branches, loops, variables, and what an
operator notes for those after it. Damaged are single tensors, operands and operators of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from glowmcu.frontend.tflite.container import (
    DECODE_ERRORS,
    ModelRecord,
    OperatorRecord,
    TensorRecord,
)
from glowmcu.frontend.tflite.importer import Import, load_importers
from glowmcu.frontend.tflite.writer_options import OptionValue
from glowmcu.input_options import InputOptions
from tests.frontend.tflite_damage import c, options_table, t, w
from tests.frontend.verdicts import emitted, said, table


@dataclass(frozen=True)
class Step:
    """An operator on tensors by their names; an empty one is left out."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    options: Mapping[str, OptionValue] | None = None


@dataclass(frozen=True)
class Program:
    """A graph: its tensors, steps, inputs and outputs by name, and subgraphs from 1 on."""

    tensors: Mapping[str, TensorRecord]
    steps: tuple[Step, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    others: tuple[Program, ...] = ()

    def record(self) -> ModelRecord:
        """As the reader makes it of a file."""
        names = list(self.tensors)
        tensors = tuple(
            replace(record, index=index, name=name)
            for index, (name, record) in enumerate(self.tensors.items())
        )
        found = {name: index for index, name in enumerate(names)} | {"": -1}
        operators = tuple(
            OperatorRecord(
                index, step.kind, tuple(found[name] for name in step.inputs),
                tuple(found[name] for name in step.outputs),
                None if step.options is None else options_table(step.kind, step.options),
            )
            for index, step in enumerate(self.steps)
        )  # fmt: skip
        inputs, outputs = (tuple(map(found.__getitem__, n)) for n in (self.inputs, self.outputs))
        others = tuple(other.record() for other in self.others)
        return ModelRecord(tensors, operators, inputs, outputs, others)

    def verdict(self) -> str:
        """The first refusal, or all nodes and results."""
        return said(self._imported, DECODE_ERRORS)

    def _imported(self) -> str:
        model = self.record()
        state = Import(model, InputOptions())
        for index in model.inputs:
            state.graph_input(index)
        for op in model.operators:
            load_importers()[op.name](state, op)
        results = [(model.tensors[i].name, state.tensor_value(i)) for i in model.outputs]
        given = {r.name: bytes(r.data) for r in model.tensors if r.data is not None}
        return emitted(state.builder, results, given)


def report(name: str, program: Program) -> str:
    """The table of a program and all its damages."""
    found = [(label, damaged.verdict()) for label, damaged in damages(program)]
    return f"{name}\n" + table(program.verdict(), found)


def damages(program: Program) -> Iterator[tuple[str, Program]]:
    """Each with its name; those of subgraph `n` begin with `n:`."""
    yield from _of_graph(program)
    for number, other in enumerate(program.others):
        for label, damaged in _of_graph(other):
            others = (*program.others[:number], damaged, *program.others[number + 1 :])
            yield f"{number + 1}: {label}", replace(program, others=others)


def _of_graph(program: Program) -> Iterator[tuple[str, Program]]:
    for place, step in enumerate(program.steps):
        before, after = program.steps[:place], program.steps[place + 1 :]
        yield f"no {step.kind}", replace(program, steps=(*before, *after))
        if after:
            turned = (*before, after[0], step, *after[1:])
            yield f"{step.kind} later", replace(program, steps=turned)
        for what, changed in _of_step(step):
            label = f"{step.kind} {place} {what}"
            yield label, replace(program, steps=(*before, changed, *after))
    for name, record in program.tensors.items():
        for what, other in _of_tensor(record):
            yield f"{name} {what}", replace(program, tensors={**program.tensors, name: other})
    yield "one input less", replace(program, inputs=program.inputs[:-1])
    yield "one output less", replace(program, outputs=program.outputs[:-1])
    if program.inputs:
        yield "an output is an input", replace(program, outputs=program.inputs[:1])


def _of_step(step: Step) -> Iterator[tuple[str, Step]]:
    for place in range(len(step.inputs)):
        inputs = (*step.inputs[:place], "", *step.inputs[place + 1 :])
        yield f"lacks operand {place}", replace(step, inputs=inputs)
    yield "one operand less", replace(step, inputs=step.inputs[:-1])
    yield "no operands", replace(step, inputs=())
    yield "one result less", replace(step, outputs=step.outputs[:-1])
    if step.outputs:
        yield "one result more", replace(step, outputs=(*step.outputs, step.outputs[-1]))
    if step.options is not None:
        yield "no options", replace(step, options=None)
    for name, value in (step.options or {}).items():
        for other in _others(value):
            if other != value:
                yield (
                    f"{name}={other}",
                    replace(step, options={**(step.options or {}), name: other}),
                )


def _others(value: OptionValue) -> list[OptionValue]:
    if isinstance(value, str):
        return ["", "other"]
    if isinstance(value, list):
        ends: list[OptionValue] = [[*value[:-1], last] for last in (-1, 0, 1, 2)]
        return [[], value[:-1], [*value, 1], *ends]
    return [0, 1, 2, 3]


def _of_tensor(record: TensorRecord) -> Iterator[tuple[str, TensorRecord]]:
    if record.type_name == "RESOURCE":
        return
    if record.data is None:
        yield "longer", replace(record, shape=(*record.shape[:-1], 7))
        yield "int32", replace(record, type_name="INT32", scales=(), zero_points=())
        if record.scales:
            yield "other scale", replace(record, scales=(2.0,))
    else:
        yield "computed", replace(record, data=None)
    if record.is_variable:
        yield "no variable", replace(record, is_variable=False)


HANDLE = t((), "RESOURCE")


def _handle(name: str = "v") -> Step:
    return Step("VAR_HANDLE", (), ("h",), {"shared_name": name, "container": "c"})


def _graph(inputs: str, outputs: str, *steps: Step, **tensors: TensorRecord) -> Program:
    return Program(tensors, steps, tuple(inputs.split()), tuple(outputs.split()))


def _with(program: Program, *others: Program) -> Program:
    return replace(program, others=others)


def _step(kind: str, inputs: str, outputs: str, **options: OptionValue) -> Step:
    return Step(kind, tuple(inputs.split()), tuple(outputs.split()), options or None)


F, I32, BOOL = "FLOAT32", "INT32", "BOOL"
_V = t((2,), F)
_DOUBLE = _graph("a", "b", _step("ADD", "a a", "b"), a=_V, b=_V)
_NEGATE = _graph("a", "b", _step("NEG", "a", "b"), a=_V, b=_V)
_KEEP = _graph("a", "a", a=_V)
_ASSIGN = _graph(
    "a", "b", _handle(), _step("ASSIGN_VARIABLE", "h a", ""), _step("READ_VARIABLE", "h", "b"),
    a=_V, b=_V, h=HANDLE,
)  # fmt: skip
_READ = _graph("a", "b", _handle(), _step("READ_VARIABLE", "h", "b"), h=HANDLE, a=_V, b=_V)
_IF = {"then_subgraph_index": 1, "else_subgraph_index": 2}
_WHILE = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
#: Counts an int32 to 3, or as far as data say, and adds to what is beside it.
_BELOW = _graph("i v", "go", _step("LESS", "i n", "go"), i=t((), I32), v=_V, n=c(3), go=t((), BOOL))
_LONG = replace(_BELOW, tensors={**_BELOW.tensors, "n": c(30)})
_STEP = _graph(
    "i v", "j w", _step("ADD", "i one", "j"), _step("ADD", "v v", "w"),
    i=t((), I32), v=_V, one=c(1), j=t((), I32), w=_V,
)  # fmt: skip
_STEP_OF_VARIABLE = _graph(
    "i v", "j w", _handle(), _step("READ_VARIABLE", "h", "r"), _step("ADD", "i one", "j"),
    _step("ADD", "v r", "w"), _step("ASSIGN_VARIABLE", "h w", ""),
    h=HANDLE, r=_V, i=t((), I32), v=_V, one=c(1), j=t((), I32), w=_V,
)  # fmt: skip
_STEP_OF_LAYER = _graph(
    "i v", "j w", _step("ADD", "i one", "j"), _step("SVDF", "v f t b s", "w", rank=2),
    i=t((), I32), v=t((1, 2), F), one=c(1), j=t((), I32), w=t((1, 2), F), f=w((4, 2), dtype=F),
    t=w((4, 2), dtype=F), b=c([5, 6], F), s=t((1, 8), F, variable=True),
)  # fmt: skip
_LAYERS = _graph("x", "n y", _step("WHILE", "zero x", "n y", **_WHILE),
                 zero=c(0), x=t((1, 2), F), n=t((), I32), y=t((1, 2), F))  # fmt: skip
_LOOP = _graph("x", "n y", _step("WHILE", "zero x", "n y", **_WHILE),
               zero=c(0), x=_V, n=t((), I32), y=_V)  # fmt: skip
_BY_DATA = _graph("k x", "n y", _step("WHILE", "k x", "n y", **_WHILE),
                  k=t((), I32), x=_V, n=t((), I32), y=_V)  # fmt: skip
_CHOICE = _graph("go x", "y", _step("IF", "go x", "y", **_IF), go=t((), BOOL), x=_V, y=_V)
#: Adds the element of a table that has the trip's number.
_NUMBERED = _graph(
    "i v", "j w", _step("ADD", "i one", "j"), _step("SLICE", "table i one", "part"),
    _step("ADD", "v part", "w"), i=t((1,), I32), v=_V, one=c([1]), j=t((1,), I32), w=_V,
    table=c(range(90), F), part=t((1,), F),
)  # fmt: skip
_BY_NUMBER = _graph("x", "n y", _step("WHILE", "zero x", "n y", **_WHILE),
                    zero=c([0]), x=_V, n=t((1,), I32), y=_V)  # fmt: skip
_NUMBERS = _graph("i v", "go", _step("LESS", "i n", "go"), i=t((1,), I32), v=_V, n=c([20]),
                  go=t((1,), BOOL))  # fmt: skip
_INITIAL = _graph("", "", _handle(), _step("ASSIGN_VARIABLE", "h first", ""), h=HANDLE,
                  first=c([5, 6], F))  # fmt: skip
_ROWS = t((1, 5, 2, 96), variable=True)
_RING = "CUSTOM CIRCULAR_BUFFER"
_SUM = _graph("a b", "s", _step("STABLEHLO_ADD", "a b", "s"), a=t((), F), b=t((), F), s=t((), F))
_WINDOWS: dict[str, OptionValue] = {
    "window_dimensions": [1, 2, 3, 1], "window_strides": [1, 1, 1, 1],
    "base_dilations": [1, 1, 1, 1], "window_dilations": [1, 1, 1, 1],
    "padding": [0, 0, 0, 0, 1, 1, 0, 0], "body_subgraph_index": 1,
}  # fmt: skip
_SCATTER: dict[str, OptionValue] = {
    "update_window_dims": [1], "inserted_window_dims": [0], "scatter_dims_to_operand_dims": [0],
    "index_vector_dim": 1, "update_computation_subgraph_index": 1,
}  # fmt: skip

PROGRAMS: dict[str, Program] = {
    "a variable that is read and then assigned": _graph(
        "x", "r", _handle(), _step("READ_VARIABLE", "h", "r"),
        _step("ASSIGN_VARIABLE", "h x", ""), h=HANDLE, x=t((2,)), r=t((2,)),
    ),
    "a variable that is assigned and then read": _graph(
        "x", "r", _handle(), _step("ASSIGN_VARIABLE", "h x", ""),
        _step("READ_VARIABLE", "h", "r"), h=HANDLE, x=t((2,)), r=t((2,)),
    ),
    "a variable that is read alone": _graph(
        "x", "y", _handle(), _step("READ_VARIABLE", "h", "r"), _step("ADD", "x r", "y"),
        h=HANDLE, r=_V, x=_V, y=_V,
    ),
    "a variable that begins with something": _with(
        _graph(
            "x", "r", _step("CALL_ONCE", "", "", init_subgraph_index=1), _handle(),
            _step("READ_VARIABLE", "h", "r"), _step("ASSIGN_VARIABLE", "h x", ""),
            h=HANDLE, x=_V, r=_V,
        ),
        _INITIAL,
    ),
    "a branch that is chosen by data": _with(_CHOICE, _DOUBLE, _NEGATE),
    "a branch that is known": _with(
        replace(_CHOICE, inputs=("x",), tensors={**_CHOICE.tensors, "go": c(True, BOOL)}),
        _DOUBLE, _NEGATE,
    ),
    "a branch that assigns a variable": _with(_CHOICE, _ASSIGN, _READ),
    "a branch that hands on": _with(_CHOICE, _KEEP, _DOUBLE),
    "a short loop": _with(_LOOP, _BELOW, _STEP),
    "a long loop": _with(_LOOP, _LONG, _STEP),
    "a long loop that needs its number": _with(_BY_NUMBER, _NUMBERS, _NUMBERED),
    "a loop that data end": _with(_BY_DATA, _BELOW, _STEP),
    "a loop with a variable": _with(_BY_DATA, _BELOW, _STEP_OF_VARIABLE),
    "a short loop with a variable": _with(_LOOP, _BELOW, _STEP_OF_VARIABLE),
    "a short loop of a layer with a state": _with(
        _LAYERS, replace(_BELOW, tensors={**_BELOW.tensors, "v": t((1, 2), F)}), _STEP_OF_LAYER
    ),
    "two layers with one state": _graph(
        "x", "y z", *(_step("SVDF", "x f t b s", name, rank=2) for name in "yz"),
        x=t((1, 3), F), f=w((4, 3), dtype=F), t=w((4, 2), dtype=F), b=c([5, 6], F),
        s=t((1, 8), F, variable=True), y=t((1, 2), F), z=t((1, 2), F),
    ),
    "a last buffer and one behind it": _graph(
        "x", "y", *(_step(_RING, "x", f"b{n}") for n in range(4)), _step(_RING, "x", "y"),
        x=t((1, 1, 2, 96)), **{f"b{n}": t((1, 7, 2, 96), variable=True) for n in range(3)},
        b3=_ROWS, y=t((1, 7, 2, 96), variable=True),
    ),
    "five buffers that do not say their cycles": _graph(
        "x", "y", *(_step(_RING, "x", f"b{n}") for n in range(4)),
        _step(_RING, "x", "y"), x=t((1, 1, 2, 96)),
        **{f"b{n}": t((1, 7, 2, 96), variable=True) for n in range(4)},
        y=t((1, 7, 2, 96), variable=True),
    ),
    "a composite": _with(_graph(
        "x", "y", _step("STABLEHLO_COMPOSITE", "x", "y", decomposition_subgraph_index=1),
        x=_V, y=_V,
    ), _DOUBLE),
    "sums of windows": _with(_graph(
        "x", "y", _step("STABLEHLO_REDUCE_WINDOW", "x start", "y", **_WINDOWS),
        x=t((1, 3, 4, 2), F), start=c(0, F), y=t((1, 2, 4, 2), F),
    ), _SUM),
    "rows that are scattered": _with(_graph(
        "x new", "y", _step("STABLEHLO_SCATTER", "x at new", "y", **_SCATTER),
        x=t((4, 3), F), at=c([[2], [0]]), new=t((2, 3), F), y=t((4, 3), F),
    ), _SUM),
}  # fmt: skip
