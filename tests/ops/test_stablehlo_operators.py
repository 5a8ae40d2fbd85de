"""What converters of PyTorch leave of StableHLO in a .tflite, against LiteRT's own interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from flatbuffers import flexbuffers

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.read_model import read_model
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from tests.support.check_model import check_model
from tests.support.control_flow_models import add_part
from tests.support.oracle import run_litert_reference

Array = npt.NDArray[Any]
_NEUTRAL = {"ADD": 0.0, "MAXIMUM": -np.inf, "MINIMUM": np.inf}


def _body(model: ModelBuilder, kind: str) -> int:
    """A subgraph that makes one number of two; `second` gives the second one."""
    number = model.constant("like", np.array(0, np.float32))

    def part(builder: ModelBuilder, given: list[Any]) -> list[Any]:
        if kind == "second":
            return [given[1]]
        result = builder.tensor("one", (), "float32")
        builder.op(kind, given, [result], {} if kind.startswith("STABLEHLO") else None)
        return [result]

    return add_part(model, f"body {kind}", [number, number], part)


def _windows(
    shape: tuple[int, ...], kind: str, window: list[int], strides: list[int], edges: list[int],
    dilations: list[int] | None = None, start: float | None = None, body: str = "",
) -> bytes:  # fmt: skip
    model = ModelBuilder()
    x = model.input("x", shape, "float32")
    first = model.constant("start", np.array(_NEUTRAL[kind] if start is None else start, "f"))
    spans = [(w - 1) * d + 1 for w, d in zip(window, dilations or [1] * 9, strict=False)]
    sizes = [
        (size + edges[2 * axis] + edges[2 * axis + 1] - spans[axis]) // strides[axis] + 1
        for axis, size in enumerate(shape)
    ]
    y = model.tensor("y", sizes, "float32")
    ones = [1] * len(shape)
    model.op("STABLEHLO_REDUCE_WINDOW", [x, first], [y], {
        "window_dimensions": window, "window_strides": strides, "base_dilations": ones,
        "window_dilations": dilations or ones, "padding": edges,
        "body_subgraph_index": _body(model, body or f"STABLEHLO_{kind}"),
    })  # fmt: skip
    model.output(y)
    return model.finish()


WINDOWS: dict[str, tuple[Any, ...]] = {
    "a picture": ((1, 6, 7, 3), [1, 3, 2, 1], [1, 2, 1, 1], [0, 0, 1, 1, 0, 1, 0, 0]),
    "channels first": ((2, 3, 6, 7), [1, 1, 3, 3], [1, 1, 2, 2], [0, 0, 0, 0, 1, 1, 1, 1]),
    "apart": ((1, 9, 9, 2), [1, 3, 2, 1], [1] * 4, [0] * 8, [1, 2, 3, 1]),
    "a row": ((4, 10), [1, 3], [1, 2], [0, 0, 1, 1]),
    "the first axis": ((10, 4, 3), [3, 1, 1], [2, 1, 1], [0] * 6),
    "axes with one between": ((5, 4, 6, 2), [2, 1, 3, 1], [1, 1, 2, 1], [0, 1, 0, 0, 0, 0, 0, 0]),
    "none": ((3, 4), [1, 1], [1, 1], [0] * 4),
}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("kind", _NEUTRAL)
def test_windows_are_reduced(name: str, kind: str) -> None:
    shape, window, strides, edges, *dilations = WINDOWS[name]
    # In a body LiteRT takes StableHLO's own operators alone; converters write TensorFlow Lite's.
    own, converters = (
        _windows(shape, kind, window, strides, edges, *dilations, body=body)
        for body in (f"STABLEHLO_{kind}", kind)
    )
    check_model(own, oracle=run_litert_reference)
    check_model(converters, oracle=lambda _, inputs: run_litert_reference(own, inputs))


def _scattered(
    shape: tuple[int, ...], places: Array, updates: tuple[int, ...], kind: str, **options: Any
) -> bytes:
    model = ModelBuilder()
    x, new = model.input("x", shape, "float32"), model.input("new", updates, "float32")
    y = model.tensor("y", shape, "float32")
    model.op("STABLEHLO_SCATTER", [x, model.constant("at", places.astype(np.int32)), new], [y], {
        "update_computation_subgraph_index": _body(model, kind), **options,
    })  # fmt: skip
    model.output(y)
    return model.finish()


def _options(windows: list[int], scattered: list[int], last: int) -> dict[str, Any]:
    return {
        "update_window_dims": windows, "inserted_window_dims": sorted(scattered),
        "scatter_dims_to_operand_dims": scattered, "index_vector_dim": last,
    }  # fmt: skip


#: Shape, places, shape of the updates, options.
SCATTERS: dict[str, tuple[Any, ...]] = {
    "elements": ((3, 5), np.array([[0, 1], [2, 4], [0, 1]]), (3,), _options([], [0, 1], 1)),
    "rows": ((4, 3), np.array([[1], [3]]), (2, 3), _options([1], [0], 1)),
    "columns": ((2, 6), np.array([[5], [0], [5]]), (2, 3), _options([0], [1], 1)),
    "the other way round": ((3, 5), np.array([[1, 0], [4, 2]]), (2,), _options([], [1, 0], 1)),
    "in front": ((3, 5), np.array([[0, 1, 0], [2, 4, 3]]), (3,), _options([], [0, 1], 0)),
    "pictures": (
        (1, 2, 4, 5), np.array([[[0, 0], [3, 4]], [[1, 2], [0, 0]]]), (1, 2, 2, 2),
        _options([0, 1], [2, 3], 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCATTERS)
@pytest.mark.parametrize("kind", ["ADD", "MULTIPLY", "MAXIMUM", "MINIMUM", "second"])
def test_updates_are_scattered(name: str, kind: str) -> None:
    shape, places, updates, options = SCATTERS[name]
    body = kind if kind == "second" else f"STABLEHLO_{kind}"
    model = _scattered(shape, places, updates, body, **options)
    check_model(model, oracle=run_litert_reference)


def test_coordinates_may_be_no_vectors() -> None:
    """As vectors of one; LiteRT does not survive it."""
    places = np.array([4, 1])
    own, vectors = (
        _scattered((5, 2), each, (2, 2), "STABLEHLO_ADD", **_options([1], [0], 1))
        for each in (places, places[:, np.newaxis])
    )
    check_model(own, oracle=lambda _, inputs: run_litert_reference(vectors, inputs))


def test_a_composite_is_what_its_subgraph_computes() -> None:
    model = ModelBuilder()
    x, y = model.input("x", (2, 3), "float32"), model.tensor("y", (2, 3), "float32")

    def twice(builder: ModelBuilder, given: list[Any]) -> list[Any]:
        result = builder.tensor("twice", (2, 3), "float32")
        builder.op("ADD", [*given, *given], [result], {"fused_activation_function": "NONE"})
        return [result]

    number = add_part(model, "decomposition", [x], twice)
    options = {
        "name": "odml.twice", "decomposition_subgraph_index": number,
        "composite_attributes": list(flexbuffers.Dumps({})),
    }  # fmt: skip
    model.op("STABLEHLO_COMPOSITE", [x], [y], options)
    model.output(y)
    check_model(model.finish(), oracle=run_litert_reference)


@pytest.mark.parametrize("kind", ["ADD", "MULTIPLY", "MAXIMUM", "MINIMUM"])
def test_elements_by_stablehlo_s_names(kind: str) -> None:
    model = ModelBuilder()
    a, b = (model.input(name, (2, 3), "float32") for name in "ab")
    y = model.tensor("y", (2, 3), "float32")
    model.op(f"STABLEHLO_{kind}", [a, b], [y])
    model.output(y)
    check_model(model.finish(), oracle=run_litert_reference)


_PLAIN = ((1, 6, 7, 3), "ADD", [1, 3, 3, 1], [1, 1, 1, 1], [0] * 8)
_CUBE = ((6, 6, 6, 3), "ADD", [2, 2, 2, 1], [1, 1, 1, 1], [0] * 8)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (_windows(*_CUBE), "windows along axes [0, 1, 2]"),
        (_windows(*_PLAIN, start=1.0), "add that begins with 1.0"),
        (_windows(*_PLAIN, body="SUB"), "two elements become one by SUB"),
        (_windows(*_PLAIN[:4], [0, 0, -1, 0, 0, 0, 0, 0]), "with edges (0, 0, -1,"),
        (
            _scattered((4, 3), np.array([[1], [3]]), (2, 2), "second", **_options([1], [0], 1)),
            "slices that are whole",
        ),
        (
            _scattered((4, 3), np.array([[1], [9]]), (2, 3), "second", **_options([1], [0], 1)),
            "index [9] is outside [4]",
        ),
    ],
)
def test_what_is_not_there_is_refused(model: bytes, said: str) -> None:
    with pytest.raises(GlowmcuError) as caught:
        read_model(model, "m.tflite")
    (problem,) = caught.value.problems
    assert said in f"{problem.message} {problem.hint}"
    assert "STABLEHLO" in problem.message.upper()


def test_scattered_sums_are_in_the_order_of_the_updates() -> None:
    """In float32 the order of a sum shows."""
    places, large = np.array([[0, 0]] * 3), np.array([2.0**24, 1.0, 1.0], np.float32)
    model = _scattered((1, 1), places, (3,), "STABLEHLO_ADD", **_options([], [0, 1], 1))
    (result,) = run_graph(read_model(model, "m.tflite"), [np.zeros((1, 1), np.float32), large])
    assert result[0, 0] == np.float32(2.0**24)
