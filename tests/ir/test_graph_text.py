"""The graph IR's text: parsing gives an identical graph back, wrong text is named by line."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.ir.equality import operation_key, same_graph
from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Rounding
from glowmcu.ir.text import parse_graph, print_graph, read_sidecar, write_sidecar
from glowmcu.ir.text.attribute_text import AttributeParser, AttributePrinter
from glowmcu.ir.text.fields import FieldReader
from glowmcu.ir.text.scanner import Scanner, quoted, unquoted
from glowmcu.ir.text.type_text import parse_type, print_type
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.registry import load_operations
from glowmcu.ops.shape import Reshape
from tests.ir.graphs import GraphBuilder, instances_of, int8, per_channel

OPERATIONS = load_operations()
MODELS = ("kws", "ic", "vww", "ad", "sww")


def small_graph() -> Graph:
    """A convolution per channel, a reshape and a matrix product, with names of all kinds."""
    b = GraphBuilder()
    rng = np.random.default_rng(1)
    x = b.input(int8(1, 5, 5, 2), "serving default:0")
    weights = per_channel((4, 3, 3, 2), 0)
    w = b.constant(
        rng.integers(-9, 9, weights.shape).astype(np.int8), weights.quantization, "w/1;2"
    )
    bias = b.constant(np.arange(4, dtype=np.int32), None, "bias")
    conv = b.add(Conv2D((2, 2), (1, 1), (1, 1, 1, 1), (-128, 7)), x, w, bias, name='é\n"\\')
    flat = b.add(Reshape((1, 36)), conv, name="%0")
    w2 = b.constant(
        np.full((3, 36), -1, np.int8), Quantization((float(np.float32(0.1)),), (5,)), "bias"
    )
    b2 = b.constant(np.zeros(3, np.int32), None, "")
    graph = b.finish(b.add(FullyConnected(), flat, w2, b2, name="bias"), conv)
    return Graph("m", graph.inputs, graph.nodes, graph.outputs, Rounding.SINGLE, {"a b": "c"})


def round_trip(graph: Graph) -> Graph:
    return parse_graph(print_graph(graph), OPERATIONS)


def test_a_printed_graph_parses_back_to_an_identical_graph() -> None:
    graph = small_graph()
    assert same_graph(graph, round_trip(graph))
    assert round_trip(graph).metadata == {"a b": "c"}


def test_elided_constants_parse_back_from_the_sidecar(tmp_path: Path) -> None:
    graph, sidecar = small_graph(), {}
    text = print_graph(graph, sidecar)
    write_sidecar(tmp_path / "constants.npz", sidecar)
    assert "dense_resource<w_1_" in text
    again = parse_graph(text, OPERATIONS, read_sidecar(tmp_path / "constants.npz"))
    assert same_graph(graph, again)


def test_a_sidecar_is_the_same_file_every_time(tmp_path: Path) -> None:
    for name in ("a", "b"):
        sidecar: dict[str, Any] = {}
        print_graph(small_graph(), sidecar)
        write_sidecar(tmp_path / name, sidecar)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_name_of_an_elided_constant_changes_with_its_content() -> None:
    texts = []
    for fill in (1, 2):
        b = GraphBuilder()
        c = b.constant(np.full(100, fill, np.int8), name="table")
        b.input(int8(1))
        texts.append(print_graph(b.finish(c), {}))
    assert texts[0] != texts[1]


def test_a_damaged_sidecar_is_named(tmp_path: Path) -> None:
    path = tmp_path / "constants.npz"
    path.write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(GlowmcuError) as caught:
        read_sidecar(path)
    assert caught.value.code == "GM219"


@pytest.mark.parametrize("name", MODELS)
def test_a_real_model_round_trips(name: str, shared_dir: Path) -> None:
    graph = read_tflite((shared_dir / "models" / f"{name}_int8.tflite").read_bytes(), name)
    sidecar: dict[str, Any] = {}
    assert same_graph(graph, parse_graph(print_graph(graph, sidecar), OPERATIONS, sidecar))
    assert same_graph(graph, round_trip(graph))


@pytest.mark.parametrize("name", sorted(OPERATIONS))
@settings(
    max_examples=25, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
@given(data=st.data())
def test_every_attribute_of_every_operator_round_trips(name: str, data: st.DataObject) -> None:
    op = data.draw(instances_of(OPERATIONS[name]))
    sidecar: dict[str, Any] | None = {} if data.draw(st.booleans()) else None
    text = f"{{op = {AttributePrinter(sidecar).value(op, 'v')}}}"
    raw = AttributeParser(Scanner(text, "t"), {}, sidecar).dictionary()
    again = FieldReader(OPERATIONS).operation(raw["op"], "op")
    assert operation_key(again) == operation_key(op), text


@given(st.text())
def test_any_string_round_trips_as_printable_ascii(text: str) -> None:
    literal = quoted(text)
    assert unquoted(literal) == text
    assert literal.isascii()
    assert literal.isprintable()


@given(st.floats(width=32, min_value=2.0**-126, max_value=2.0**127), st.integers(-128, 127))
def test_any_scale_round_trips_to_the_bit(scale: float, zero_point: int) -> None:
    type_ = TensorType((2,), ElementType.I8, Quantization((scale,), (zero_point,)))
    assert parse_type(Scanner(print_type(type_), "t"), {}) == type_


@given(st.lists(st.text(max_size=60), max_size=8))
def test_values_of_any_name_get_names_of_their_own(names: list[str]) -> None:
    b = GraphBuilder()
    b.input(int8(1))
    values = [b.constant(np.int8([i]), name=name) for i, name in enumerate(names)]
    graph = b.finish(*values)
    assert same_graph(graph, round_trip(graph))


def test_text_of_a_small_graph() -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 4, scale=0.58, zero_point=83))
    y = b.add(Reshape((2, 2)), x, name="y")
    type_ = "!quant.uniform<i8:f32, 0.58:83>"
    assert print_graph(b.finish(y)) == (
        '"builtin.module"() ({\n'
        f'  "func.func"() <{{function_type = (tensor<1x4x{type_}>) -> (tensor<2x2x{type_}>), '
        'sym_name = "main"}> ({\n'
        f"  ^bb0(%x: tensor<1x4x{type_}>):\n"
        '    %y = "glowmcu.reshape"(%x) {shape = array<i64: 2, 2>} : '
        f"(tensor<1x4x{type_}>) -> (tensor<2x2x{type_}>)\n"
        f'    "func.return"(%y) : (tensor<2x2x{type_}>) -> ()\n'
        '  }) {glowmcu.rounding = "double"} : () -> ()\n'
        "}) : () -> ()\n"
    )


SMALL = print_graph(small_graph())
BAD = [
    ("unknown operator", '"glowmcu.reshape"', '"glowmcu.reshap"', "GM211", "did you mean"),
    ("unknown attribute", "{shape = ", "{shap = ", "GM212", "did you mean 'shape'"),
    ("missing attribute", "clamp = none, ", "", "GM213", "lacks attribute 'clamp'"),
    ("attribute twice", "clamp = none", "clamp = none, clamp = none", "GM213", "stands twice"),
    (
        "number where a list goes",
        "shape = array<i64: 1, 36>",
        "shape = 36 : i64",
        "GM214",
        "a list",
    ),
    ("too few numbers", "strides = array<i64: 2, 2>", "strides = array<i64: 2>", "GM214", "2 ele"),
    ("text in a list", "array<i64: 1, 36>", "array<i64: 1, six>", "GM210", "'six' is no i64"),
    ("wrong element count", "[0, 1, 2, 3]", "[0, 1, 2]", "GM214", "elements are no tensor<4xi32>"),
    ("bad scale", "<i8:f32, 0.1:5>", "<i8:f32, abc:5>", "GM215", "expected a scale"),
    ("scale of zero", "<i8:f32, 0.1:5>", "<i8:f32, 0.0:5>", "GM215", "no positive float32"),
    ("huge scale", "<i8:f32, 0.1:5>", "<i8:f32, 1.0e99:5>", "GM215", "no positive float32"),
    ("zero point", "<i8:f32, 0.1:5>", "<i8:f32, 0.1:500>", "GM215", "outside i8, -128 to 128"),
    ("scales and axis", "0.0625:0}", "0.0625:0, 0.1:0}", "GM215", "5 scales along axis 0"),
    ("element type", "tensor<3xi32>", "tensor<3xi33>", "GM215", "unknown element type 'i33'"),
    ("type alias", ", !w_1_type", ", !gone", "GM215", "!gone is not defined"),
    ("name twice", "%bias_2 = ", "%bias = ", "GM216", "%bias is defined twice"),
    ("name unknown", '"func.return"(%bias_3', '"func.return"(%bios', "GM216", "is not defined"),
    ("other type", ": (tensor<1x36x", ": (tensor<1x35x", "GM216", "used as tensor<1x35x"),
    ("shape rule", "array<i64: 1, 36>", "array<i64: 1, 35>", "GM218", "cannot reshape"),
    ("rounding", '"single"', '"both"', "GM214", "'double' or 'single'"),
    ("function attribute", "glowmcu.rounding", "glowmcu.rouding", "GM214", "glowmcu.rounding"),
    ("no end", "}) : () -> ()\n", "}) : () -> (", "GM210", "expected"),
    ("text behind it", "}) : () -> ()\n", "}) : () -> () more", "GM210", "'more'"),
    ("string escape", "w/1;2", "w\\/1", "GM210", "unknown escape"),
    ("deep nesting", "clamp = none", "clamp = " + "[" * 99, "GM210", "nest deeper"),
]


@pytest.mark.parametrize(
    ("old", "new", "code", "message"), [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
def test_wrong_text_is_refused_with_its_line(old: str, new: str, code: str, message: str) -> None:
    assert old in SMALL
    with pytest.raises(GlowmcuError) as caught:
        parse_graph(SMALL[::-1].replace(old[::-1], new[::-1], 1)[::-1], OPERATIONS, name="g.mlir")
    assert caught.value.code == code, caught.value
    assert message in str(caught.value)
    assert "--> g.mlir, line " in str(caught.value)


def test_an_error_counts_lines_from_one() -> None:
    with pytest.raises(GlowmcuError, match=r"x\.mlir, line 3"):
        parse_graph('// comment\n"builtin.module"() (\n oops', OPERATIONS, name="x.mlir")


def test_an_elided_constant_without_sidecar_is_named() -> None:
    text = print_graph(small_graph(), {})
    with pytest.raises(GlowmcuError) as caught:
        parse_graph(text, OPERATIONS)
    assert caught.value.code == "GM217"
    assert "constants.npz" in str(caught.value)


@settings(max_examples=200)
@given(
    st.integers(0, len(SMALL)), st.integers(0, 40), st.sampled_from(["", '"', "}", "<", "7", "%"])
)
def test_damaged_text_never_raises_anything_but_our_error(at: int, cut: int, put: str) -> None:
    with contextlib.suppress(GlowmcuError):
        parse_graph(SMALL[:at] + put + SMALL[at + cut :], OPERATIONS)


def tool(name: str) -> str:
    """An MLIR reader beside this Python or on PATH."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name} (extra `test`)")
    return found


@pytest.mark.parametrize("reader", ["iree-opt", "xdsl-opt"])
@pytest.mark.parametrize("elide", [True, False], ids=["elided", "full"])
def test_mlir_tools_read_a_graph(reader: str, elide: bool, tmp_path: Path) -> None:
    path = tmp_path / "graph.mlir"
    path.write_text(print_graph(small_graph(), {} if elide else None), encoding="utf-8")
    command = [tool(reader), "--allow-unregistered-dialect", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    assert "glowmcu.fully_connected" in done.stdout
