"""`<name>_check`: no flipped bit of a constant goes unnoticed, and sound bundles pass anywhere."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from benchmarks.faults import flip_constants
from glowmcu.compilation import Options
from glowmcu.cores import core
from glowmcu.emit_c import integrity
from glowmcu.emit_c.contract import libjit_closure
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.ir.kernel_code import ConstantArray, Field, Parameters
from glowmcu.manifest import read_manifest
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.build import build_bundle
from glowmcu.verify.toolchain import compile_object
from tests.bundle.conftest import BundleOf
from tests.bundle.models import model_bytes
from tests.bundle.test_use import build, run_program, selftest_program
from tests.learning.fixed_models import windows
from tests.support.check_model import write_bundle
from tests.support.kernel_files import template_paths
from tests.support.onnx_models import onnx_model
from tests.support.pipelines import random_pipeline

#: Inside functions of the portable branch, which Arm's compilers never see: code, for a check.
IN_FUNCTIONS = re.compile(r"\w+\.\d+")
POINTER_PADDING = 4  # on this computer; cores with 4 byte pointers have none


def padding_bits(bundle: Path, symbol: str) -> int:
    """Bits of a layer's struct that are no member's, on a computer with 8 byte pointers."""
    text = (bundle / f"{read_manifest(bundle).name}.c").read_text(encoding="utf-8")
    found = re.search(rf"{symbol} = \{{(.*?)\n\}};", text, re.DOTALL)
    assert found is not None
    values = re.sub(r"/\*.*?\*/|[{}]", "", found[1], flags=re.DOTALL).split(",")
    place = padding = 0
    for value in (item.strip() for item in values):
        size = 8 if re.match(r"NULL|[a-z]", value) else 4
        padding += -place % size
        place += -place % size + size
    has_pointers = any(re.match(r"NULL|[a-z]", item.strip()) for item in values)
    return 8 * (padding + (-place % 8 if has_pointers else 0))


@pytest.mark.parametrize("name", ["digits", "two_in_two_out", "float_borders", "one_element"])
def test_no_flipped_bit_of_a_constant_goes_unnoticed(name: str, bundle_of: BundleOf) -> None:
    bundle = bundle_of(name)
    found = flip_constants(bundle)
    assert any(item.symbol.startswith(f"{name}_w") for item in found)
    assert any(item.symbol.startswith("p_") for item in found)
    for item in found:
        if item.symbol.startswith("p_"):
            assert item.missed == padding_bits(bundle, item.symbol), item
        elif not IN_FUNCTIONS.fullmatch(item.symbol):
            assert (item.flips, item.missed) == (8 * item.size, 0), item


def test_the_order_of_rows_is_checked_too(tmp_path: Path) -> None:
    """It says which stage writes next: a wrong one would write elsewhere."""
    options = Options("digits", "nrf52", "cortex-m4", goal=Goal.RAM)
    made = compile_model(model_bytes("digits"), "digits.tflite", options)
    bundle = write_bundle(made, tmp_path / "digits")
    orders = [item for item in flip_constants(bundle, 20_000) if item.symbol.startswith("order_")]
    assert orders
    assert all(item.missed == 0 < item.flips for item in orders)


def test_padding_before_a_struct_in_a_struct_is_no_number(tmp_path: Path) -> None:
    """The pointer in `walk` aligns it to eight bytes on a computer with such pointers."""
    model = ModelBuilder()
    tensors = [model.input(name, (1, 4, 4, 8), "int8", 0.5, 1) for name in ("a", "b")]
    total = model.tensor("total", (1, 4, 4, 8), "int8", 0.75, 0)
    model.op("ADD", tensors, [total])
    model.output(total)
    made = compile_model(model.finish(), "m.tflite", Options("m", "nrf52", "cortex-m4"))
    assert "glowmcu_linear_sum_dsp p_0" in made.files["m.c"]
    bundle = write_bundle(made, tmp_path / "m")
    flip_constants(bundle)  # begins with a check of the bundle as it is


def padded() -> bytes:
    model = ModelBuilder()
    x = model.input("x", (1, 4, 5, 3), "int8", 0.5, 1)
    edges = model.constant("edges", np.array([[0, 0], [1, 2], [1, 1], [0, 0]], np.int32))
    wide = model.tensor("wide", (1, 7, 7, 3), "int8", 0.5, 1)
    model.op("PAD", [x, edges], [wide])
    model.output(wide)
    return model.finish()


def summed() -> bytes:
    model = ModelBuilder()
    x = model.input("x", (2, 4, 5, 3), "float32")
    total = model.tensor("total", (4, 3), "float32")
    model.op("SUM", [x, model.constant("axes", np.array([0, 2], np.int32))], [total])
    model.output(total)
    return model.finish()


def by_element(kind: str) -> bytes:
    """`GatherElements`, `ScatterElements` or `ScatterND` of a (4, 3, 5) tensor, at (2, 3, 2)."""
    places = np.arange(12, dtype=np.int64).reshape(2, 3, 2) % 3
    shapes = {"ScatterElements": places.shape, "ScatterND": (2, 3, 5)}
    updates = [("updates", "float32", shapes[kind])] if kind in shapes else []
    return onnx_model(kind, [("x", "float32", (4, 3, 5)), places, *updates], {}, 1, 18)


LOOPS = {
    "pad.tflite": padded,
    "sum.tflite": summed,
    **{
        f"{kind}.onnx": partial(by_element, kind)
        for kind in ("GatherElements", "ScatterElements", "ScatterND")
    },
}


@pytest.mark.parametrize("file", LOOPS)
def test_loops_of_a_layer_are_constants_like_weights(file: str, tmp_path: Path) -> None:
    made = compile_model(LOOPS[file](), file, Options("m", "nrf52", "cortex-m4"))
    found = flip_constants(write_bundle(made, tmp_path / "m"))
    assert any(re.fullmatch(r"m_w\d+_(loops|sizes)", item.symbol) for item in found)
    # Of the check's own table these few constants do not read all.
    assert {item.symbol for item in found if item.missed} <= {"nibbles.0"}


def test_no_template_keeps_a_table_where_no_check_sees_it() -> None:
    """Apart from what is computed from code alone, and from the portable branches of assembly."""
    from_code = r"glowmcu_\w+_(?:shape|parts) "
    tables = re.compile(rf"^    static const (?!{from_code}|\{{\{{ s\.struct)", re.M)
    found = {
        path.name for path in template_paths() if tables.search(path.read_text(encoding="utf-8"))
    }
    assert found == {
        "conv_2d_rows_dsp.c.j2",
        "depthwise_near_taps_dsp.c.j2",
    }  # their portable branches


def test_the_self_test_runs_nothing_with_a_wrong_constant(
    bundle_of: BundleOf, tmp_path: Path
) -> None:
    bundle = tmp_path / "digits"
    shutil.copytree(bundle_of("digits"), bundle)
    weights = bundle / "digits_weights.c"
    text = weights.read_text(encoding="utf-8")
    spoiled = re.sub(r"(\] = \{\n    )(-?\d+)", lambda m: f"{m[1]}{int(m[2]) ^ 1}", text, count=1)
    assert spoiled != text
    weights.write_text(spoiled, encoding="utf-8")
    program = selftest_program("digits", bundle).replace("== 0 ? 0 : 1", "== -1 ? 7 : 1")
    program = program.replace("return digits", "arena[0] = 1;\n    return arena[0] - 1 + digits")
    assert build(tmp_path, program, [bundle], ["-Wno-conversion"]).returncode == 0
    assert run_program(tmp_path).returncode == 7


def test_the_host_refuses_a_bundle_whose_constants_were_edited(
    bundle_of: BundleOf, tmp_path: Path
) -> None:
    bundle = tmp_path / "one_element"
    shutil.copytree(bundle_of("one_element"), bundle)
    source = bundle / "one_element.c"
    text = source.read_text(encoding="utf-8")
    spoiled = re.sub(r"out_zero_point \*/ 0", "out_zero_point */ 1", text)
    assert spoiled != text
    source.write_text(spoiled, encoding="utf-8")
    with pytest.raises(GlowmcuError, match="GM620"):
        glowmcu.load(bundle).run([np.zeros((1, 1), np.int8)])


@pytest.mark.arm
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4", "cortex-m55"])
def test_the_check_costs_nothing_where_nobody_calls_it(
    core: str, bundle_of: BundleOf, tmp_path: Path
) -> None:
    bundle = bundle_of("digits")
    (tmp_path / "main.c").write_text(
        '#include "digits.h"\nstatic DIGITS_ARENA(arena);\nvoid _start(void);\n'
        "void _start(void)\n{\n    digits_run(arena);\n}\n"
    )
    (tmp_path / "empty.c").write_text("void memcpy_is_here(void);\n")
    program = tmp_path / "program.elf"
    sources = [str(bundle / f"digits{part}.c") for part in ("", "_weights")]
    flags = ["-std=c99", "-O2", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]
    command = ["arm-none-eabi-gcc", f"-mcpu={core}", "-mthumb", *flags, "-nostartfiles"]
    if core == "cortex-m55":
        command.append("-mfloat-abi=hard")
    command += [f"-I{bundle}", str(tmp_path / "main.c"), *sources, "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True)
    names = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    assert "digits_run" in names
    assert "check" not in names


@pytest.mark.arm
@pytest.mark.parametrize("core_name", ["cortex-m0", "cortex-m4", "cortex-m55"])
def test_the_check_takes_as_much_flash_as_the_header_says(
    core_name: str, bundle_of: BundleOf, tmp_path: Path
) -> None:
    bundle = bundle_of("digits")
    said = re.search(r"takes about (\d+) B of flash", (bundle / "digits.h").read_text())
    assert said is not None
    code = compile_object(bundle / "digits.c", [bundle], core(core_name).flags, tmp_path / "d.o")
    listed = subprocess.run(["nm", "-S", str(code)], capture_output=True, text=True, check=True)
    own = re.findall(
        r"^\w+ (\w+) \w (?:digits_check|nibbles\S*|checked_\S*)$", listed.stdout, re.MULTILINE
    )
    taken = sum(int(size, 16) for size in own)
    assert len(own) == 4
    assert int(said[1]) - 40 <= taken <= int(said[1]) + 20


def test_tables_of_headers_are_found_with_their_values() -> None:
    (text,) = (libjit_closure(("glowmcu_exp.h",))["glowmcu_exp.h"],)
    (table,) = integrity.checked_tables(text)
    assert (table.at, table.width) == ("glowmcu_exp_factors", 4)
    assert np.frombuffer(table.data, "<i4").tolist()[:2] == [1672461947, 1302514674]


def test_numbers_before_between_and_behind_pointers_are_runs_of_their_own() -> None:
    array = ConstantArray("w", np.arange(3, dtype=np.int16))
    inner = Parameters("inner", (Field("a", -1), Field("b", 0.5)))
    fields = (Field("x", 1), Field("in", inner), Field("w", array), Field("n", None), Field("y", 2))
    found = list(integrity.checked_parameters("p_3", Parameters("outer", fields), lambda _: "w3"))
    assert found == [
        integrity.CheckedBytes(
            "(const volatile uint8_t *)&p_3 + offsetof(outer, x)", 4, b"\x01\0\0\0"
        ),
        integrity.CheckedBytes(
            "(const volatile uint8_t *)&p_3 + offsetof(outer, in.a)",
            4,
            b"\xff\xff\xff\xff\0\0\0\x3f",
        ),
        integrity.CheckedPointer("&p_3.w", "w3"),
        integrity.CheckedPointer("&p_3.n", "NULL"),
        integrity.CheckedBytes(
            "(const volatile uint8_t *)&p_3 + offsetof(outer, y)", 4, b"\2\0\0\0"
        ),
    ]
    assert integrity.integrity_view(found).bytes == 16
    big = ConstantArray("w", np.arange(3, dtype=">i2"))
    assert integrity.checked_array("w", big).data == integrity.checked_array("w", array).data


def _pipeline(folder: Path) -> Path:
    """Of three stages; two of its convolutions name functions in a struct of theirs."""
    return random_pipeline(2).write(folder)


def _classifier(folder: Path) -> Path:
    (folder / "windows.tflite").write_bytes(windows())
    return folder / "windows.tflite"


@pytest.mark.arm
@pytest.mark.parametrize("board", ["nucleo-l4r5zi", "rp2040", "mps3-an547"])
@pytest.mark.parametrize(
    ("model", "options"), [(_pipeline, {}), (_classifier, {"train": "last=2"})]
)
def test_no_constant_in_flash_is_unknown_to_the_check(
    model: Callable[[Path], Path], options: dict[str, str], board: str, tmp_path: Path
) -> None:
    """Objects of the linked program, whichever functions they are written in; tables of the check
    itself are left out, as a wrong one shows.
    """
    bundle = glowmcu.compile(model(tmp_path), board, tmp_path / "m", "m", **options)  # type: ignore[arg-type]
    names = ["m_check", "m_reset"]
    names += ["m_parameters_save", "m_parameters_load"] if options else ["m_push"]
    program = build_bundle(
        bundle.path, bundle.manifest, core(bundle.board.core), with_markers=False, also=names
    ).shipped
    text = (bundle.path / "m.c").read_text(encoding="utf-8")
    check = text[text.index("int32_t m_check(void)") :]
    found = {item.name.split(".")[0] for item in program.constants} - {"nibbles"}
    assert found
    assert {name for name in found if not re.search(rf"\b{name}\b", check)} == set()
