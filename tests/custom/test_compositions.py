"""Definitions that are compositions: the operators that they become where a model is quantized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array, constant
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lowering import expand_definitions
from glowmcu.ops.defined import Defined
from glowmcu.ops.registry import load_operations
from tests.custom.random_compositions import RandomComposition

DENSE = """
def dense(
    x: "float32[B, I]", w: "float32[O, I]", c: "float32[O]", most: float = 6.0
) -> "y: float32[B, O]":
    y[b, o] = c[o]
    y[b, o] += w[o, i] * x[b, i]
    y[b, o] = clip(y[b, o], 0.0, most)
"""
CONV = """
def conv(
    x: "float32[N, C, H, W]", w: "float32[O, C, 3, 2]"
) -> "y: float32[N, O, (H - 3) // 2 + 1, W - 2]":
    for i in range((H - 3) // 2 + 1):
        for j in range(W - 2):
            y[n, o, i, j] += w[o, c, a, d] * x[n, c, 2 * i + a, j + 2 * d]
"""
FILTERS = """
def filters(x: "float32[T, C]", w: "float32[K, C]") -> "y: float32[T - K + 1, C]":
    for t in range(T - K + 1):
        y[t, c] += x[t + k, c] * w[k, c]
"""
ATTENTION = """
def attention(q: "float32[T, D]", k: "float32[S, D]", v: "float32[S, D]") -> "y: float32[T, D]":
    a[t, s] += q[t, d] * k[s, d] * 0.25
    top[t] = max(a[t, s])
    e[t, s] = exp(a[t, s] - top[t])
    z[t] += e[t, s]
    p[t, s] = e[t, s] / z[t]
    y[t, d] += p[t, s] * v[s, d]
"""
GATE = """
def gate(x: "float32[B, T]", g: "float32[B, T]") -> "y: float32[B, T]":
    s[b, t] = sigmoid(2.0 * g[b, t])
    y[b, t] = x[b, t] * s[b, t] / 3.0
"""
ENERGY = """
def energy(x: "float32[B, T, C]", w: "float32[C]") -> "y: float32[B, T - 3]":
    for t in range(T - 3):
        for d in range(4):
            e[b, t] += w[c] * x[b, t + d, c] * x[b, t + d, c]
    loudest[b] = max(e[b, k])
    y[b, t] = e[b, t] / max(loudest[b], 1e-6)
"""
NORM = """
def norm(x: "float32[B, C]", g: "float32[C]") -> "y: float32[B, C]":
    m[b] += x[b, c] * x[b, c] / float(C)
    y[b, c] = x[b, c] * g[c] / sqrt(m[b] + 1e-5)
"""
NEIGHBOURS = """
def neighbours(x: "float32[T, C]") -> "y: float32[C, T - 1], z: float32[T]":
    for t in range(T - 1):
        y[c, t] = x[T - 1 - t, c] - x[t + 1, c]
    z[t] = x[t, 2] + sin(float(t))
"""
#: The text, shapes of operands (with True for a constant), and the operators that it becomes, but
#: for those that only move elements.
CASES: dict[str, tuple[str, Sequence[tuple[Shape, bool]], list[str]]] = {
    "dense": (DENSE, [((3, 5), False), ((4, 5), True), ((4,), True)],
              ["fully_connected", "add", "relu"]),
    "conv": (CONV, [((1, 3, 9, 8), False), ((5, 3, 3, 2), True)], ["conv_2d"]),
    "filters": (FILTERS, [((9, 4), False), ((3, 4), True)], ["depthwise_conv_2d"]),
    "attention": (ATTENTION, [((3, 4), False), ((5, 4), False), ((5, 4), False)],
                  ["batch_matmul", "mul", "reduce_max", "sub", "exp", "sum", "defined_function",
                   "mul", "batch_matmul"]),
    "gate": (GATE, [((3, 5), False), ((3, 5), False)], ["defined_function", "mul"]),
    "energy": (ENERGY, [((2, 9, 4), False), ((4,), True)],
               ["defined_function", "conv_2d", "reduce_max", "defined_function", "mul"]),
    "norm": (NORM, [((3, 5), False), ((5,), True)],
             ["defined_function", "mean", "defined_function", "mul", "mul"]),
    "neighbours": (NEIGHBOURS, [((4, 5), False)], ["sub", "add"]),
}  # fmt: skip
MOVES = {"constant", "reshape", "transpose", "slice", "broadcast_to"}


@pytest.fixture(scope="module", autouse=True)
def _operations() -> None:
    load_operations()


def numbers_of(text: str) -> tuple[float, ...]:
    return (6.0,) if "most: float" in text else ()


def graph_of(
    text: str, operands: Sequence[tuple[Shape, bool]], seed: int = 0
) -> tuple[Graph, list[Array]]:
    """One node, and what its operands that are no constants are given."""
    random = np.random.default_rng(seed)
    op = Defined("F", "f.py", text, numbers_of(text))
    values, nodes, given = [], [], {}
    for place, (shape, known) in enumerate(operands):
        value = Value(TensorType(shape, ElementType.F32), f"in{place}")
        data = random.normal(0, 1, shape).astype(np.float32)
        if known:
            nodes.append(Node(constant(data), (), (value,), value.name))
        else:
            given[value] = data
        values.append(value)
    shapes = op.infer([value.type for value in values])
    outputs = tuple(
        Value(TensorType(shape, ElementType.F32), f"out{place}")
        for place, shape in enumerate(shapes)
    )
    nodes.append(Node(op, tuple(values), outputs, "out0"))
    return Graph("main", tuple(given), tuple(nodes), outputs), list(given.values())


def assert_same(graph: Graph, other: Graph, given: Sequence[Array]) -> None:
    other.verify()
    assert [value.name for value in other.outputs] == [value.name for value in graph.outputs]
    assert len({node.name for node in other.nodes}) == len(other.nodes)
    pairs = zip(run_graph(graph, given), run_graph(other, given), strict=True)
    for expected, found in pairs:
        most = max(1.0, float(np.abs(expected).max(initial=0)))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * most)


@pytest.mark.parametrize("name", CASES)
def test_a_composition_becomes_its_operators(name: str) -> None:
    text, operands, expected = CASES[name]
    graph, given = graph_of(text, operands)
    made = expand_definitions.run(graph)
    assert [node.op.name for node in made.nodes if node.op.name not in MOVES] == expected
    assert_same(graph, made, given)


@pytest.mark.parametrize("part", range(10))
def test_random_definitions_mean_the_same_as_operators(part: int) -> None:
    composed = 0
    for seed in range(30 * part, 30 * part + 30):
        drawn = RandomComposition(seed)
        graph, given = graph_of(drawn.text, list(zip(drawn.shapes, drawn.known, strict=True)), seed)
        made = expand_definitions.run(graph)
        composed += made is not graph
        assert_same(graph, made, given)
    assert composed > 8


@pytest.mark.parametrize(
    ("old", "new"),
    [("s[b, t] = sigmoid(2.0 * g[b, t])", "s[b, t] = where(g[b, t] > x[b, t], 1.0, 0.0)"),
     ("s[b, t] = sigmoid(2.0 * g[b, t])", "s[b, t] *= g[b, t] + x[b, k]"),
     ("2.0 * g[b, t]", "g[b, t] + g[b, clip(t + 1, 0, T - 1)]")],
    ids=["a choice between tensors", "a product over an index", "a subscript with a limit"],
)  # fmt: skip
def test_what_is_no_composition_keeps_its_definition(old: str, new: str) -> None:
    graph, _ = graph_of(GATE.replace(old, new), [((3, 5), False), ((3, 5), False)])
    assert expand_definitions.run(graph) is graph


def test_weights_that_the_network_computes_make_no_convolution() -> None:
    graph, _ = graph_of(FILTERS, [((9, 4), False), ((3, 4), False)])
    assert expand_definitions.run(graph) is graph


def test_functions_of_functions_do_not_grow_without_end() -> None:
    lines = [f"    t{n + 1}[i] = t{n}[i] * t{n}[i] * 0.5" for n in range(60)]
    text = "\n".join(['def f(x: "float32[N]") -> "y: float32[N]":', "    t0[i] = x[i] * 0.1",
                      *lines, "    y[i] = t60[i]", ""])  # fmt: skip
    graph, given = graph_of(text, [((4,), False)])
    made = expand_definitions.run(graph)
    assert made is not graph
    assert_same(graph, made, given)


def model(folder: Path, text: str, operands: Sequence[tuple[Shape, bool]]) -> Path:
    """A file of that operator alone, and the definition beside it."""
    random = np.random.default_rng(5)
    graph, _ = graph_of(text, operands)
    b = ModelBuilder()
    inputs = []
    for place, (shape, known) in enumerate(operands):
        data = random.normal(0, 1, shape).astype(np.float32)
        name = f"in{place}"
        inputs.append(b.constant(name, data) if known else b.input(name, shape, "float32"))
    outputs = [b.tensor(value.name, value.type.shape, "float32") for value in graph.outputs]
    b.custom_op("F", inputs, outputs)
    for output in outputs:
        b.output(output)
    (folder / "m.tflite").write_bytes(b.finish())
    (folder / "f.py").write_text(text)
    return folder / "m.tflite"


def samples_of(operands: Sequence[tuple[Shape, bool]]) -> Mapping[str, Array]:
    random = np.random.default_rng(6)
    return {
        f"in{place}": random.normal(0, 1, (40, *shape)).astype(np.float32)
        for place, (shape, known) in enumerate(operands)
        if not known
    }


@pytest.mark.parametrize(("name", "least_db"), [("dense", 35), ("conv", 33), ("attention", 30)])
def test_a_composition_is_quantized_by_samples(tmp_path: Path, name: str, least_db: float) -> None:
    text, operands, _ = CASES[name]
    path, custom = model(tmp_path, text, operands), {"F": tmp_path / "f.py"}
    samples = samples_of(operands)
    bundle = glowmcu.compile(path, custom=custom, samples=samples, io="int8", board="nrf52",
                             output=tmp_path / "out")  # fmt: skip
    assert "defined" not in {layer.op for layer in bundle.report.layers}
    assert glowmcu.verify(bundle, ["host", "cortex-m"], samples=3).passed
    real = glowmcu.compile(path, custom=custom, output=tmp_path / "real")
    signal = noise = 0.0
    for place in range(20):
        given = [array[place] for array in samples.values()]
        (expected,), (found,) = real.run(given), bundle.run(given, real=True)
        signal += float((expected**2).sum())
        noise += float(((expected - found) ** 2).sum())
    assert 10 * np.log10(signal / noise) > least_db


def test_a_composition_can_be_kept_float(tmp_path: Path) -> None:
    text, operands, _ = CASES["gate"]
    path, custom = model(tmp_path, text, operands), {"F": tmp_path / "f.py"}
    quantization = glowmcu.Quantization(keep_float=["out0"])
    bundle = glowmcu.compile(path, custom=custom, samples=samples_of(operands), board="nrf52",
                             quantization=quantization, output=tmp_path / "out")  # fmt: skip
    assert not {"quantize", "lookup"} & {layer.op for layer in bundle.report.layers}
    assert glowmcu.verify(bundle, ["host"], samples=2).passed
