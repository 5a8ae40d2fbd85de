"""Bundles with regions: the same bytes by the core, and by functions of an accelerator."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from benchmarks.random_networks import random_network
from benchmarks.stack_bounds import outside_bounds
from glowmcu.bundle import Bundle
from glowmcu.compilation import Options
from glowmcu.cores import core
from glowmcu.delegation.delegate_regions import divide
from glowmcu.delegation.described import read_described
from glowmcu.facts.document import read_facts
from glowmcu.host_compiler import STRICT_FLAGS, host_compiler
from glowmcu.interface_options import InterfaceOptions
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.text import parse_graph, print_graph
from glowmcu.kernels.kernel import Target
from glowmcu.lowering.passes import lower
from glowmcu.ops.delegate import Delegate
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import compile_model, reference_graph
from glowmcu.report.page import report_page
from glowmcu.verify.host import Host
from tests.conftest import SHARED
from tests.delegation.models import (
    ACME,
    FREE,
    Builder,
    acme,
    around_the_core,
    chain,
    several_outputs,
)
from tests.report.test_facts_schema import schema
from tests.support.stream_models import random_stream_model

MODELS = {"chain": chain, "around the core": around_the_core, "several outputs": several_outputs}


def compiled(folder: Path, data: bytes, text: str = ACME, **options: object) -> Bundle:
    return glowmcu.compile(
        data, board="nrf52", output=folder / "b", name="m",
        accelerator=acme(folder, text), **options,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_a_divided_graph_means_what_the_whole_did(name: str, tmp_path: Path) -> None:
    graph = lower(reference_graph(MODELS[name](), "m.tflite"))
    back_end = read_described(acme(tmp_path), Target(core("cortex-m4")))
    division = divide(graph, back_end, lambda node: 1e6)
    division.graph.verify()
    assert division.regions
    again = parse_graph(print_graph(division.graph), load_operations())
    random = np.random.default_rng(0)
    inputs = [random.integers(-128, 128, v.type.shape).astype(np.int8) for v in graph.inputs]
    want = run_graph(graph, inputs)
    for got in (run_graph(division.graph, inputs), run_graph(again, inputs)):
        assert [item.tobytes() for item in got] == [item.tobytes() for item in want]


@pytest.mark.parametrize("seed", [2, 6, 7, 10])
def test_models_with_states_are_divided(seed: int, tmp_path: Path) -> None:
    data = random_stream_model(seed)
    bundle = compiled(tmp_path, data, FREE)
    assert bundle.manifest.delegation is not None
    assert bundle.manifest.delegation.regions
    hooks = bundle.path / "accelerator" / "all_hooks.c"
    found = glowmcu.verify(bundle, model=data, hooks=hooks)
    assert found.passed, found


def test_a_region_may_read_nothing_but_constants(tmp_path: Path) -> None:
    """A layer whose input is proved to be always the same was asked for that input."""
    data = random_network(108_567)
    bundle = compiled(tmp_path, data, FREE)
    assert glowmcu.verify(bundle, model=data).passed


def test_a_side_on_the_core_cuts_a_region(tmp_path: Path) -> None:
    entry = compiled(tmp_path, around_the_core()).manifest.delegation
    assert entry is not None
    assert [region.ops for region in entry.regions] == [("conv_2d", "conv_2d"), ("conv_2d", "add")]
    assert [item.reason for item in entry.stays] == ["Acme NPU has no l2_normalization"]


@pytest.mark.parametrize("name", MODELS)
def test_bundles_equal_the_reference_with_the_core_and_with_hooks(
    name: str, tmp_path: Path
) -> None:
    data = MODELS[name]()
    bundle = compiled(tmp_path, data)
    assert bundle.manifest.delegation is not None
    assert bundle.manifest.delegation.regions
    hooks = bundle.path / "accelerator" / "acme_hooks.c"
    found = glowmcu.verify(bundle, ["host"], model=data, hooks=hooks)
    assert found.passed, found
    assert [check.executor for check in found.checks] == ["host", "hooks"]


def test_tensors_that_hooks_see_are_apart_and_aligned(tmp_path: Path) -> None:
    """A hook may write its result before it has read all that it is made of."""
    bundle = compiled(tmp_path, several_outputs())
    trace = tmp_path / "trace.h"
    trace.write_text(
        "#include <stdint.h>\nextern void seen(const void *p);\n"
        "#define GLOWMCU_DELEGATED(layer, data, bytes) seen(data)\n"
    )
    text = (bundle.path / "accelerator" / "acme_hooks.c").read_text()
    checks = (
        "    if ((uintptr_t)out % 8u != 0u || (uintptr_t)p->{w} % 8u != 0u) {{ return 9; }}\n"
        "    if (out < {i} + layer->in[0].height * layer->in[0].width * layer->in[0].channels &&\n"
        "        {i} < out + layer->out.height * layer->out.width * layer->out.channels) {{\n"
        "        return 8;\n    }}\n"
    )
    start = text.index("int32_t acme_conv_2d(")
    brace = text.index("{\n", start) + 2
    changed = text[:brace] + checks.format(w="weights", i="in") + text[brace:]
    hooks = tmp_path / "hooks.c"
    hooks.write_text(changed)
    found = glowmcu.verify(bundle, hooks=hooks)
    assert found.passed, found


WRONG_HOOKS = {
    "a wrong byte": ("out[0] = (int8_t)(out[0] ^ 1);", "is the first that differs"),
    "an error": ("return 5;", "returned an error at layer"),
    "a crash": ("*(volatile int *)0 = 1;", "did not come back"),
    "the end of the program": ("exit(3);", "exit code 3"),
    "a byte behind the arena": ("out[1 << 24] = 1;", "did not come back"),
}


@pytest.mark.parametrize("case", WRONG_HOOKS)
def test_a_wrong_hook_is_found_and_its_layer_is_named(case: str, tmp_path: Path) -> None:
    line, said = WRONG_HOOKS[case]
    bundle = compiled(tmp_path, chain())
    text = (bundle.path / "accelerator" / "acme_hooks.c").read_text()
    start = text.index("int32_t acme_conv_2d(")
    end = text.index("    return 0;\n", start)
    # Of two layers the second alone.
    wrong = f"    if (layer->in[0].channels == 8) {{\n        {line}\n    }}\n"
    hooks = tmp_path / "hooks.c"
    hooks.write_text("#include <stdlib.h>\n" + text[:end] + wrong + text[end:])
    found = glowmcu.verify(bundle, hooks=hooks)
    assert not found.passed
    check = found.checks[-1]
    assert said in check.first_difference, check
    assert bundle.manifest.delegation is not None
    assert f'"{bundle.manifest.delegation.layers[1]}"' in check.first_difference


def test_hooks_that_do_not_compile_or_are_not_wanted_have_a_code(tmp_path: Path) -> None:
    bundle = compiled(tmp_path, chain())
    hooks = tmp_path / "hooks.c"
    hooks.write_text("int acme_begin(void);\n")
    for given, code in ((hooks, "GM777"), (tmp_path / "none.c", "GM777")):
        with pytest.raises(glowmcu.GlowmcuError) as caught:
            glowmcu.verify(bundle, hooks=given)
        assert caught.value.code == code
    plain = glowmcu.compile(chain(), output=tmp_path / "p")
    with pytest.raises(glowmcu.GlowmcuError, match="GM777"):
        glowmcu.verify(plain, hooks=hooks)


@pytest.mark.parametrize("flags", [(), ("-DGLOWMCU_USE_ACME",)])
@pytest.mark.parametrize("name", MODELS)
def test_c_is_free_of_warnings_with_the_accelerator_and_without(
    name: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    compiler = host_compiler() or pytest.skip("needs a C compiler")
    bundle = compiled(tmp_path, MODELS[name]())
    sources = [bundle.path / file for file in bundle.manifest.sources]
    for source in (*sources, bundle.path / "accelerator" / "acme_hooks.c"):
        command = [compiler, *STRICT_FLAGS, *flags, f"-I{bundle.path}", "-c", str(source), "-o",
                   str(tmp_path / "o.o")]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.arm
def test_an_input_outside_lies_on_a_modelled_core_as_an_accelerator_asks(tmp_path: Path) -> None:
    """3x3x4 bytes are no multiple of 16: at the end of memory the run refused their address."""
    model = Builder()
    x = model.input(1, 3, 3, 4)
    model.model.output(model.conv(x, 4, 8, 3))
    bundle = compiled(tmp_path, model.model.finish(), FREE, outside_inputs=["x1"])
    (entry,) = bundle.manifest.external
    assert (entry.bytes % 16, entry.outside_align) == (4, 16)
    assert glowmcu.verify(bundle, ["cortex-m"]).passed


@pytest.mark.arm
def test_the_core_computes_the_same_on_a_modelled_core(tmp_path: Path) -> None:
    found = glowmcu.verify(compiled(tmp_path, around_the_core()), ["host", "cortex-m"])
    assert found.passed, found


@pytest.mark.arm
@pytest.mark.parametrize("core_name", ["cortex-m0plus", "cortex-m4"])
def test_the_stack_that_a_bundle_states_is_enough(core_name: str, tmp_path: Path) -> None:
    interface = InterfaceOptions(accelerator=str(acme(tmp_path)))
    options = Options("m", core=core_name, interface=interface)
    made = compile_model(several_outputs(), "m.tflite", options)
    assert made.manifest.costs.stack_bytes
    assert outside_bounds(made, core_name, tmp_path / "b") == []


@pytest.mark.arm
def test_weights_lie_where_the_accelerator_needs_them(tmp_path: Path) -> None:
    text = 'weights_memory = "dtcm"\n' + ACME
    given: dict[str, Any] = {"name": "m", "board": "nucleo-h743zi"}
    given["accelerator"] = acme(tmp_path, text)
    bundle = glowmcu.compile(around_the_core(), output=tmp_path / "b", **given)
    (entry,) = (item for item in bundle.manifest.placement if item.what == "weights" and
                item.region == "dtcm")  # fmt: skip
    devices = [layer.index for layer in bundle.manifest.layers if layer.device]
    assert list(entry.layers) == devices
    assert glowmcu.verify(bundle, ["host", "cortex-m"]).passed
    place = {"weights:region 0": "itcm", "code": "itcm"}
    again = glowmcu.compile(around_the_core(), output=tmp_path / "c", place=place, **given)
    assert any(item.region == "itcm" and 0 in item.layers for item in again.manifest.placement)
    assert glowmcu.verify(again, ["host", "cortex-m"]).passed
    with pytest.raises(glowmcu.GlowmcuError, match="GM404"):
        glowmcu.compile(around_the_core(), output=tmp_path / "d", **{**given, "board": "nrf52"})


@pytest.mark.parametrize("goal", ["speed", "size", "ram", "flash"])
def test_goals_go_with_an_accelerator(goal: str, tmp_path: Path) -> None:
    data = several_outputs()
    bundle = compiled(tmp_path, data, optimize=goal)
    assert glowmcu.verify(bundle, model=data).passed


def test_regions_stay_where_a_budget_is_too_small_for_them(tmp_path: Path) -> None:
    data = several_outputs()
    free = compiled(tmp_path, data)
    plain = glowmcu.compile(data, board="nrf52", output=tmp_path / "p")
    assert plain.manifest.arena_bytes < free.manifest.arena_bytes
    tight = compiled(tmp_path, data, arena_budget=plain.manifest.arena_bytes)
    entry = tight.manifest.delegation
    assert entry is not None
    assert not entry.regions
    assert {item.reason for item in entry.stays} >= {
        "with it on Acme NPU the model is over its budget (GM403)"
    }
    assert glowmcu.verify(tight, model=data).passed
    with pytest.raises(glowmcu.GlowmcuError, match="GM403"):
        compiled(tmp_path, data, arena_budget=100)


def test_the_manifest_says_who_computes_what_and_why(tmp_path: Path) -> None:
    bundle = compiled(tmp_path, chain())
    body = json.loads((bundle.path / "manifest.json").read_text())
    assert [layer["device"] for layer in body["layers"]] == ["Acme NPU", ""]
    assert body["delegation"]["estimated_by"] == "the costs in acme.toml"
    assert body["delegation"]["hooks"] == ["acme_begin", "acme_end", "acme_conv_2d"]
    assert glowmcu.load(bundle.path).manifest == bundle.manifest
    plain = glowmcu.compile(chain(), output=tmp_path / "p")
    body = json.loads((plain.path / "manifest.json").read_text())
    assert "delegation" not in body
    assert all("device" not in layer for layer in body["layers"])


@pytest.mark.arm
def test_facts_of_commands_are_what_the_schema_says(tmp_path: Path) -> None:
    bundle = compiled(tmp_path, chain())
    glowmcu.verify(bundle)
    found = glowmcu.bench(bundle)
    assert found.json()["estimates"]["device"] == "Acme NPU"  # type: ignore[index]
    facts = read_facts(bundle.path)
    assert facts["compile"]["delegation"]["regions"]
    check_facts(facts)
    page = tmp_path / "r.html"
    page.write_text(report_page(bundle), encoding="utf-8")
    assert "Acme NPU computes 2 layers in 1 region" in page.read_text(encoding="utf-8")


def check_facts(facts: dict[str, object]) -> None:
    """As tests of the schema do: no field but those that it names."""
    jsonschema = pytest.importorskip("jsonschema")
    body = schema(strict=True)
    for name, part in facts.items():
        if name in body["$defs"]:
            rule = {"$ref": f"#/$defs/{name}", "$defs": body["$defs"]}
            jsonschema.validate(part, rule)


def test_the_core_waits_for_an_accelerator_that_failed_and_says_so(tmp_path: Path) -> None:
    bundle = compiled(tmp_path, chain())
    code = (bundle.path / "m.c").read_text()
    assert re.search(r"if \(k_0\(.*\) != 0\) \{\n        return GLOWMCU_BAD_ACCELERATOR;", code)


@pytest.mark.parametrize("model", ["kws", "ic", "ad", "vww"])
def test_models_of_mlperf_are_divided(model: str, tmp_path: Path) -> None:
    path = SHARED / "models" / f"{model}_int8.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    text = ACME + '\n[[accepts]]\noperator = "depthwise_conv_2d"\ncycles_per_mac = 0.1\n'
    text += '\n[[accepts]]\noperator = "fully_connected"\ncycles_per_mac = 0.1\n'
    bundle = glowmcu.compile(
        path, board="nrf52", output=tmp_path / "b", accelerator=acme(tmp_path, text)
    )
    assert any(layer.device for layer in bundle.manifest.layers)
    assert glowmcu.verify(bundle, samples=1).passed


def test_delegates_are_no_operators_of_files(tmp_path: Path) -> None:
    graph = lower(reference_graph(chain(), "m.tflite"))
    back_end = read_described(acme(tmp_path), Target(core("cortex-m4")))
    division = divide(graph, back_end, lambda node: 1e6)
    (node,) = (node for node in division.graph.nodes if isinstance(node.op, Delegate))
    assert node.macs == sum(n.macs for n in graph.nodes)
    assert Host().missing() is None
