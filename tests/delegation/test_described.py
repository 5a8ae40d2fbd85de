"""`--accelerator FILE.toml`: what its file may say, and what of it is said to be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import glowmcu
from glowmcu.cores import core
from glowmcu.delegation.conditions import names_of, numbers_of, read_condition
from glowmcu.delegation.described import read_described
from glowmcu.errors import GlowmcuError
from glowmcu.kernels.kernel import Target
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.elementwise import Add
from glowmcu.pipeline import reference_graph
from tests.delegation.models import ACME, acme, chain

TARGET = Target(core("cortex-m4"))

WRONG = {
    "no toml": ("name = ", "cannot be read"),
    "an unknown key": (ACME.replace("align = 8", "aline = 8", 1), "'aline'"),
    "no name": (ACME.replace('name = "Acme NPU"', ""), "name is None"),
    "a name of two lines": (ACME.replace('"Acme NPU"', '"Acme\\nNPU"'), "it must be one line"),
    "a name that colours terminals": (
        ACME.replace('"Acme NPU"', '"\\u001b[31mAcme"'),
        "it must be one line",
    ),
    "an endless cost": (ACME.replace("= 300", "= 1e300"), "is 1e+300; it must be a number that"),
    "a cost beyond any model": (ACME.replace("= 300", "= 1e9"), "and below 1e9"),
    "a prefix that is no identifier": (ACME.replace('"acme"', '"Ac-me"'), "prefix is 'Ac-me'"),
    "a prefix of ours": (ACME.replace('"acme"', '"glowmcu"'), "prefix is 'glowmcu'"),
    "a prefix of a file": (ACME.replace('"acme"', '"weights"'), "prefix is 'weights'"),
    "an alignment of three": (ACME.replace("align = 8", "align = 3", 1), "align is 3"),
    "a negative cost": (ACME.replace("cycles_per_call = 100", "cycles_per_call = -1"), "is -1"),
    "a cost that is a text": (ACME.replace("= 300", '= "300"'), "cycles_per_region is '300'"),
    "an unknown operator": (ACME.replace('"add"', '"adds"'), "operator is 'adds'"),
    "another element type": (ACME + 'types = ["int16"]\n', 'hooks compute ["int8"] alone'),
    "a condition on nothing": (ACME + 'when = ["1 == 1"]\n', "reads nothing of the layer"),
    "a condition on what there is not": (ACME + 'when = ["stride_x == 1"]\n', "stride_x"),
    "a condition that calls": (ACME + 'when = ["open(in_bytes) == 1"]\n', "open"),
    "a power": (ACME + 'when = ["in_bytes ** 9 == 1"]\n', "cannot be read"),
    "no comparison": (ACME + 'when = ["in_bytes"]\n', "compares nothing"),
    "no list": (ACME + 'when = "in_bytes > 1"\n', "must be a list"),
    "accepts nothing": ('name = "A"\nprefix = "a"\n', "it accepts nothing"),
    "accepts no table": ('name = "A"\nprefix = "a"\naccepts = [1]\n', "must be a table"),
    "a memory by number": ("weights_memory = 1\n" + ACME, "weights_memory is 1"),
    "boards by number": ("boards = [1]\n" + ACME, "boards is [1]"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_told_what_is_wrong(case: str, tmp_path: Path) -> None:
    text, said = WRONG[case]
    with pytest.raises(GlowmcuError) as caught:
        read_described(acme(tmp_path, text), TARGET)
    assert {problem.code for problem in caught.value.problems} == {"GM770"}
    assert said in str(caught.value)


def test_all_mistakes_come_at_once(tmp_path: Path) -> None:
    text = ACME.replace('"add"', '"adds"').replace("align = 8", "align = 3")
    with pytest.raises(GlowmcuError) as caught:
        read_described(acme(tmp_path, text), TARGET)
    assert len(caught.value.problems) == 3


def test_no_name_is_no_accelerator(tmp_path: Path) -> None:
    """What a script's empty variable gives: it asked for one."""
    with pytest.raises(GlowmcuError, match="no accelerator is called ''") as raised:
        glowmcu.compile(chain(), output=tmp_path / "b", accelerator="")
    assert raised.value.code == "GM772"


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError, match="GM770"):
        read_described(tmp_path / "nowhere.toml", TARGET)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("in_channels % 4 == 0", True), ("in_channels % 3 == 0", False),
        ("1 <= kernel_height <= 3", True), ("not kernel_height == 3", False),
        ("in_channels in (4, 8)", True), ("in_channels in [1, 2] or macs > 10", True),
        ("in_channels // 0 == 1", False), ("-in_zero_point == -3 and groups == 1", True),
        ("weights_bytes == 288", True), ("pad_top + pad_bottom == 2", True),
    ],
)  # fmt: skip
def test_conditions_are_about_the_numbers_of_a_layer(text: str, holds: bool) -> None:
    graph = reference_graph(chain(), "m.tflite")
    node = next(node for node in graph.nodes if isinstance(node.op, Conv2D))
    assert read_condition(text, names_of(Conv2D)).holds(numbers_of(node)) is holds


@pytest.mark.parametrize("operation", [Add, Conv2D, DepthwiseConv2D])
def test_every_name_of_a_condition_has_a_number(operation: type) -> None:
    graph = reference_graph(chain(), "m.tflite")
    node = next(node for node in graph.nodes if isinstance(node.op, Conv2D))
    assert set(names_of(Conv2D)) == set(numbers_of(node))
    assert set(names_of(operation)) <= set(names_of(Conv2D))


def test_an_accelerator_that_no_layer_suits_is_noted(tmp_path: Path) -> None:
    text = ACME.replace("out_channels % 4 == 0", "out_channels == 5")
    bundle = glowmcu.compile(
        chain(), board="nrf52", output=tmp_path / "b", accelerator=acme(tmp_path, text)
    )
    assert bundle.manifest.delegation is not None
    assert not bundle.manifest.delegation.regions
    assert any("Acme NPU computes nothing" in note for note in bundle.notes)
    assert glowmcu.verify(bundle).passed


def test_an_accelerator_that_is_dear_computes_nothing(tmp_path: Path) -> None:
    text = ACME.replace("cycles_per_region = 300", "cycles_per_region = 999999999")
    bundle = glowmcu.compile(
        chain(), board="nrf52", output=tmp_path / "b", accelerator=acme(tmp_path, text)
    )
    entry = bundle.manifest.delegation
    assert entry is not None
    assert not entry.regions
    assert "cycles with transfers on Acme NPU" in entry.stays[0].reason


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"accelerator": "ethos-u55-127"}, "GM772"),
        ({"accelerator": "acme.toml", "cores": 2}, "GM774"),
        ({"accelerator": "acme.toml", "steps": True}, "GM774"),
        ({"accelerator": "acme.toml", "weights": "pointer"}, "GM774"),
        ({"accelerator": "acme.toml", "instrument": True}, "GM774"),
        ({"accelerator": "boards.toml"}, "GM773"),
        ({"accelerator": "ethos-u55-128"}, "GM773"),
    ],
)
def test_what_cannot_be_has_its_code(
    options: dict[str, Any], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme(tmp_path)
    acme(tmp_path, 'boards = ["other"]\n' + ACME, "boards.toml")
    monkeypatch.chdir(tmp_path)
    board = "rp2350" if "cores" in options else "nrf52"
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.compile(chain(), board=board, output=tmp_path / "b", **options)
    assert caught.value.code == code, caught.value
