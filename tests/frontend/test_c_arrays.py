"""A model that firmware holds as an array in C is read like its file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import glowmcu
from glowmcu.api.model_file import read_model_file
from glowmcu.errors import GlowmcuError

MODEL = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits_int8.tflite"
DATA = MODEL.read_bytes()


def hexadecimal(data: bytes) -> str:
    """As `xxd -i` has it: twelve a line, no comma behind the last."""
    words = [f"0x{byte:02x}" for byte in data]
    return ",\n".join("  " + ", ".join(words[at : at + 12]) for at in range(0, len(words), 12))


FORMS: dict[str, Callable[[bytes], str]] = {
    "xxd": lambda data: (
        f"unsigned char a_tflite[] = {{\n{hexadecimal(data)}\n}};\n"
        f"unsigned int a_tflite_len = {len(data)};\n"
    ),
    "of TensorFlow's examples": lambda data: (
        "/* Copyright {2020} */\n#include \"model.h\"\n// g_model[] = {1\nnamespace {\n"
        "const int sizes[2] = {1, 2};\n}\n"
        f"alignas(16) const unsigned char g_model[{len(data)}] DATA_ALIGN_ATTRIBUTE = "
        f"{{{hexadecimal(data)},}};\nconst int g_model_len = {len(data)};\n"
    ),
    "of Edge Impulse": lambda data: (
        "const unsigned char m[] __attribute__((section(\"x\"), aligned(16))) = {"
        f"{hexadecimal(data).upper()}}};"
    ),
    "decimal": lambda data: f"const uint8_t m[]={{{','.join(map(str, data))}}};",
    "signed": lambda data: (
        f"const int8_t m[] = {{{', '.join(str((x + 128) % 256 - 128) for x in data)}}};"
    ),
    "one digit": lambda data: f"uint8_t m[] = {{{', '.join(f'{x:#x}u' for x in data)}}};",
    "comments": lambda data: (
        "uint8_t m[] = {" + "".join(f"0x{x:02x}, /* {at} */ // }}\r\n" for at, x in enumerate(data))
        + "};"
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_the_bytes_are_those_of_the_file(form: Callable[[bytes], str], tmp_path: Path) -> None:
    path = tmp_path / "model_data.cc"
    path.write_text(form(DATA), encoding="utf-8")
    assert read_model_file(path) == DATA


def test_two_decimal_digits_are_not_hexadecimal_ones(tmp_path: Path) -> None:
    path = tmp_path / "m.c"
    path.write_text("uint8_t m[] = {28, 10, 10, 10, 84, 70, 76, 51, 12, 34};", encoding="utf-8")
    assert read_model_file(path) == bytes([28, 10, 10, 10, *b"TFL3", 12, 34])


def test_it_is_compiled_like_the_file(tmp_path: Path) -> None:
    path = tmp_path / "digits.h"
    path.write_text(FORMS["xxd"](DATA), encoding="utf-8")
    made = glowmcu.compile(path, output=tmp_path / "a")
    other = glowmcu.compile(MODEL, name="digits", output=tmp_path / "b")
    assert made.manifest.model_sha256 == other.manifest.model_sha256
    assert made.manifest.name == "digits"


def test_several_models_are_named(tmp_path: Path) -> None:
    path = tmp_path / "models.c"
    path.write_text(FORMS["xxd"](DATA) + FORMS["decimal"](DATA), encoding="utf-8")
    with pytest.raises(GlowmcuError, match="several models: a_tflite and m") as caught:
        read_model_file(path)
    assert caught.value.code == "GM101"


@pytest.mark.parametrize(
    "text",
    [
        "uint8_t m[] = {0x1c, 0, 0, 0, 84, 70, 76, 51, 0x1c00};",
        "uint8_t m[] = {0x1c, 0, 0, 0, 84, 70, 76, 51, 256};",
        "uint8_t m[] = {0x1c, 0, 0, 0, 84, 70, 76, 51, HEADER};",
        "uint8_t m[] = {0x1c, 0, 0, 0, 84, 70, 76, 51, 1",
        "uint8_t m[] = {0x1c, 0, 0, 0, 84, 70, 76, 51, {1}};",
        "uint8_t m[] = {0x1c, 0x00, 0x00, 0x00, 0x54, 0x46, 0x4c, 0x33, 0x1c00};",
        "uint8_t m[] = {84, 70, 76, 51, 1, 2, 3, 4, 5, 6};",
    ],
)
def test_what_is_no_whole_model_is_said_to_be_c(text: str, tmp_path: Path) -> None:
    path = tmp_path / "model.c"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(GlowmcuError, match="bytes of a model in an array"):
        glowmcu.compile(path, output=tmp_path / "out")


# What would take a quadratic time, in sizes at which that would not end.
@pytest.mark.parametrize(
    "text",
    [b"{" + b"/* " * 3_000_000, b"a[] = {1," * 500_000, b"a[ " * 3_000_000 + b"={",
     (b"a" * 300 + b"[]={0x1c,0,0,0,84,70,76,51,x};") * 20_000, b"{= " * 3_000_000],
    ids=["comments", "braces", "brackets", "names", "assignments"],
)  # fmt: skip
def test_a_hostile_text_is_read_once(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.c"
    path.write_bytes(text)
    assert read_model_file(path) == text
