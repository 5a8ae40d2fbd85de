"""Regions for an Arm Ethos-U: what Vela makes of them, and what is said where it does not."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.bundle import Bundle
from glowmcu.delegation.delegate_regions import divide
from glowmcu.delegation.ethos_u import EthosUBackEnd
from glowmcu.delegation.vela import ACCELERATORS, Vela, find_vela
from glowmcu.delegation.vela_file import read_region
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.exporter import export_tflite
from glowmcu.host_compiler import STRICT_FLAGS, host_compiler
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.text import parse_graph, print_graph
from glowmcu.lowering.passes import lower
from glowmcu.number_text import count
from glowmcu.ops.delegate import EthosU
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import reference_graph
from tests.conftest import REPO, SHARED
from tests.delegation.models import Builder, around_the_core, chain, several_outputs
from tests.support.stream_models import random_stream_model


@pytest.fixture(scope="session")
def vela() -> Vela:
    try:
        return find_vela("ethos-u55-128", small=False)
    except GlowmcuError as cause:
        pytest.skip(f"needs Vela: {cause.problems[0].hint}")


def compiled(folder: Path, data: bytes | Path, name: str = "ethos-u55-128") -> Bundle:
    return glowmcu.compile(
        data, board="generic", output=folder / "b", name="m", accelerator=name
    )  # fmt: skip


def pretended(folder: Path, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `vela` that does something else."""
    path = folder / "vela"
    path.write_text(f"#!{sys.executable}\n{program}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("GLOWMCU_VELA", str(path))


GARBAGE = 'open("region_vela.tflite", "wb").write(b"x" * 64)\n'
SUMMARY = 'open("region_summary_x.csv", "w").write("cycles_total\\n12\\n")\n'
FAILURES = {
    "an error": ('import sys; print("boom", file=sys.stderr); sys.exit(3)', "GM776", "boom"),
    "no file": ("pass", "GM776", "wrote no file"),
    "no summary": (GARBAGE, "GM776", "no cycles"),
    "a file that is none": (GARBAGE + SUMMARY, "GM776", "not a TFLite model"),
}


@pytest.mark.skipif(os.name == "nt", reason="a script that is a program")
@pytest.mark.parametrize("case", FAILURES)
def test_what_vela_does_wrong_is_said(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, code, said = FAILURES[case]
    pretended(tmp_path, program, monkeypatch)
    with pytest.raises(GlowmcuError) as caught:
        compiled(tmp_path, chain())
    assert caught.value.code == code
    assert said in str(caught.value)
    assert not (tmp_path / "b").exists()


@pytest.mark.skipif(os.name == "nt", reason="a script that is a program")
def test_a_vela_that_never_ends_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretended(tmp_path, "import time; time.sleep(60)", monkeypatch)
    monkeypatch.setattr("glowmcu.delegation.vela._SECONDS", 0.5)
    with pytest.raises(GlowmcuError, match=r"GM776(?s:.*)did not end"):
        compiled(tmp_path, chain())


def test_without_vela_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOWMCU_VELA", str(tmp_path / "nowhere"))
    with pytest.raises(GlowmcuError, match=r"GM775(?s:.*)glowmcu\[ethos-u\]"):
        compiled(tmp_path, chain())


def test_a_model_whose_file_is_left_as_it_is_stays_with_the_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Vela does with operators that it does not know."""
    copy = 'import shutil; shutil.copy("region.tflite", "region_vela.tflite")\n'
    warning = "print(\"Warning operator: CONV_2D, ofm: 't4'\\nReason: too wide\")\n"
    pretended(tmp_path, copy + SUMMARY + warning, monkeypatch)
    bundle = compiled(tmp_path, chain())
    entry = bundle.manifest.delegation
    assert entry is not None
    assert not entry.regions
    reasons = [item.reason for item in entry.stays]
    assert all(reason.startswith("Vela: ") for reason in reasons[:2]), reasons
    assert glowmcu.verify(bundle).passed


@pytest.mark.parametrize("data", [chain, around_the_core, several_outputs])
def test_places_are_those_that_vela_says(data: object, vela: Vela) -> None:
    graph = lower(reference_graph(data(), "m.tflite"))  # type: ignore[operator]
    division = divide(graph, EthosUBackEnd(vela), lambda node: 1e9)
    assert division.regions
    again = parse_graph(print_graph(division.graph), load_operations())
    random = np.random.default_rng(0)
    inputs = [random.integers(-128, 128, v.type.shape).astype(np.int8) for v in graph.inputs]
    want = [item.tobytes() for item in run_graph(graph, inputs)]
    assert [item.tobytes() for item in run_graph(division.graph, inputs)] == want
    assert [item.tobytes() for item in run_graph(again, inputs)] == want


def with_ones() -> bytes:
    """The middle one of three convolutions has weights that are all 1: they fit four bits, too."""
    b = Builder(3)
    y = b.conv(b.input(1, 8, 8, 4), 4, 8)
    ones = b.model.constant("ones", np.ones((8, 3, 3, 8), np.int8), [0.01] * 8, [0] * 8, 0)
    zeros = b.model.constant("zeros", np.zeros(8, np.int32), [0.001] * 8, [0] * 8, 0)
    z = b.tensor(1, 8, 8, 8)
    options = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1,
               "padding": "SAME"}  # fmt: skip
    b.model.op("CONV_2D", [y, ones, zeros], [z], options)
    return b.finish(b.conv(z, 8, 8))


def test_weights_that_fit_four_bits_are_int8_for_vela(vela: Vela, tmp_path: Path) -> None:
    entry = compiled(tmp_path, with_ones()).manifest.delegation
    assert entry is not None
    assert not entry.stays


@pytest.mark.skipif(os.name == "nt", reason="a script that is a program")
def test_an_operator_that_vela_ends_for_stays_and_the_rest_goes(
    vela: Vela, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = f"""
import os, sys
if b"\\x01" * 288 in open("region.tflite", "rb").read():
    os.kill(os.getpid(), 8)
os.execv({vela.command!r}, ["vela", *sys.argv[1:]])
"""
    pretended(tmp_path, program, monkeypatch)
    bundle = compiled(tmp_path, with_ones())
    entry = bundle.manifest.delegation
    assert entry is not None
    assert [region.ops for region in entry.regions] == [("conv_2d",), ("conv_2d",)]
    assert [item.reason for item in entry.stays] == ["Vela fails for it: it ended with SIGFPE"]
    assert glowmcu.verify(bundle, model=with_ones()).passed


def test_what_vela_refuses_stays_with_its_reason(vela: Vela, tmp_path: Path) -> None:
    b = Builder(4)
    y, pooled = b.conv(b.input(1, 16, 16, 4), 4, 8, 16), b.tensor(1, 16, 16, 8)
    window = {"filter_height": 9, "filter_width": 9, "stride_h": 1, "stride_w": 1}
    b.model.op("AVERAGE_POOL_2D", [y], [pooled], {**window, "padding": "SAME"})
    data = b.finish(b.conv(pooled, 8, 8, 16))
    entry = compiled(tmp_path, data).manifest.delegation
    assert entry is not None
    assert [item.reason.startswith("Vela: ") for item in entry.stays] == [True], entry.stays


def test_a_region_of_a_file_has_a_place_for_each_tensor(vela: Vela) -> None:
    graph = lower(reference_graph(several_outputs(), "m.tflite"))
    nodes = [node for node in graph.nodes if node.op.name != "l2_normalization"]
    outputs = [node.output for node in nodes if node.op.name == "conv_2d"]
    region = read_region(vela.compiled(export_tflite(graph.replace(nodes, outputs))).data, "vela")
    assert len(region.inputs) == 2
    assert len(region.outputs) == 2
    sizes = {value.name: value.type.size_bytes for value in (*graph.inputs, *outputs)}
    places = {**region.inputs, **region.outputs}
    assert places.keys() == sizes.keys()
    assert all(places[name] + sizes[name] <= region.scratch_bytes for name in sizes)


@pytest.mark.parametrize("seed", [7, 9, 10])
def test_models_with_states_go_through_vela(seed: int, vela: Vela, tmp_path: Path) -> None:
    """Of 9 nothing is only read, of 10 one result is a part of another."""
    data = random_stream_model(seed)
    bundle = compiled(tmp_path, data)
    assert bundle.manifest.delegation is not None
    assert bundle.manifest.delegation.regions
    assert glowmcu.verify(bundle, model=data).passed


def test_commands_that_address_other_memory_are_refused(vela: Vela) -> None:
    graph = lower(reference_graph(chain(), "m.tflite"))
    first = next(node for node in graph.nodes if node.op.name == "conv_2d")
    graph = graph.replace(graph.nodes[: graph.nodes.index(first) + 1], [first.output])
    data = vela.compiled(export_tflite(graph, packs_weights=False)).data
    commands = read_region(data, "vela").commands.tobytes()
    setting = bytes([0x0F, 0x01, 0x01, 0x00])  # operands are in region 1
    assert setting in commands
    wrong = data.replace(commands, commands.replace(setting, bytes([0x0F, 0x01, 0x03, 0x00])))
    with pytest.raises(ValueError, match="addresses region 3"):
        read_region(wrong, "vela")


def test_the_page_shows_what_vela_says(vela: Vela, tmp_path: Path) -> None:
    text = (REPO / "docs" / "accelerators.md").read_text(encoding="utf-8")
    rows = {
        cells[0]: cells[1:]
        for cells in (
            [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()
        )
        if len(cells) == 5
    }
    for number, model in enumerate(rows[""]):
        path = SHARED / "models" / f"{model}_int8.tflite"
        if not path.exists():
            pytest.skip(f"{path} is not there")
        bundle = glowmcu.compile(
            path, board="mps3-an547", output=tmp_path / model, accelerator="ethos-u55-128"
        )
        entry = bundle.manifest.delegation
        assert entry is not None
        said = rows["cycles with the Ethos-U"][number], rows["cycles of the core alone"][number]
        if entry.regions:
            (region,) = entry.regions
            cycles = region.cycles + region.transfer_cycles
            assert said == (count(cycles), count(region.core_cycles))
        else:
            there = said[0].removeprefix("stays: ")
            assert entry.stays[0].reason.startswith(f"about {there} cycles")
            assert entry.stays[0].reason.endswith(f"{said[1]} on the core")
        assert rows["arena B"][number] == count(bundle.manifest.arena_bytes)


@pytest.mark.parametrize("model", ["kws", "vww", "ic", "ad"])
def test_models_of_mlperf_are_compiled_by_vela(model: str, vela: Vela, tmp_path: Path) -> None:
    path = SHARED / "models" / f"{model}_int8.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    bundle = glowmcu.compile(
        path, board="mps3-an547", output=tmp_path / "b", accelerator="ethos-u55-128"
    )
    entry = bundle.manifest.delegation
    assert entry is not None
    assert glowmcu.verify(bundle, samples=1).passed
    if model == "ad":  # 200 KB of weights that are read once, from slow flash
        assert not entry.regions
        return
    assert len(entry.regions) == 1
    assert not entry.stays
    assert entry.regions[0].cycles < entry.regions[0].core_cycles / 5
    assert bundle.manifest.layers[0].weights_bytes < 100_000


@pytest.mark.parametrize("name", ["ethos-u55-32", "ethos-u65-256", "ethos-u85-256"])
def test_each_kind_of_ethos_u_has_one_memory(name: str, vela: Vela, tmp_path: Path) -> None:
    assert name in ACCELERATORS
    bundle = compiled(tmp_path, chain(), name)
    assert bundle.manifest.delegation is not None
    assert glowmcu.verify(bundle).passed


def test_rounding_of_another_family_stays_with_the_core(vela: Vela, tmp_path: Path) -> None:
    bundle = glowmcu.compile(
        chain(), output=tmp_path / "b", accelerator="ethos-u55-128", rounding="single"
    )
    entry = bundle.manifest.delegation
    assert entry is not None
    assert not entry.regions
    assert "rounds as TensorFlow Lite Micro" in entry.stays[0].reason


#: What Arm's driver declares, as far as the bundle's file calls it, and a device that answers.
DRIVER_H = """
#include <stddef.h>
#include <stdint.h>
struct ethosu_driver { int n; };
struct ethosu_driver *ethosu_reserve_driver(void);
void ethosu_release_driver(struct ethosu_driver *drv);
int ethosu_invoke_v3(struct ethosu_driver *drv, const void *custom_data_ptr,
                     const int custom_data_size, uint64_t *const base_addr,
                     const size_t *base_addr_size, const int num_base_addr, void *user_arg);
"""
DEVICE_C = """
#include "ethosu_driver.h"
#include "m.h"
#include <stdio.h>
#include <string.h>
static struct ethosu_driver only;
static int fails;
struct ethosu_driver *ethosu_reserve_driver(void) { return &only; }
void ethosu_release_driver(struct ethosu_driver *drv) { (void)drv; }
int ethosu_invoke_v3(struct ethosu_driver *drv, const void *custom_data_ptr,
                     const int custom_data_size, uint64_t *const base_addr,
                     const size_t *base_addr_size, const int num_base_addr, void *user_arg)
{
    const int8_t *in = (const int8_t *)(uintptr_t)base_addr[1];
    (void)drv; (void)user_arg;
    printf("%.4s %d %d %d %d %d ", (const char *)custom_data_ptr, custom_data_size % 4,
           (int)((uintptr_t)custom_data_ptr % 16u), (int)(base_addr[0] % 16u),
           (int)(base_addr[1] % 16u), num_base_addr);
    printf("%d %d %d\\n", (int)base_addr_size[1] >= 512, in[IN_AT], in[IN_AT + 255]);
    memset((void *)(uintptr_t)(base_addr[1] + OUT_AT), 42, 512);
    return fails;
}
static M_ARENA(arena);
int main(void)
{
    int8_t *input = m_input(arena);
    for (int i = 0; i < 256; ++i) { input[i] = (int8_t)(i - 100); }
    printf("%d ", (int)m_run(arena));
    printf("%d\\n", (int)m_check());
    fails = 1;
    printf("%d\\n", (int)m_run(arena));
    return 0;
}
"""


def test_the_driver_is_given_commands_constants_and_the_operands(
    vela: Vela, tmp_path: Path
) -> None:
    compiler = host_compiler() or pytest.skip("needs a C compiler")
    graph = lower(reference_graph(chain(), "m.tflite"))
    division = divide(graph, EthosUBackEnd(vela), lambda node: 1e9)
    (region,) = division.regions.values()
    bundle = compiled(tmp_path, chain())
    assert bundle.manifest.delegation is not None
    assert bundle.manifest.delegation.hooks == ("glowmcu_ethos_u_run",)
    (tmp_path / "ethosu_driver.h").write_text(DRIVER_H)
    (tmp_path / "device.c").write_text(DEVICE_C)
    sources = [*(bundle.path / file for file in bundle.manifest.sources),
               bundle.path / "accelerator" / "ethos_u_driver.c"]  # fmt: skip
    assert isinstance(region.op, EthosU)
    offsets = region.op.input_offsets[0], region.op.output_offsets[0]
    places = [f"-DIN_AT={offsets[0]}", f"-DOUT_AT={offsets[1]}"]
    flags = ["-DGLOWMCU_USE_ETHOS_U", f"-I{bundle.path}", f"-I{tmp_path}"]
    for source in sources:
        done = subprocess.run([compiler, *STRICT_FLAGS, *flags, "-c", source, "-o",
                               tmp_path / f"{source.stem}.o"],
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
    program = tmp_path / "device"
    objects = [tmp_path / f"{source.stem}.o" for source in sources]
    subprocess.run([compiler, "-std=c99", *flags, *places, tmp_path / "device.c", *objects,
                    "-o", program], check=True)  # fmt: skip
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    # A first run that works, a check of the constants, and a run whose device fails.
    call = "COP1 0 0 0 0 3 1 -100 -101"
    assert said.split("\n")[:4] == [call, "0 0", call, "-8"]


def test_constants_of_the_core_are_not_there_where_the_device_computes(
    vela: Vela, tmp_path: Path
) -> None:
    bundle = compiled(tmp_path, chain())
    weights = (bundle.path / "m_weights.c").read_text()
    guarded = weights.split("#ifndef GLOWMCU_USE_ETHOS_U\n")[1:]
    assert guarded
    assert all("#endif" in part for part in guarded)
    layer = next(layer for layer in bundle.manifest.layers if layer.device)
    assert layer.weights_bytes == sum(part.bytes for part in layer.constants)
