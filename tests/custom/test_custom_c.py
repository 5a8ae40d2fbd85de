"""`--custom NAME=FILE.c`: C of the user's is what an operator of the model means, everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.custom_c import (
    CustomFile,
    custom_headers,
    custom_of_bundle,
    evaluated,
    read_custom,
    signature_of,
)
from glowmcu.emit_c.contract import stamped
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions
from glowmcu.ir.operation import OperationError, Rounding, Signature
from glowmcu.ir.text import parse_graph, print_graph
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.custom_c import CustomC
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import reference_graph

CLIP = """
/* glowmcu
 * function = "clip_rows"
 * inputs = { x = "float32[n, c]" }
 * outputs = { y = "float32[n, c]", most = "float32[n]" }
 * attributes = { limit = 1.0, twice = 0 }
 * scratch_bytes = "4 * c"
 * parameters = ["n", "c", "limit", "max(twice, 0)"]
 */
static void clip_rows(const float *x, float *y, float *most, void *scratch, int32_t rows,
                      int32_t columns, float limit, int32_t twice)
{
    float *copy = (float *)scratch;
    for (int32_t r = 0; r < rows; ++r) {
        most[r] = 0.0f;
        for (int32_t c = 0; c < columns; ++c) {
            copy[c] = x[r * columns + c] * (twice != 0 ? 2.0f : 1.0f);
        }
        for (int32_t c = 0; c < columns; ++c) {
            const float v = copy[c];
            y[r * columns + c] = v > limit ? limit : (v < -limit ? -limit : v);
            most[r] = v > most[r] ? v : most[r];
        }
    }
}
"""
#: int8, with the operand's zero point and both scales.
DOUBLED = """
/* glowmcu
function = "doubled"
inputs = { x = "int8[n]" }
outputs = { y = "int8[n]" }
parameters = ["n", "x.zero_point", "2 * x.scale / y.scale", "y.zero_point"]
*/
#include "glowmcu_base.h"

static void doubled(const int8_t *x, int8_t *y, int32_t count, int32_t zero, float factor,
                    int32_t out_zero)
{
    for (int32_t i = 0; i < count; ++i) {
        int32_t v = (int32_t)((float)(x[i] - zero) * factor) + out_zero;
        v = v > 127 ? 127 : (v < -128 ? -128 : v);
        y[i] = (int8_t)v;
    }
}
"""


def save(folder: Path, text: str, name: str = "op.c") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def clip_model(folder: Path, rows: int = 3, options: bytes = b"") -> Path:
    """abs(clip(x)), and the largest of each row."""
    b = ModelBuilder()
    x = b.input("x", (rows, 7), "float32")
    y, z = (b.tensor(name, (rows, 7), "float32") for name in "yz")
    most = b.tensor("most", (rows,), "float32")
    b.custom_op("AcmeClip", [x], [y, most], options)
    b.op("ABS", [y], [z])
    b.output(z)
    b.output(most)
    path = folder / "m.tflite"
    path.write_bytes(b.finish())
    return path


def int8_model(folder: Path) -> Path:
    b = ModelBuilder()
    x = b.input("x", (21,), "int8", 0.5, -3)
    y = b.tensor("y", (21,), "int8", 0.75, 5)
    b.custom_op("Doubled", [x], [y])
    b.output(y)
    path = folder / "int8.tflite"
    path.write_bytes(b.finish())
    return path


def onnx_model(folder: Path, limit: float | None = 0.5) -> Path:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    x, y = (helper.make_tensor_value_info(name, 1, [2, 7]) for name in "xy")
    most = helper.make_tensor_value_info("most", 1, [2])
    given = {} if limit is None else {"limit": limit}
    node = helper.make_node("Clip2", ["x"], ["y", "most"], domain="com.acme", twice=1, **given)
    graph = helper.make_graph([node], "m", [x], [y, most])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]
    path = folder / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def test_a_custom_operator_of_tflite_computes_what_its_c_does(tmp_path: Path) -> None:
    custom = {"AcmeClip": save(tmp_path, CLIP)}
    bundle = glowmcu.compile(clip_model(tmp_path), custom=custom, output=tmp_path / "out")
    x = np.random.default_rng(0).normal(0, 2, (3, 7)).astype(np.float32)
    clipped, most = bundle.run([x])
    assert np.array_equal(clipped, np.abs(np.clip(x, -1, 1)))
    assert np.array_equal(most, np.maximum(x.max(1), 0))
    layer = bundle.report.layers[0]
    assert (layer.op, layer.kernel, layer.scratch_bytes) == ("custom_c", "custom_c.user", 28)


def test_the_file_is_in_the_bundle_and_a_model_is_verified_by_it(tmp_path: Path) -> None:
    model, file = clip_model(tmp_path), save(tmp_path, CLIP, "My Clip.c")
    bundle = glowmcu.compile(model, custom={"AcmeClip": file}, output=tmp_path / "out")
    said = bundle.manifest.options["custom"]
    (header,) = custom_headers(said)
    text = (bundle.path / header).read_text()
    assert "a file that was given with --custom; its terms are its author's." in text
    assert CLIP.strip() in text
    assert "SPDX" not in text
    assert header in bundle.manifest.headers
    file.unlink()
    assert glowmcu.verify(bundle, model=model, samples=3).passed
    assert custom_of_bundle(bundle.path, said)["AcmeClip"].text == CLIP.rstrip() + "\n"
    (bundle.path / header).write_text(text.replace("2.0f", "3.0f"))
    with pytest.raises(GlowmcuError, match="'AcmeClip' is not as it was compiled"):
        glowmcu.verify(bundle, model=model)


@pytest.mark.arm
def test_an_emulated_core_gives_the_same_bytes(tmp_path: Path) -> None:
    custom = {"Doubled": save(tmp_path, DOUBLED)}
    bundle = glowmcu.compile(
        int8_model(tmp_path), custom=custom, board="nrf52", output=tmp_path / "out"
    )
    found = glowmcu.verify(bundle, ["host", "cortex-m"], samples=4)
    assert [(check.executor, check.exact, check.passed) for check in found.checks] == [
        ("host", True, True), ("cortex-m", True, True),
    ]  # fmt: skip


def test_int8_gets_its_scales_and_zero_points(tmp_path: Path) -> None:
    custom = {"Doubled": save(tmp_path, DOUBLED)}
    bundle = glowmcu.compile(int8_model(tmp_path), custom=custom, output=tmp_path / "out")
    x = np.arange(-10, 11, dtype=np.int8)
    factor = np.float32(2 * 0.5 / 0.75)
    wanted = np.trunc((x.astype(np.float32) + 3) * factor).astype(int) + 5
    assert np.array_equal(bundle.run([x])[0], wanted)


@pytest.mark.parametrize("name", ["Clip2", "com.acme.Clip2"])
@pytest.mark.parametrize("limit", [0.5, None], ids=["given", "default"])
def test_an_operator_of_another_domain_of_onnx(
    name: str, limit: float | None, tmp_path: Path
) -> None:
    model = onnx_model(tmp_path, limit)
    custom = {name: save(tmp_path, CLIP)}
    bundle = glowmcu.compile(model, custom=custom, output=tmp_path / "out")
    x = np.random.default_rng(1).normal(0, 1, (2, 7)).astype(np.float32)
    most = 1.0 if limit is None else limit
    assert np.array_equal(bundle.run([x])[0], np.clip(2 * x, -most, most))


def test_the_same_file_serves_layers_of_several_shapes(tmp_path: Path) -> None:
    b = ModelBuilder()
    for rows in (1, 2):
        x = b.input(f"x{rows}", (rows, 7), "float32")
        y = b.tensor(f"y{rows}", (rows, 7), "float32")
        most = b.tensor(f"most{rows}", (rows,), "float32")
        b.custom_op("AcmeClip", [x], [y, most])
        b.output(y)
    (tmp_path / "m.tflite").write_bytes(b.finish())
    custom = {"AcmeClip": save(tmp_path, CLIP)}
    bundle = glowmcu.compile(tmp_path / "m.tflite", custom=custom, output=tmp_path / "out")
    inputs = [np.full((rows, 7), rows, np.float32) for rows in (1, 2)]
    assert [out.max() for out in bundle.run(inputs)] == [1, 1]
    assert len(list(bundle.path.glob("custom_*.h"))) == 1


def test_it_has_a_text_form(tmp_path: Path) -> None:
    model = clip_model(tmp_path)
    options = InputOptions(custom=read_custom({"AcmeClip": save(tmp_path, CLIP)}))
    graph = reference_graph(model.read_bytes(), "m.tflite", inputs=options)
    text = print_graph(graph)
    assert print_graph(parse_graph(text, load_operations())) == text
    assert '"glowmcu.custom_c"' in text


def test_a_quantized_model_keeps_it_float(tmp_path: Path) -> None:
    model, samples = clip_model(tmp_path), np.random.default_rng(2).normal(0, 1, (9, 3, 7))
    bundle = glowmcu.compile(
        model, custom={"AcmeClip": save(tmp_path, CLIP)}, samples=samples.astype(np.float32),
        output=tmp_path / "out",
    )  # fmt: skip
    assert "custom_c" in [layer.op for layer in bundle.report.layers]
    assert glowmcu.verify(bundle, ["host"]).passed


def test_without_its_c_the_message_says_how_it_is_given(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.compile(clip_model(tmp_path))
    assert "--custom AcmeClip=FILE.c" in caught.value.for_shell
    found = glowmcu.inspect(clip_model(tmp_path), custom={"AcmeClip": save(tmp_path, CLIP)})
    assert found.problems == ()


def test_a_name_that_no_operator_has_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    custom = {"AcmeClip": save(tmp_path, CLIP), "AcmeClop": save(tmp_path, CLIP)}
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.compile(clip_model(tmp_path), custom=custom)
    assert caught.value.code == "GM764"
    assert "custom operators of the model: AcmeClip" in str(caught.value)


@pytest.mark.parametrize("old", ["most[r] = 0.0f;", "copy[c] = x[r * columns + c]"])
def test_what_depends_on_old_memory_is_refused(old: str, tmp_path: Path) -> None:
    """`most` is compared with what was there; scratch is read before it is written."""
    new = "" if old.startswith("most") else "copy[c] = copy[c] + x[r * columns + c]"
    custom = {"AcmeClip": save(tmp_path, CLIP.replace(old, new))}
    with pytest.raises(GlowmcuError, match="depends on what memory held before"):
        glowmcu.compile(clip_model(tmp_path), custom=custom)


BROKEN_SIGNATURES = {
    "no comment": (" glowmcu\n", " acme\n", "no comment"),
    "no TOML": ('inputs = {', "inputs = ", "no TOML"),
    "an unknown key": ("scratch_bytes", "scratch", "scratch = '4 * c' is not known"),
    "another type": ('"float32[n, c]" }\n * outputs', '"float16[n, c]" }\n * outputs', "float16"),
    "an expression of an operand": ('x = "float32[n, c]"', 'x = "float32[n, 2 * c]"', "2 * c"),
    "a size that nobody gives": ('most = "float32[n]"', 'most = "float32[m]"', "m is no size"),
    "half a byte": ('"4 * c"', '"c / 2"', "no whole number"),
    "code": ('"4 * c"', '"__import__(1)"', "is no sum"),
    "no function": ('function = "clip_rows"', 'function = "clip"', "static void clip"),
    "not static": ("static void", "void", "two bundles could not be linked"),
    "a text as default": ("limit = 1.0", 'limit = "1.0"', "no number"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN_SIGNATURES.values(), ids=BROKEN_SIGNATURES)
def test_a_signature_that_cannot_be_read_says_what_is_wrong(case: tuple[str, str, str]) -> None:
    old, new, said = case
    assert old in CLIP
    with pytest.raises(GlowmcuError) as caught:
        signature_of(CLIP.replace(old, new), "op.c")
    assert caught.value.code == "GM760"
    assert said in str(caught.value)
    assert "op.c" in str(caught.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError, match="cannot read the C of 'A'"):
        read_custom({"A": tmp_path / "none.c"})


@pytest.mark.parametrize(
    ("text", "value"),
    [("n * (c + 1) // 2", 12), ("-n % 5", 2), ("min(n, c) - max(1, 2)", 1), ("2 * x.scale", 1.0),
     ("x.zero_point", -4)],
)  # fmt: skip
def test_expressions_are_sums_products_and_extremes(text: str, value: float) -> None:
    assert evaluated(text, {"n": 3, "c": 7}, {"x": (0.5, -4)}) == value


@pytest.mark.parametrize(
    "text",
    ["n ** 9", "n << 4", "f(n)", "n.real", "[n]", "'a'", "n if n else c", "m", "1 +", "(" * 9],
)
def test_nothing_else_is_an_expression(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no|is too|no expression|n\.real"):
        evaluated(text, {"n": 3, "c": 7}, {})


def f32(*shape: int) -> TensorType:
    return TensorType(shape, ElementType.F32)


def test_operands_of_other_shapes_and_types_are_refused() -> None:
    op = CustomC("Clip", "op.c", CLIP, (1.0, 0))
    assert op.infer([f32(2, 5)]) == ((2, 5), (2,))
    for inputs in ([f32(5)], [f32(2, 5), f32(2)], [TensorType((2, 5), ElementType.I32)]):
        with pytest.raises(OperationError):
            op.infer(inputs)
    with pytest.raises(OperationError, match="2 attributes, got 1"):
        CustomC("Clip", "op.c", CLIP, (1.0,)).infer([f32(2, 5)])
    square = CustomC("Double", "op.c", DOUBLED.replace("int8[n]", "int8[n, n]"))
    with pytest.raises(OperationError, match="n is 2"):
        square.infer([TensorType((2, 5), ElementType.I8)])


def test_its_c_may_use_functions_of_libjit(tmp_path: Path) -> None:
    text = """
/* glowmcu
function = "exps"
inputs = { x = "float32[n]" }
outputs = { y = "float32[n]" }
parameters = ["n"]
*/
#include "glowmcu_expf.h"

static void exps(const float *x, float *y, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        y[i] = glowmcu_expf(x[i]);
    }
}
"""
    op = CustomC("Exp", "exps.c", text)
    signature = Signature((f32(5),), (f32(5),))
    x = np.linspace(-2, 2, 5, dtype=np.float32)
    (found,) = op.evaluate([x], signature, Rounding.DOUBLE)
    assert np.allclose(found, np.exp(x), rtol=3e-6)


def test_a_header_is_named_by_what_is_in_it() -> None:
    one, other = CustomFile("a b/é.c", CLIP), CustomFile("a b/é.c", DOUBLED)
    assert one.header != other.header
    assert one.header.isascii()
    assert stamped(one.header, "") != stamped(other.header, "")


@pytest.mark.parametrize("name", ["größe.c", "長さ.c"])
def test_a_file_may_have_letters_of_any_language_in_its_name(name: str, tmp_path: Path) -> None:
    custom = {"AcmeClip": save(tmp_path, CLIP, name)}
    bundle = glowmcu.compile(clip_model(tmp_path), custom=custom, output=tmp_path / "out")
    assert glowmcu.verify(bundle, ["host"], model=tmp_path / "m.tflite", samples=2).passed


@pytest.mark.parametrize("ends", ["\r\n", "\n"])
def test_files_of_windows_editors_are_read(ends: str, tmp_path: Path) -> None:
    (tmp_path / "op.c").write_bytes(b"\xef\xbb\xbf" + CLIP.replace("\n", ends).encode())
    assert read_custom({"A": tmp_path / "op.c"})["A"].text == CLIP.rstrip() + "\n"


def test_bytes_without_a_sign_stay_what_they_are(tmp_path: Path) -> None:
    """Other operators on quantized uint8 are those on int8."""
    text = DOUBLED.replace("int8[n]", "uint8[n]").replace("int8_t *", "uint8_t *")
    text = text.replace("127 ? 127", "255 ? 255").replace("-128 ? -128", "0 ? 0")
    b = ModelBuilder()
    x, y = b.input("x", (4,), "uint8", 0.5, 128), b.tensor("y", (4,), "uint8", 0.5, 128)
    b.custom_op("Doubled", [x], [y])
    b.output(y)
    (tmp_path / "m.tflite").write_bytes(b.finish())
    custom = {"Doubled": save(tmp_path, text.replace("(int8_t)v", "(uint8_t)v"))}
    bundle = glowmcu.compile(tmp_path / "m.tflite", custom=custom, output=tmp_path / "out")
    (found,) = bundle.run([np.array([0, 120, 130, 255], np.uint8)])
    assert found.tolist() == [0, 112, 132, 255]
