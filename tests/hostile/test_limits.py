"""Sizes are checked before anything is allocated, and the user may raise what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu import limits
from glowmcu.array_files import ArrayFileError, load_npy, load_npz
from glowmcu.cli import main
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.read_model import read_model
from glowmcu.quant.images import Preprocessing, read_image
from tests.hostile.test_crashers import verdicts

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402

X = ("x", "float32", (4, 4))
HUGE = 2**30


def onnx_model(
    kind: str, operands: list[Any], attributes: dict[str, Any] | None = None, opset: int = 18
) -> bytes:
    """One operator. onnx's own inference of shapes is left out: it allocates what we refuse."""
    names, inputs, constants = [], [], []
    for position, operand in enumerate(operands):
        names.append("" if operand is None else f"c{position}")
        if isinstance(operand, tuple):
            names[-1] = operand[0]
            element = helper.np_dtype_to_tensor_dtype(np.dtype(operand[1]))
            inputs.append(helper.make_tensor_value_info(operand[0], element, operand[2]))
        elif operand is not None:
            constants.append(numpy_helper.from_array(np.asarray(operand), names[-1]))
    node = helper.make_node(kind, names, ["y"], **(attributes or {}))
    outputs = [onnx.ValueInfoProto(name="y")]
    graph = helper.make_graph([node], "main", inputs, outputs, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return bytes(made.SerializeToString())


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def padded(mode: str) -> bytes:
    return onnx_model("Pad", [X, ints(0, HUGE, 0, 0)], {"mode": mode})


#: A few hundred bytes each; what they ask for has gigabytes.
GREEDY: dict[str, Callable[[], bytes]] = {
    "reflecting pad": lambda: padded("reflect"),
    "repeating pad": lambda: padded("edge"),
    "wrapping pad": lambda: padded("wrap"),
    "constant pad": lambda: padded("constant"),
    "constant of a shape": lambda: onnx_model("ConstantOfShape", [ints(HUGE, 4)]),
    "range": lambda: onnx_model("Range", [np.int64(0), np.int64(2**40), np.int64(1)]),
    "range without end": lambda: onnx_model(
        "Range", [np.float32(0), np.float32(np.inf), np.float32(1)]
    ),
    "expand": lambda: onnx_model("Expand", [X, ints(HUGE, 4, 4)]),
    "tile": lambda: onnx_model("Tile", [X, ints(HUGE, HUGE)]),
    "one hot": lambda: onnx_model(
        "OneHot", [("x", "int64", (4,)), ints(HUGE), np.array([0, 1], np.float32)]
    ),
    "resize": lambda: onnx_model(
        "Resize",
        [("x", "float32", (1, 1, 4, 4)), None, None, ints(1, 1, 32767, 32767)],
        {"mode": "linear"},
    ),
    "upsample": lambda: onnx_model(
        "Upsample", [X, np.array([8e8, 1], np.float32)], {"mode": "nearest"}, opset=9
    ),
    "broadcast": lambda: onnx_model(
        "Add", [("x", "float32", (1 << 22, 1)), ("z", "float32", (1, 1 << 22))]
    ),
    "split into ones": lambda: onnx_model(
        "SplitToSequence", [("x", "float32", (1 << 22, 1))], {"axis": 0}
    ),
    "parts without end": lambda: onnx_model("Split", [X, None], {"axis": 0, "num_outputs": 2**40}),
    "time steps": lambda: onnx_model(
        "RNN",
        [("x", "float32", (1 << 21, 1, 1)), np.ones((1, 1, 1), np.float32),
         np.ones((1, 1, 1), np.float32)],
        {"hidden_size": 1},
    ),
    "triangle": lambda: onnx_model("Trilu", [("x", "float32", (1 << 20, 1 << 20))]),
    "no elements but an axis": lambda: onnx_model("Relu", [("x", "float32", (0, 2**40))]),
}  # fmt: skip


def test_a_few_bytes_cannot_ask_for_gigabytes(tmp_path: Path) -> None:
    files = []
    for name, make in GREEDY.items():
        files.append(tmp_path / f"{name}.onnx")
        files[-1].write_bytes(make())
        assert files[-1].stat().st_size < 1000
    for name, row in verdicts("onnx", *files).items():
        assert row["what"] in ("GM105", "GM106", "GM114", "GM115"), (name, row)


def large() -> bytes:
    """A tensor of 20 MiB, more than usual and not too much."""
    return onnx_model("Relu", [("x", "float32", (5 << 20,))])


def test_more_is_allowed_on_request() -> None:
    with pytest.raises(GlowmcuError, match="takes 20 MiB, and 16 MiB are allowed") as caught:
        read_model(large(), "m.onnx")
    assert caught.value.code == "GM114"
    assert caught.value.problems[0].hint == "--max-memory 4G raises what is allowed"
    assert "  hint: glowmcu.memory_limit(4 << 30) raises" in str(caught.value)
    with glowmcu.memory_limit(4 << 30):
        assert read_model(large(), "m.onnx").inputs[0].type.size_bytes == 20 << 20
    assert limits.memory_bytes() == limits.DEFAULT_MEMORY_BYTES


def test_a_result_that_is_too_large_alone_is_refused_before_all_together_are() -> None:
    with pytest.raises(GlowmcuError, match=r"a result of .* takes 20 MiB, and 16 MiB are allowed"):
        read_model(onnx_model("Tile", [X, ints(5 << 16, 1)]), "m.onnx")


@pytest.mark.parametrize(("size", "asked"), [(2 << 30, "4G"), (3 << 31, "16G"), (1 << 60, "")])
def test_the_memory_that_would_do_is_named_where_a_computer_has_it(size: int, asked: str) -> None:
    said = limits.hint(size, limits.memory_bytes() // 2)
    assert said == " ".join(filter(None, ("--max-memory", asked, "raises what is allowed")))


def test_results_that_are_too_large_together_are_said_once() -> None:
    """And what no memory cures is said beside it."""
    kinds = ["Relu"] * 40 + ["Det"]
    names = [f"v{index}" for index in range(len(kinds) + 1)]
    nodes = [
        helper.make_node(kind, [names[0]], [name], name=f"{kind}{name}")
        for kind, name in zip(kinds, names[1:], strict=True)
    ]
    x, y = (helper.make_tensor_value_info(name, 1, (1 << 10, 1 << 10)) for name in names[:2])
    data = helper.make_model(helper.make_graph(nodes, "g", [x], [y])).SerializeToString()
    with pytest.raises(GlowmcuError) as caught:
        read_model(data, "m.onnx")
    assert [problem.code for problem in caught.value.problems] == ["GM114", "GM102"]
    assert "all results take 132 MiB, and 128 MiB are allowed" in str(caught.value)


def test_the_command_line_takes_the_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "m.onnx"
    model.write_bytes(onnx_model("Relu", [X]))
    assert main(["export", str(model), "-o", "m.tflite", "--max-memory", "1K"]) == 3
    assert "--max-memory 1G raises" in capsys.readouterr().err
    assert main(["inspect", str(model), "--max-memory", "4G"]) == 0
    assert limits.memory_bytes() == limits.DEFAULT_MEMORY_BYTES


@pytest.mark.parametrize("command", ["compile", "inspect", "profile", "export", "tune", "verify"])
def test_every_command_that_reads_a_model_says_its_limit(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 0
    assert "--max-memory" in capsys.readouterr().out


def test_an_archive_that_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.npz"
    np.savez_compressed(bomb, x=np.zeros(1 << 24, np.int8), y=np.zeros(1 << 24, np.int8))
    assert bomb.stat().st_size < 1 << 17
    with glowmcu.memory_limit(24 << 20), pytest.raises(ArrayFileError, match="16 MiB, and 8"):
        load_npz(bomb)
    assert load_npz(bomb)["y"].shape == (1 << 24,)


def test_an_image_larger_than_allowed_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    path = tmp_path / "large.png"
    image.new("1", (12_000, 12_000)).save(path)
    settings = Preprocessing((4, 4), (0.0,), (1.0,))
    with pytest.raises(GlowmcuError, match="the image is 12000 x 12000"):
        read_image(path, settings)
    small = tmp_path / "small.png"
    image.new("RGB", (100, 100)).save(small)
    with glowmcu.memory_limit(1 << 16), pytest.raises(GlowmcuError, match=r"glowmcu\.memory_limit"):
        read_image(small, settings)
    assert read_image(small, settings).shape == (1, 4, 4, 3)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">i2", "|b1", "<U3", "V0"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 5)])
def test_arrays_are_read_as_numpy_reads_them(
    order: str, dtype: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    array: Any = np.zeros(shape, dtype)
    if array.dtype.kind in "fib":
        array = (np.arange(array.size).reshape(shape) % 2).astype(dtype)
    array = np.asarray(array, order=order)  # type: ignore[call-overload]
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", a=array)
    wanted = np.load(tmp_path / "a.npy")
    for got in (load_npy(tmp_path / "a.npy"), load_npz(tmp_path / "a.npz")["a"]):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


def test_arrays_of_objects_and_cut_ones_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ArrayFileError, match="Python objects"):
        load_npy(tmp_path / "o.npy")
    # A column of pandas has text as objects; the archive says which array it is.
    texts = np.array(["cat", "dog"], object)
    np.savez(tmp_path / "a.npz", x=np.zeros(2), y=texts)
    with pytest.raises(ArrayFileError, match=r"'y.npy' of it .* \.astype\(str\)"):
        load_npz(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", x=np.zeros(2), y=texts.astype(str))
    assert load_npz(tmp_path / "a.npz")["y"].tolist() == ["cat", "dog"]
    np.save(tmp_path / "a.npy", np.zeros(100, np.float32))
    (tmp_path / "a.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-1])
    with pytest.raises(ArrayFileError, match="399 follow"):
        load_npy(tmp_path / "a.npy")


def test_a_model_that_is_a_device_without_end_is_refused() -> None:
    with glowmcu.memory_limit(1 << 20), pytest.raises(GlowmcuError, match="larger than 128 KiB"):
        glowmcu.compile("/dev/zero")
