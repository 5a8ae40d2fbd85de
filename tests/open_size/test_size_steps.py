"""Sizes with a step, `--define T=4..32:4`: U-Nets, whose halves meet again at such sizes alone."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.api.verification import verify_bundle
from glowmcu.cli import main
from glowmcu.errors import GlowmcuError
from glowmcu.manifest import read_manifest
from glowmcu.open_size.working_range import working_range
from glowmcu.size_forms import OpenSize
from tests.support.onnx_models import run_onnxruntime
from tests.support.open_models import open_model, sequence
from tests.support.open_unets import UNETS, unet, unet_input

SIZES = (4, 32, 4)
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow"]


def compiled(
    name: str, tmp_path: Path, board: str = "generic", quantized: bool = False
) -> tuple[glowmcu.Bundle, Path, Path | None]:
    """The bundle, its model and its profile."""
    file, profile = tmp_path / f"{name}.onnx", None
    file.write_bytes(unet(name))
    if quantized:
        profile = tmp_path / "profile.json"
        samples = np.stack([unet_input(name, SIZES[1], seed) for seed in range(8)])
        glowmcu.profile(file, {"x": samples}, output=profile, define={"T": SIZES[1]})
    bundle = glowmcu.compile(
        file, board, tmp_path / "out", name=name, define={"T": SIZES}, profile=profile
    )
    return bundle, file, profile


@pytest.mark.parametrize("name", UNETS)
def test_every_size_of_a_unet_is_what_onnxruntime_computes(name: str, tmp_path: Path) -> None:
    bundle, file, _ = compiled(name, tmp_path)
    data = file.read_bytes()
    for size in range(4, 33, 4):
        x = unet_input(name, size)
        (want,), (got,) = run_onnxruntime(data, [x]), bundle.run([x])
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, 1e-5, 1e-5 * np.abs(want).max())


@pytest.mark.arm
@pytest.mark.parametrize("name", UNETS)
def test_every_size_of_a_unet_in_int8_is_exact_on_its_core(name: str, tmp_path: Path) -> None:
    """The last part of the sizes is drawn; the eight make it likely that each comes."""
    bundle, file, profile = compiled(name, tmp_path, "nrf52", quantized=True)
    report = verify_bundle(bundle, ["host", "cortex-m"], 16, 1, file, profile=profile)
    assert report.passed, report.checks
    fixed = glowmcu.compile(
        file, "nrf52", tmp_path / "fixed", name="fixed", define={"T": SIZES[1]}, profile=profile
    )
    x = unet_input(name, SIZES[1])
    for a, b in zip(bundle.run([x], real=True), fixed.run([x], real=True), strict=True):
        np.testing.assert_array_equal(a, b)


MAIN = """
#include "net.h"
static NET_ARENA(arena);
static float input[NET_INPUT_LENGTH];
static float output[NET_OUTPUT_LENGTH];
int main(void)
{
    int wrong = NET_T_MIN != 4 || NET_T_MAX != 32 || NET_T_STEP != 4;

    for (int32_t t = -40; t <= 40; ++t) {
        const int is_one = t >= 4 && t <= 32 && t % 4 == 0;

        wrong += net_run(arena, t) != (is_one ? 0 : GLOWMCU_BAD_SIZE);
        wrong += net_infer(arena, input, output, t) != (is_one ? 0 : GLOWMCU_BAD_SIZE);
    }
    wrong += net_run(arena, INT32_MIN) != GLOWMCU_BAD_SIZE;
    wrong += net_run(arena, INT32_MAX) != GLOWMCU_BAD_SIZE;
    return wrong;
}
"""


def test_sizes_between_the_steps_are_refused(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(unet("unet_1d"))
    command = ["compile", str(tmp_path / "net.onnx"), "-o", str(tmp_path / "out")]
    assert main([*command, "--define", "T=4..32:4"]) == 0
    manifest = read_manifest(tmp_path / "out")
    assert manifest.options["define"] == "T=4..32:4"
    (tmp_path / "main.c").write_text(MAIN, encoding="utf-8")
    sources = [str(tmp_path / "out" / name) for name in manifest.sources]
    subprocess.run(
        ["cc", *STRICT, "-fsanitize=address,undefined", f"-I{tmp_path / 'out'}", *sources,
         str(tmp_path / "main.c"), "-o", str(tmp_path / "main"), "-lm"], check=True,
    )  # fmt: skip
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0


def test_inputs_between_the_steps_are_refused(tmp_path: Path) -> None:
    bundle, _, _ = compiled("unet_1d", tmp_path)
    with pytest.raises(GlowmcuError) as caught:
        bundle.run([unet_input("unet_1d", 6)])
    assert "T is 4 to 32 in steps of 4" in caught.value.problems[0].hint


def test_a_range_that_ends_between_steps_is_refused(capsys: pytest.CaptureFixture[str],
                                                    tmp_path: Path) -> None:  # fmt: skip
    (tmp_path / "net.onnx").write_bytes(unet("unet_1d"))
    assert main(["compile", str(tmp_path / "net.onnx"), "--define", "T=4..33:4"]) != 0
    said = capsys.readouterr().err
    assert "T in steps of 4 from 4 on is never 33" in said
    assert "--define T=4..32:4, or --define T=4..36:4" in said


def test_numbers_of_no_rule_are_looked_up_by_step(tmp_path: Path) -> None:
    """The multiplier of a mean over the rows is one of a table."""
    file = tmp_path / "mean.onnx"
    file.write_bytes(open_model("mean"))
    samples = np.stack([sequence(20, seed) for seed in range(8)])
    profile = tmp_path / "profile.json"
    glowmcu.profile(file, {"x": samples}, output=profile, define={"T": 20})
    bundle = glowmcu.compile(
        file, "nrf52", tmp_path / "out", define={"T": (2, 20, 3)}, profile=profile
    )
    texts = [path.read_text(encoding="utf-8") for path in bundle.path.glob("mean*.c")]
    assert any("[(t - 2) / 3]" in text for text in texts)
    assert verify_bundle(bundle, ["host"], 20, 1, file, profile=profile).passed


@pytest.mark.parametrize(
    ("given", "works"),
    [
        ((4, 32), "T=4..32:4"),
        ((3, 35), "T=4..32:4"),
        ((2, 64, 2), "T=4..64:4"),
        ((5, 31, 2), "T=8..28:4"),
    ],
)
@pytest.mark.parametrize("name", ["unet_1d", "unet_2d_resized"])
def test_the_step_that_works_is_found_out(
    name: str, given: tuple[int, ...], works: str, tmp_path: Path
) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(unet(name))
    define: dict[str, Any] = {"T": given}
    with pytest.raises(GlowmcuError, match="GM144") as caught:
        glowmcu.compile(file, output=tmp_path / "out", define=define)
    hint = caught.value.problems[0].hint
    assert hint == f"the layers fit together in another range: --define {works}"
    command = ["compile", str(file), "-o", str(tmp_path / "out"), "--define", works]
    assert main(command) == 0


def test_a_beginning_that_is_too_small_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "filled.onnx"
    file.write_bytes(open_model("filled"))
    with pytest.raises(GlowmcuError, match="another form at T=1") as caught:
        glowmcu.compile(file, output=tmp_path / "out", define={"T": (1, 9)})
    assert caught.value.problems[0].hint.endswith("--define T=2..9")


def test_what_no_size_mends_is_said_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    model = onnx.load_from_string(unet("unet_1d"))
    model.graph.node[1].op_type = "Unheard"
    file = tmp_path / "net.onnx"
    file.write_bytes(model.SerializeToString())
    read: list[int] = []

    def counted(graph: OpenSize, sized: Callable[[int], Any], file_name: str) -> OpenSize | None:
        def noted(at: int) -> object:
            read.append(at)
            return sized(at)

        return working_range(graph, noted, file_name)  # type: ignore[arg-type]

    monkeypatch.setattr("glowmcu.given_size.working_range", counted)
    with pytest.raises(GlowmcuError, match="Unheard"):
        glowmcu.compile(file, output=tmp_path / "out", define={"T": (4, 64)})
    assert read == [62, 63, 64]


def test_a_length_that_the_file_calls_a_product_is_given_by_that_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PyTorch writes `4*t` for `4 * torch.export.Dim("t")`."""
    file = tmp_path / "net.onnx"
    file.write_bytes(unet("unet_1d", "4*t"))
    command = ["compile", str(file), "-o", str(tmp_path / "out"), "--define"]
    assert main([*command, "4*t=1..32"]) != 0
    assert "--define 4*t=4..32:4" in capsys.readouterr().err
    assert main([*command, "4*t=4..32:4"]) == 0
    x = unet_input("unet_1d", 12)
    (want,), (got,) = (
        run_onnxruntime(file.read_bytes(), [x]),
        glowmcu.load(tmp_path / "out").run([x]),
    )
    np.testing.assert_allclose(got, want, 1e-5, 1e-5 * np.abs(want).max())
