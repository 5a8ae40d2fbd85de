"""What importers take of sizes and counts that have an end: the last that is taken, and the next.

What they say of operators that nobody imports: the nearest that somebody does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glowmcu.frontend import graph_builder
from glowmcu.frontend.onnx import control_flow as onnx_control_flow
from glowmcu.frontend.onnx import signal, support_vectors, tree_attributes, written_loops
from glowmcu.frontend.onnx.container import OnnxRecord
from glowmcu.frontend.onnx.custom_c import all_nodes, custom_kind
from glowmcu.frontend.onnx.interpolation import LARGEST_SIZE
from glowmcu.frontend.onnx.nodes import unsupported_operator as unsupported_node
from glowmcu.frontend.onnx.recurrent import MAX_STEPS
from glowmcu.frontend.tflite import control_flow as tflite_control_flow
from glowmcu.frontend.tflite import variables
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import load_importers
from glowmcu.frontend.tflite.unsupported import unsupported_operator
from tests.frontend import onnx_cases, tflite_cases
from tests.frontend.onnx_damage import Case, c, w, x
from tests.frontend.tflite_damage import Case as TfliteCase
from tests.frontend.tflite_damage import c as tc
from tests.frontend.tflite_damage import options_table, t
from tests.frontend.tflite_programs import PROGRAMS
from tests.support.onnx_parts import node, record


def onnx_case(kind: str, *operands: Any, **attributes: Any) -> Case:
    return Case(kind, operands, attributes)


def label_encoder(count: int) -> Case:
    keys = [3 * n for n in range(count)]
    attributes = {"keys_int64s": keys, "values_int64s": keys}
    return Case("LabelEncoder", (x(1, dtype="int64"),), attributes, domain="ai.onnx.ml")


def machine(classes: int) -> Case:
    pairs = classes * (classes - 1) // 2
    attributes = {
        "classlabels_ints": list(range(classes)), "vectors_per_class": [1] * classes,
        "coefficients": [1.0] * (classes - 1) * classes, "rho": [0.5] * pairs,
        "support_vectors": [0.5] * classes,
    }  # fmt: skip
    results = ("y0", "y1")
    return Case("SVMClassifier", (x(1, 1),), attributes, results, domain="ai.onnx.ml")


LIMITS: dict[str, tuple[Any, int, str]] = {
    "steps of a recurrent layer": (
        lambda n: onnx_case("RNN", x(n, 1, 1), w(1, 1, 1), w(1, 1, 1)), MAX_STEPS, "GM105",
    ),
    "size of what is resized": (
        lambda n: onnx_case("Resize", x(1), None, None, c([n]), mode="nearest"), LARGEST_SIZE,
        "GM106",
    ),
    "size that is resized": (
        lambda n: onnx_case("Resize", x(n), None, None, c([1]), mode="nearest"), LARGEST_SIZE,
        "GM106",
    ),
    "scale of a resize": (
        lambda n: onnx_case("Resize", x(1), None, c([n], "float32")), LARGEST_SIZE - 1, "GM106",
    ),
    "length of a DFT by a matrix": (
        lambda n: onnx_case("DFT", x(1, n, 1), axis=1), signal._LONGEST_MATRIX, "GM106",
    ),
    "classes of support vectors": (machine, support_vectors._MOST_CLASSES, "GM105"),
    "keys of a table": (label_encoder, 2**15 - 1, "GM105"),
    "targets of trees": (
        lambda n: replace(
            onnx_cases.CASES["trees"][0],
            attributes={**onnx_cases.CASES["trees"][0].attributes, "n_targets": n,
                        "base_values": []},
        ),
        2**15 - 1, "GM105",
    ),
    "stride of a window": (
        lambda n: TfliteCase(
            "MAX_POOL_2D", (t((1, 5, 5, 1)),), (t((1, 1, 1, 1)),),
            {"padding": 1, "stride_h": n, "stride_w": 4, "filter_height": 2, "filter_width": 2},
        ),
        2**15 - 1, "GM105",
    ),
    "width of a stride": (
        lambda n: TfliteCase(
            "MAX_POOL_2D", (t((1, 5, 5, 1)),), (t((1, 1, 1, 1)),),
            {"padding": 1, "stride_h": 4, "stride_w": n, "filter_height": 2, "filter_width": 2},
        ),
        2**15 - 1, "GM105",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("case", "most", "code"), LIMITS.values(), ids=LIMITS)
def test_the_last_is_taken_and_the_next_is_not(case: Any, most: int, code: str) -> None:
    assert not case(most).verdict().startswith("GM")
    assert case(most + 1).verdict().startswith(code)


@pytest.mark.parametrize(
    ("limit", "least"),
    [("MAX_TRIPS", 3), ("MAX_NODES", 12), ("MAX_OPERATORS", 10), ("SHORT_NODES", 12)],
)
def test_a_loop_of_a_tflite_file_is_written_out_if_all_of_it_is_short(
    limit: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three trips of two operators, and a condition that is asked four times."""
    for most, is_loop in ((least, False), (least - 1, True)):
        monkeypatch.setattr(tflite_control_flow, limit, most)
        assert ("= loop(" in PROGRAMS["a short loop"].verdict()) == is_loop


@pytest.mark.parametrize(
    ("module", "limit", "number", "least"),
    [
        (written_loops, "MAX_TRIPS", 2, 3), (written_loops, "MAX_NODES", 2, 11),
        (written_loops, "MAX_OPERATORS", 2, 6), (onnx_control_flow, "SHORT_NODES", 2, 15),
        (onnx_control_flow, "SHORT_NODES", 9, 3), (onnx_control_flow, "SHORT_NODES", 11, 66),
    ],
)  # fmt: skip
def test_a_loop_of_an_onnx_file_is_written_out_if_all_of_it_is_short(
    module: Any, limit: str, number: int, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Loop of three trips of two nodes, a Scan of three slices, one of 66."""
    for most, is_loop in ((least, False), (least - 1, True)):
        monkeypatch.setattr(module, limit, most)
        verdict = onnx_cases.CASES["control_flow"][number].verdict()
        assert ("= loop(" in verdict) == is_loop


def test_a_scan_that_is_written_out_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    case = onnx_cases.CASES["control_flow"][9]
    for most, said in ((3, "Scan/0 "), (2, "GM142 Scan 'y0': written out it is more than 2 ")):
        monkeypatch.setattr(written_loops, "MAX_NODES", most)
        assert case.verdict().startswith(said)


def test_a_scan_that_is_no_loop_is_written_out_if_it_is_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = onnx_cases.CASES["control_flow"][12]
    for most, said in ((33, "Scan/0 "), (32, "GM112 in a graph of Scan")):
        monkeypatch.setattr(onnx_control_flow, "MAX_TRIPS", most)
        assert case.verdict().startswith(said)


@pytest.mark.parametrize(("keys", "span"), [(2, 256), (65, 260)])
def test_keys_that_lie_near_each_other_are_places_of_a_table(keys: int, span: int) -> None:
    for last, is_table in ((span - 1, True), (span, False)):
        numbers = [*range(keys - 1), last]
        attributes = {"keys_int64s": numbers, "values_int64s": numbers}
        case = Case("LabelEncoder", (x(1, dtype="int64"),), attributes, domain="ai.onnx.ml")
        assert ("= reduce_any(" not in case.verdict()) == is_table


def test_a_transposed_convolution_is_not_of_more_results_than_int32_counts() -> None:
    for size, said in ((2**31 - 1, "GM114"), (2**31, "GM106 ConvTranspose: a result of")):
        case = onnx_case("ConvTranspose", x(1, 1, 1), w(1, 1, 1), output_shape=[size])
        assert case.verdict().startswith(said)


FEW: dict[str, tuple[Any, str]] = {
    "frames of a queue": (tflite_cases.CASES["signal_queue"][1], "2 frames"),
    "stacked frames": (tflite_cases.CASES["signal_queue"][-1], "4 frames"),
    "parts": (Case("Split", (x(3),), {"num_outputs": 3}, ("y0", "y1", "y2"), 18), "3 parts"),
    "parts of a sequence": (onnx_case("SplitToSequence", x(3)), "3 parts"),
    "parts of one size": (onnx_case("SplitToSequence", x(5), c(2)), "3 parts"),
    "frames": (onnx_case("STFT", x(1, 6, 1), c(2), None, c(2)), "3 frames"),
    "nodes of trees": (onnx_cases.CASES["trees"][0], "6 nodes of trees"),
    "nodes and leaves": (onnx_cases.CASES["trees"][-1], "5 nodes of trees"),
}


@pytest.mark.parametrize(("case", "said"), FEW.values(), ids=FEW)
def test_what_makes_too_many_nodes_says_of_what(
    case: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_builder, "MAX_NODES", int(said.split(maxsplit=1)[0]))
    assert f"it makes {said};" not in case.verdict()
    monkeypatch.setattr(graph_builder, "MAX_NODES", int(said.split(maxsplit=1)[0]) - 1)
    assert case.verdict().startswith(f"GM115 it makes {said};")


def test_weights_of_trees_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    case = onnx_cases.CASES["trees"][0]
    for most, is_taken in ((4, True), (3, False)):
        monkeypatch.setattr(tree_attributes, "_MOST_WEIGHTS", most)
        assert case.verdict().startswith("GM115 it has 4 weights") != is_taken


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("CONV_3D_TRANSPOSE", "TRANSPOSE_CONV and CONV_3D are supported; LIST"),
        ("RESIZE_AREA", "similar and supported: RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR; LIST"),
        ("REDUCE_NORM", "similar and supported: REDUCE_MIN, REDUCE_MAX; LIST"),
        ("HASHTABLE", "LIST"),
        ("CUSTOM FlexIRFFT", "IRFFT came in as a select TensorFlow operator: export with "
                             "TFLITE_BUILTINS_INT8 only, or give the .onnx that the file was "
                             "made from"),
        ("CUSTOM MyPostProcess", "cut the model before it and run it in the application, on the "
                                 "boxes and scores"),
        ("CUSTOM Mine", "export the model with builtin operators only; LIST; C of yours can say "
                        "what it means: --custom Mine=FILE.c"),
        ("CUSTOM my-own", "export the model with builtin operators only; LIST; C of yours can say "
                          "what it means: --custom NAME=FILE.c"),
        ("CUSTOM edgetpu-custom-op", "edgetpu_compiler put layers into it for an Edge TPU: give "
                                     "the file that it read, without _edgetpu in its name"),
        ("CUSTOM ethos-u", "Vela put layers into it for an Arm Ethos-U: give the file that Vela "
                           "read, with --accelerator ethos-u55-128 if that is to compute them"),
        ("CUSTOM XC_pad_3_to_4", "XMOS' compiler put it there for an xcore: give the file that "
                                 "it read"),
    ],
)  # fmt: skip
def test_what_is_not_imported_has_a_hint(kind: str, hint: str) -> None:
    op = OperatorRecord(0, kind, (), (), None)
    problem = unsupported_operator(op, "m.tflite", list(load_importers()))
    assert (problem.code, problem.where) == ("GM102", "m.tflite")
    assert problem.hint == hint.replace("LIST", "`glowmcu ops` lists what is supported")


@pytest.mark.parametrize(
    ("kind", "domain", "message", "hint"),
    [
        ("MaxPol", "ai.onnx", "MaxPol (opset 17)", "nearest: MaxPool, Max, GlobalMaxPool; LIST"),
        ("Zzz", "ai.onnx", "Zzz (opset 17)", "LIST"),
        ("Zzz", "ai.onnx.ml", "ai.onnx.ml.Zzz (opset ?)", "LIST"),
        ("Zzz", "mine", "mine.Zzz (opset ?)",
         "LIST; C of yours can say what it means: --custom Zzz=FILE.c"),
        ("Zz-z", "mine", "mine.Zz-z (opset ?)", "LIST"),
        ("ReduceMa", "ai.onnx", "ReduceMa (opset 17)",
         "nearest: ReduceMax, ReduceMean, ReduceMin; LIST"),
    ],
)  # fmt: skip
def test_what_is_not_imported_of_onnx_has_a_hint(
    kind: str, domain: str, message: str, hint: str
) -> None:
    op = replace(node(kind=kind), domain=domain)
    model = OnnxRecord((), (), (op,), {}, {"ai.onnx": 17}, None, {})
    problem = unsupported_node(op, "m.onnx", model)
    assert problem.message == f"operator {message} is not supported"
    assert problem.hint == hint.replace("LIST", "`glowmcu ops` lists what is")


@pytest.mark.parametrize(
    ("domain", "names", "found"),
    [
        ("mine", ["mine.Foo", "Foo"], "mine.Foo"), ("mine", ["Foo"], "Foo"),
        ("ai.onnx", ["Foo"], None), ("ai.onnx.ml", ["Foo"], None),
        ("ai.onnx", ["ai.onnx.Foo"], "ai.onnx.Foo"), ("mine", ["other.Foo"], None),
    ],
)  # fmt: skip
def test_c_of_the_users_is_called_by_the_name_alone_where_onnx_has_none_of_its_own(
    domain: str, names: list[str], found: str | None
) -> None:
    custom: Any = dict.fromkeys(names)
    assert custom_kind(replace(node(), domain=domain), custom) == found


@pytest.mark.parametrize(("off", "is_taken"), [(1e-5, False), (0.99e-5, True)])
def test_the_scale_of_a_bias_is_that_of_the_sums_within_a_tolerance(
    off: float, is_taken: bool
) -> None:
    """The reference's, which is itself too much."""
    case = tflite_cases.CASES["svdf"][0]
    x, features, times, bias, queue = case.operands
    assert times is not None
    assert bias is not None
    assert queue is not None
    changed = replace(times, scales=(1.0,)), replace(queue, scales=(off,))
    operands = x, features, changed[0], replace(bias, scales=()), changed[1]
    verdict = replace(case, operands=operands).verdict()
    assert verdict.startswith("GM106 svdf: its bias has scale 0, expected 1e-05") != is_taken


def test_an_ellipsis_beyond_the_entries_of_a_slice_is_none() -> None:
    entries = tc([0, 0, 0]), tc([1, 1, 1]), tc([1, 1, 1])
    masks = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask")
    options = {**dict.fromkeys(masks, 0), "ellipsis_mask": 8, "offset": False}
    case = TfliteCase("STRIDED_SLICE", (t((4, 6)), *entries), (t((1, 1)),), options)
    assert case.verdict() == "GM106 strided_slice: 3 entries for (4, 6)"


def test_the_name_of_a_variable_has_an_end() -> None:
    names = {"container": "c" * 4097, "shared_name": "s" * 4097}
    op = OperatorRecord(0, "VAR_HANDLE", (), (0,), options_table("VAR_HANDLE", names))
    assert variables._handle_name(op) == "c" * 4096 + "/" + "s" * 4096


def test_nodes_are_found_in_graphs_of_nodes() -> None:
    inner = record(nodes=[node(kind="Inner", body=record(nodes=[node(kind="Innermost")]))])
    model = record(nodes=[node(kind="If", then_branch=inner, other=3), node(kind="Last")])
    assert [op.kind for op in all_nodes(model)] == ["If", "Inner", "Innermost", "Last"]


def test_an_index_is_no_place_of_a_table_that_wraps_around() -> None:
    """A depth beyond the indices' type would name places below 0."""
    case = tflite_cases.CASES["scatter"][3]
    narrow = replace(case, operands=(t((2,), "INT8", 0.0), *case.operands[1:]))
    assert narrow.verdict() == "GM106 one_hot: expected int32 or int64, got int8[2]"
    assert np.arange(200).astype(np.int8)[-1] < 0
