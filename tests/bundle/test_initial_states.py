"""Constants that states begin as lie in flash, and are counted where flash is: they were not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import glowmcu
from glowmcu.cores import core
from glowmcu.errors import GlowmcuError
from glowmcu.facts.flash_parts import STATES, flash_parts
from glowmcu.verify import toolchain

EXAMPLE = Path(glowmcu.__file__).parents[1] / "examples" / "digits"
LEARNING = {"train": "last=1", "train_numbers": "fixed"}
SIZES = {"int8_t": 1, "int16_t": 2, "int32_t": 4, "float": 4}
#: Of a structure of parameters: more than any layer of the example has.
MOST_OF_A_LAYER = 128


def learner(output: Path, board: str | Path = "nrf52", **options: object) -> glowmcu.Bundle:
    model = EXAMPLE / "digits_int8.tflite"
    return glowmcu.compile(model, str(board), output, "net", **LEARNING, **options)  # type: ignore[arg-type]


def initial_bytes(bundle: glowmcu.Bundle) -> int:
    """What the C has of arrays that states begin as."""
    text = (bundle.path / "net.c").read_text(encoding="utf-8")
    found = re.findall(r"^static const (\w+) net_initial_\d+\[(\d+)\]", text, re.MULTILINE)
    return sum(SIZES[c_type] * int(count) for c_type, count in found)


def test_initial_states_are_constants_in_every_account(tmp_path: Path) -> None:
    bundle = learner(tmp_path / "net")
    manifest, initial = bundle.manifest, initial_bytes(bundle)
    assert initial > 0
    layers = sum(layer.weights_bytes for layer in manifest.layers)
    assert manifest.weights_bytes == bundle.report.weights_bytes == layers + initial
    assert sum(state.initial_bytes for state in manifest.states) == initial
    (part,) = (part for part in flash_parts(manifest, None) if part.what == STATES)
    assert part.bytes == initial
    assert sum(part.bytes for part in flash_parts(manifest, None)) == manifest.weights_bytes
    for file in ("net.h", "README.md"):
        said = f"{manifest.weights_bytes:,}".replace(",", " ")
        assert f"{said} B of constants" in (bundle.path / file).read_text(encoding="utf-8")


@pytest.mark.arm
def test_what_is_said_is_what_object_files_hold(tmp_path: Path) -> None:
    bundle = learner(tmp_path / "net")
    sources = [bundle.path / name for name in bundle.manifest.sources]
    flags = core(bundle.board.core).flags
    sizes = toolchain.code_size(sources, [bundle.path], flags, *bundle.manifest.functions[:1],
                                others=bundle.manifest.functions[1:])  # fmt: skip
    beside = sizes.constant_bytes - bundle.manifest.weights_bytes
    assert 0 <= beside < MOST_OF_A_LAYER * len(bundle.manifest.layers)


@pytest.mark.arm
def test_a_board_that_cannot_hold_them_is_refused(tmp_path: Path) -> None:
    bundle = learner(tmp_path / "net")
    layers = sum(layer.weights_bytes for layer in bundle.manifest.layers)
    code = bundle.report.code_bytes
    assert code is not None
    room = layers + code + initial_bytes(bundle) // 2
    boards = Path(glowmcu.__file__).parents[1] / "boards"
    text = (boards / "nrf52.toml").read_text(encoding="utf-8").replace('"nrf52"', '"small"')
    small = tmp_path / "small.toml"
    small.write_text(text.replace("1048576", str(room)), encoding="utf-8")
    with pytest.raises(GlowmcuError, match="GM401"):
        learner(tmp_path / "other", small, optimize="speed")
