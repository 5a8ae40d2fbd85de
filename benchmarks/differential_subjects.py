"""What seeds from `WIDE_FROM` on compile: networks, and options that say what is computed.

A subject knows what its bundle has to give: by TensorFlow Lite Micro where that can compute it,
perhaps told what a window, a state or a constant holds, else by the Python reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import tflite

import glowmcu
from benchmarks.random_draws import Generator, pick
from benchmarks.random_networks import (
    random_carried_network,
    random_four_bit_network,
    random_network,
)
from glowmcu.api.verification import expected_outputs
from glowmcu.frontend.tflite.schema import schema_enum
from glowmcu.manifest import TensorEntry
from glowmcu.verify.comparison import difference
from glowmcu.verify.measurement import Array
from tests.memplan.spatial_models import SpatialModel, Window
from tests.support.oracle import open_tflm
from tests.support.stream_models import random_stream_model

TFLM, MEANING = "TensorFlow Lite Micro", "Python reference"
#: Outputs of each run, None where a run leaves them as they were.
Wanted = list[Sequence[Array] | None]
Inputs = Sequence[Sequence[Array]]
_PIXELS = {"grey": 1, "rgb888": 3, "rgb565": 2, "rgb565be": 2, "yuyv": 2, "uyvy": 2}


def compared(got: Array, want: Array, entry: TensorEntry) -> str:
    """Where they differ, in words: real numbers may as `glowmcu verify` lets them."""
    return difference(got, want, entry, entry.leeway)


@dataclass(frozen=True)
class Subject:
    """A model `file` and the `arguments` of `glowmcu.compile` that say what it computes.

    `wanted` are the outputs of a stream of runs, `oracle` whose; unless these are TensorFlow Lite
    Micro's, real numbers may differ as `glowmcu verify` lets them. `takes_modes` says whether ways
    of compilation are drawn for it, too, `is_float` that the file has no quantization.
    """

    file: Path
    names: tuple[str, ...]
    operators: tuple[str, ...]
    wanted: Callable[[glowmcu.Bundle, Inputs], Wanted]
    oracle: str = TFLM
    arguments: Mapping[str, Any] = field(default_factory=dict)
    modes: tuple[str, ...] = ()
    takes_modes: bool = True
    has_states: bool = False
    is_float: bool = False
    draw_inputs: Callable[[glowmcu.Bundle, Generator], list[list[Array]]] | None = None
    differs: Callable[[Array, Array, TensorEntry], str] = compared


@dataclass(frozen=True)
class Facts:
    """Inputs of a TFLite model with their types, its operators, and the names of its outputs."""

    inputs: tuple[tuple[str, tuple[int, ...], str, int], ...]
    operators: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the inputs."""
        return tuple(name for name, _, _, _ in self.inputs)


def facts_of(data: bytes) -> Facts:
    """Read from the file, not by what is tested."""
    model = tflite.Model.GetRootAs(data)
    graph = model.Subgraphs(0)
    words = {number: word for word, number in schema_enum("BuiltinOperator").items()}
    types = {number: word.lower() for word, number in schema_enum("TensorType").items()}
    inputs = []
    for place in range(graph.InputsLength()):
        tensor = graph.Tensors(graph.Inputs(place))
        shape = tuple(int(n) for n in np.atleast_1d(tensor.ShapeAsNumpy()))
        numbers = tensor.Quantization()
        has_point = numbers is not None and numbers.ZeroPointLength() > 0
        point = int(numbers.ZeroPoint(0)) if has_point else 0
        inputs.append((tensor.Name().decode(), shape, types[tensor.Type()], point))
    codes = (model.OperatorCodes(i).BuiltinCode() for i in range(model.OperatorCodesLength()))
    names = (graph.Tensors(graph.Outputs(i)).Name() for i in range(graph.OutputsLength()))
    operators = tuple(sorted(words[code] for code in codes))
    return Facts(tuple(inputs), operators, tuple(name.decode() for name in names))


def network_subject(data: bytes, folder: Path, **changes: Any) -> Subject:
    """The network as TensorFlow Lite Micro computes it. Raises OracleRefused."""
    session, facts = open_tflm(data), facts_of(data)
    file = folder / "network.tflite"
    file.write_bytes(data)

    def wanted(_: glowmcu.Bundle, inputs: Inputs) -> Wanted:
        return [[np.asarray(output) for output in session(arrays)] for arrays in inputs]

    plain = Subject(file, facts.names, facts.operators, wanted,
                    has_states="VAR_HANDLE" in facts.operators)  # fmt: skip
    return replace(plain, **changes)


def meant(subject: Subject) -> Subject:
    """The same as the Python reference has it."""

    def wanted(bundle: glowmcu.Bundle, inputs: Inputs) -> Wanted:
        given = [tuple(arrays) for arrays in inputs]
        return list(expected_outputs(bundle, given, subject.file, {}, None)[0])

    return replace(subject, wanted=wanted, oracle=MEANING)


def plain(seed: int, random: Generator, folder: Path) -> Subject:
    """A network, or in one seed of four one of variables."""
    data = random_stream_model(seed) if seed % 4 == 0 else random_network(seed)
    return network_subject(data, folder)


def four_bits(seed: int, random: Generator, folder: Path) -> Subject:
    """Weights of four bits in the file."""
    return network_subject(random_four_bit_network(seed), folder, modes=("weights of four bits",))


def carried(seed: int, random: Generator, folder: Path) -> Subject:
    """An output that is an input of the next run: not seen any more, neither."""
    data, x, y = random_carried_network(seed)
    facts, session = facts_of(data), open_tflm(data)
    place, result = facts.names.index(x), facts.outputs.index(y)
    _, shape, dtype, point = facts.inputs[place]

    def wanted(_: glowmcu.Bundle, inputs: Inputs) -> Wanted:
        kept, found = np.full(shape, point, dtype), []
        for arrays in inputs:
            outputs = list(session([*arrays[:place], kept, *arrays[place:]]))
            kept = outputs.pop(result)
            found.append(outputs)
        return list(found)

    names = tuple(name for name in facts.names if name != x)
    made = network_subject(data, folder)
    return replace(made, names=names, wanted=wanted, arguments={"states": {x: y}},
                   modes=("carried state",), has_states=True)  # fmt: skip


def bound(seed: int, random: Generator, folder: Path) -> Subject:
    """An input whose value is known when it is compiled."""
    data = random_network(seed)
    facts, session = facts_of(data), open_tflm(data)
    place = int(random.integers(len(facts.inputs)))
    name, shape, dtype, _ = facts.inputs[place]
    low, high = (0, 2) if dtype == "bool" else (-128, 128)
    value = random.integers(low, high, shape).astype(dtype)

    def wanted(_: glowmcu.Bundle, inputs: Inputs) -> Wanted:
        return [session([*a[:place], value, *a[place:]]) for a in map(list, inputs)]

    names = tuple(other for other in facts.names if other != name)
    made = network_subject(data, folder)
    if not names:
        return made
    return replace(made, names=names, wanted=wanted, arguments={"bind": {name: value}},
                   modes=("bound input",))  # fmt: skip


def sliding(seed: int, random: Generator, folder: Path) -> Subject:
    """A window of which each run is given the newest rows."""
    data = random_network(seed)
    facts, session = facts_of(data), open_tflm(data)
    fitting = [
        place for place, (_, shape, dtype, _) in enumerate(facts.inputs)
        if len(shape) == 4 and shape[0] == 1 and shape[1] > 1 and dtype == "int8"
    ]  # fmt: skip
    made = network_subject(data, folder)
    if not fitting:
        return made
    place = int(pick(random, tuple(fitting)))
    name, shape, _, point = facts.inputs[place]
    hop = int(random.integers(1, shape[1]))

    def wanted(_: glowmcu.Bundle, inputs: Inputs) -> Wanted:
        window, found = np.full(shape, point, np.int8), []
        for arrays in map(list, inputs):
            window = np.concatenate([window[:, hop:], arrays[place].reshape(1, hop, *shape[2:])], 1)
            found.append(session([*arrays[:place], window, *arrays[place + 1 :]]))
        return list(found)

    return replace(made, wanted=wanted, arguments={"slide": {name: hop}},
                   modes=("sliding window",), has_states=True)  # fmt: skip


def other_numbers(seed: int, random: Generator, folder: Path) -> Subject:
    """Another runtime's rounding, uint8 at the border, or channels last where they were not."""
    data = random_network(seed)
    facts = facts_of(data)
    made = network_subject(data, folder)
    kind = int(random.integers(4))
    if kind == 0:
        change = {"rounding": "single"}, "rounding single"
    elif kind == 1:
        change = {"rounding": "litert"}, "rounding litert"
    elif kind == 2:
        change = {"io": "uint8"}, "uint8 at the border"
    else:
        images = tuple(name for name, shape, _, _ in facts.inputs if len(shape) == 4)
        if not images:
            return made
        change = {"input_layouts": {str(pick(random, images)): "nhwc"}}, "channels last"
    return replace(meant(made), arguments=change[0], modes=(change[1],))


def camera(seed: int, random: Generator, folder: Path) -> Subject:
    """Frames of a camera in front of a few convolutions."""
    model = SpatialModel(seed)
    height, width = (int(n) for n in random.integers(3, 13, 2))
    x = model.input(height, width, int(pick(random, (1, 3))))
    for number in range(int(random.integers(1, 4))):
        window = Window((int(random.integers(1, 4)), int(random.integers(1, 4))))
        x = model.depthwise(x, window) if number % 2 else model.conv(x, 5, window)
    made = network_subject(model.finish(x), folder)
    kind = str(pick(random, tuple(_PIXELS)))
    columns, rows = (int(n) for n in random.integers(2, 33, 2))
    columns += columns % 2
    text = f"{kind}:{columns}x{rows}" + pick(random, ("", ":stretch"))
    (name,) = made.names
    return replace(meant(made), arguments={"camera": {name: text}}, modes=("camera",))
