"""Text that is damaged, hostile, or not TOSA: what is wrong is said, and nothing else happens."""

from __future__ import annotations

import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.stablehlo.exporter import export_stablehlo
from glowmcu.frontend.tosa.attributes import AttributeReader, TextScanner
from glowmcu.frontend.tosa.exporter import export_function
from glowmcu.frontend.tosa.text import print_tosa
from glowmcu.pipeline import reference_graph
from tests.conftest import REPO
from tests.frontend.test_tosa_import import kinds, read
from tests.frontend.tosa_cases import bare, case

_TABLE = """\
module {
  func.func @main(%x: tensor<1x4xi8>) -> tensor<1x4xi8> {
    %z = "tosa.const"() {values = dense<0> : tensor<1xi8>} : () -> tensor<1xi8>
    %s = tosa.const_shape {values = dense<[1, 4]> : tensor<2xindex>} : () -> !tosa.shape<2>
    %0 = tosa.reshape %x, %s : (tensor<1x4xi8>, !tosa.shape<2>) -> tensor<1x4xi8>
    return %0 : tensor<1x4xi8>
  }
}
"""


def test_the_text_that_errors_are_made_of_is_read() -> None:
    assert kinds(read(_TABLE)) == ["reshape"]


def test_quantized_types_that_were_not_stripped_are_their_stored_integers() -> None:
    for type_ in ("<i8:f32, 0.5:-3>", "<i8<-127:127>:f32:1, {0.5, 1.0, 2.0, 3.0}>"):
        quantized = _TABLE.replace("1x4xi8", f"1x4x!quant.uniform{type_}")
        assert kinds(read(quantized)) == ["reshape"]


def test_elements_mean_what_mlir_reads() -> None:
    """An integer without a sign may stand as its bits, decimal or hexadecimal; one element in
    bytes fills any shape, that of a scalar too.
    """
    for written, type_, meant in (
        ("[255, 127]", "2xi8", [-1, 127]), ("[0x1F, 0xfe]", "2xi8", [31, -2]),
        ("4294967295", "2xi32", [-1, -1]), ("[200, 0]", "2xui8", [200, 0]),
        ('"0x01000000"', "2xi32", [1, 1]), ('"0x01000000"', "i32", 1),
        ("18446744073709551615", "1xi64", [-1]), ("[true, false]", "2xi1", [True, False]),
    ):  # fmt: skip
        scanner = TextScanner(f"dense<{written}> : tensor<{type_}>", "model.mlir")
        assert AttributeReader(scanner, {}).value().tolist() == meant, written


@pytest.mark.parametrize(("written", "meant"), [("0x1E : i32", 30), ("0xE", 14), ("1E1", 10.0)])
def test_numbers_in_hexadecimal_are_no_powers_of_ten(written: str, meant: float) -> None:
    assert AttributeReader(TextScanner(written, "model.mlir"), {}).value() == meant


def test_an_export_as_stablehlo_is_refused_by_its_dialect() -> None:
    """Attributes of other dialects are stepped over, scalars are read."""
    path = REPO / "examples" / "digits" / "digits.onnx"
    text = export_stablehlo(reference_graph(path.read_bytes(), str(path)))
    with pytest.raises(GlowmcuError, match="only the dialect `tosa` is read") as raised:
        read(text)
    assert {problem.code for problem in raised.value.problems} == {"GM102"}


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("return %0", "return %1", "GM101", "%1 is not defined"),
        ("%0 = tosa.reshape %x", "%x = tosa.reshape %x", "GM101", "%x is defined twice"),
        ("tosa.reshape", "tosa.softmax", "GM102", "operation softmax is not supported"),
        ("tosa.reshape", "stablehlo.reshape", "GM102", "only the dialect `tosa` is read"),
        ("tosa.reshape", "tosa.fully_connected", "GM102", "conv2d on images of one pixel"),
        ("%x: tensor<1x4xi8>", "%x: tensor<?x4xi8>", "GM104", "not fixed: ?"),
        ("%x: tensor<1x4xi8>", "%x: tensor<*xi8>", "GM104", "not fixed: *"),
        ("%x: tensor<1x4xi8>", "%x: tensor<1x4xf16>", "GM105", "tensors of f16"),
        ("%x: tensor<1x4xi8>", "%x: tensor<99999x99999xi8>", "GM114", "takes more than"),
        ("tensor<1x4xi8>", "tensor<1x4xf32>", "GM105", "read in its integer profile"),
        ("(tensor<1x4xi8>, !tosa", "(tensor<4x1xi8>, !tosa", "GM101", "is used as"),
        ("-> tensor<1x4xi8>\\n", "-> tensor<1x5xi8>\\n", "GM106", "sizes differ"),
        ("dense<[1, 4]>", "dense<[1, 4, 4]>", "GM101", "elements are no i64[2]"),
        ("dense<[1, 4]>", 'dense<"0x00">', "GM101", "1 bytes are no i64[2]"),
        ("dense<0>", "dense<0.5>", "GM101", "0.5 is no integer"),
        ("dense<0>", "dense<true>", "GM101", "True is no integer"),
        ("dense<0>", "dense<256>", "GM101", "256 is out of range"),
        ("dense<0>", "dense<[-129]>", "GM101", "-129 is out of range"),
        ("dense<0>", "dense<[[0], 1]>", "GM101", "[0] is no integer"),
        ("values = dense<0>", "mode = #stablehlo.conv<[b]x[o]->[b], values = dense<0>", "GM101",
         "expected '>'"),
        ("dense<[1, 4]>", "dense_resource<gone>", "GM101", "'gone' are missing"),
        ("!tosa.shape<2>)", "!tosa.shape<2>", "GM101", "line 5"),
        ("  }\\n}\\n", "  }\\n", "GM101", "the end of the text"),
        ("  }\\n}\\n", "  }\\n  func.func @b() {\\n", "GM105", "several functions"),
        ("tosa.reshape %x, %s", "tosa.reshape %x", "GM101", "differ in number"),
        ("{values = dense<0>", "{mode = #tosa.mode<>, values = dense<0>", "GM101", "a word"),
        ("{values = dense<0>", "{values = 1, values = dense<0>", "GM101", "stands twice"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(old: str, new: str, code: str, said: str) -> None:
    old, new = old.replace("\\n", "\n"), new.replace("\\n", "\n")
    assert old in _TABLE
    with pytest.raises(GlowmcuError) as raised:
        read(_TABLE.replace(old, new))
    assert raised.value.code == code, str(raised.value)
    assert said in str(raised.value)
    assert "model.mlir" in str(raised.value)


def test_all_operations_without_a_meaning_come_in_one_message() -> None:
    text = _TABLE.replace(
        "    return",
        "    %1 = tosa.sin %0 : (tensor<1x4xi8>) -> tensor<1x4xi8>\n"
        "    %2 = tosa.gather %1, %1 : (tensor<1x4xi8>, tensor<1x4xi8>) -> tensor<1x4xi8>\n"
        "    return",
    )
    with pytest.raises(GlowmcuError) as raised:
        read(text)
    assert [problem.where for problem in raised.value.problems] == [
        'model.mlir, line 6, "sin"', 'model.mlir, line 7, "gather"',
    ]  # fmt: skip


def test_windows_have_the_sizes_of_tosas_level() -> None:
    text = print_tosa(bare(export_function(case("average pool of stored values"))))
    for key in ("kernel", "stride"):
        with pytest.raises(GlowmcuError, match="TOSA's level 8K ends at 8192"):
            read(text.replace(f"{key} = array<i64: 2, 2>", f"{key} = array<i64: {2**80}, 2>"))


@pytest.mark.parametrize("depth", [100, 100_000])
def test_nesting_has_an_end(depth: int) -> None:
    for opening in ("[", "{a = ", "dense<" + "["):
        text = _TABLE.replace("{values = dense<0>", "{values = " + opening * depth)
        with pytest.raises(GlowmcuError):
            read(text)


def test_a_splat_takes_no_memory_before_it_is_known_to_be_allowed() -> None:
    line = (
        '    %b{n} = "tosa.const"() {{values = dense<1> : tensor<4000x4000xi8>}} : () -> '
        "tensor<4000x4000xi8>\n"
    )
    text = _TABLE.replace(
        "    return", "".join(line.format(n=n) for n in range(200)) + "    return"
    )
    with pytest.raises(GlowmcuError, match="constants take more than"):
        read(text)
