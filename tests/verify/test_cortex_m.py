"""The cortex-m executor: right outputs, costs that add up, misbehaviour that is noticed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.verify import toolchain
from glowmcu.verify.cortex_m import CortexM
from tests.verify.tiny_bundle import expected_output, random_inputs, write_tiny_bundle

CORE_NAMES = ("cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33")
_ABSENT = CortexM("cortex-m4").missing()
needs_tools = pytest.mark.skipif(_ABSENT is not None, reason=str(_ABSENT))
pytestmark = pytest.mark.arm


@needs_tools
@pytest.mark.parametrize("core_name", CORE_NAMES)
def test_outputs_are_those_of_the_meaning(tmp_path: Path, core_name: str) -> None:
    bundle, inputs = write_tiny_bundle(tmp_path), random_inputs(5)
    for (x,), found in zip(inputs, CortexM(core_name).run(bundle, inputs), strict=True):
        np.testing.assert_array_equal(found.outputs[0], expected_output(x))
        assert found.outputs[0].dtype == np.int8


@needs_tools
@pytest.mark.parametrize("core_name", CORE_NAMES)
def test_layers_and_what_is_outside_add_up_to_the_total(tmp_path: Path, core_name: str) -> None:
    (found,) = CortexM(core_name).measure(write_tiny_bundle(tmp_path), random_inputs(1))
    account, layers = found.account, found.measurement.layers
    assert account is not None
    assert [layer.name for layer in layers] == ["dense_0", "half", "dense_1"]
    assert sum(layer.instructions for layer in layers) + account.outside.instructions == (
        account.total.instructions
    )
    assert (
        sum(layer.cycles or 0 for layer in layers) + account.outside.cycles == account.total.cycles
    )
    assert all(layer.instructions > 0 for layer in layers)
    assert account.outside.instructions < 20


@needs_tools
def test_totals_are_those_of_the_code_that_ships(tmp_path: Path) -> None:
    bundle, inputs = write_tiny_bundle(tmp_path), random_inputs(1)
    plain = write_tiny_bundle(tmp_path / "without_markers")
    text = (plain / "tiny.c").read_text()
    (plain / "tiny.c").write_text(text.replace("GLOWMCU_STEP", "NO_STEP"))
    (with_markers,) = CortexM("cortex-m4").run(bundle, inputs)
    (without,) = CortexM("cortex-m4").measure(plain, inputs)
    assert not without.markers_changed_code
    assert with_markers.instructions == without.measurement.instructions
    assert with_markers.cycles == without.measurement.cycles
    assert with_markers.stack_bytes == without.measurement.stack_bytes


@needs_tools
def test_a_shared_function_counts_for_the_layer_that_calls_it(tmp_path: Path) -> None:
    bundle = write_tiny_bundle(tmp_path)
    text = (bundle / "tiny.c").read_text()
    kernel = "__attribute__((noinline)) static void k_"
    (bundle / "tiny.c").write_text(text.replace("static void k_", kernel))
    (found,) = CortexM("cortex-m4").measure(bundle, random_inputs(1))
    account = found.account
    assert account is not None
    inside = {}
    for block in account.blocks:
        kernel = block.symbol.partition(".")[0]  # gcc may call it k_lookup.constprop.0
        inside[kernel] = inside.get(kernel, 0) + block.cost.instructions
    layers = {layer.name: layer.instructions for layer in found.measurement.layers}
    both_dense = layers["dense_0"] + layers["dense_1"]
    assert 0 < layers["half"] - inside["k_lookup"] < 12  # passing the arguments, the call
    assert 0 < both_dense - inside["k_fully_connected"] < 24
    assert layers["dense_0"] > 2 * layers["dense_1"]


@needs_tools
def test_cores_differ_in_what_the_same_bundle_costs(tmp_path: Path) -> None:
    bundle, inputs = write_tiny_bundle(tmp_path), random_inputs(1)
    cycles = {name: CortexM(name).run(bundle, inputs)[0].cycles or 0 for name in CORE_NAMES}
    assert cycles["cortex-m0"] > cycles["cortex-m0plus"] > cycles["cortex-m4"]
    assert cycles["cortex-m3"] > cycles["cortex-m4"] > cycles["cortex-m33"] > cycles["cortex-m7"]


@needs_tools
def test_without_counting_outputs_are_the_same_and_costs_unknown(tmp_path: Path) -> None:
    bundle, inputs = write_tiny_bundle(tmp_path), random_inputs(3)
    for (x,), found in zip(
        inputs, CortexM("cortex-m4", count=False).run(bundle, inputs), strict=True
    ):
        np.testing.assert_array_equal(found.outputs[0], expected_output(x))
        assert found.instructions is None
        assert found.cycles is None
        assert found.layers == ()
        assert found.stack_bytes


@needs_tools
def test_every_inference_starts_with_a_poisoned_arena(tmp_path: Path) -> None:
    bundle = write_tiny_bundle(tmp_path, fault="base[32] = base[39]; base[39] = 1;")
    runs = CortexM("cortex-m4").run(bundle, random_inputs(2))
    assert [int(found.outputs[0][0, 0]) for found in runs] == [0xA5 - 256] * 2


@needs_tools
def test_statics_are_as_after_power_on_in_every_inference(tmp_path: Path) -> None:
    helpers = "static volatile int8_t zeroed; static volatile int8_t seven = 7;"
    fault = "base[32] = zeroed++; base[33] = seven++;"
    bundle = write_tiny_bundle(tmp_path, fault, helpers)
    for found in CortexM("cortex-m4").run(bundle, random_inputs(2)):
        assert found.outputs[0][0, :2].tolist() == [0, 7]


@needs_tools
@pytest.mark.parametrize(
    ("core_name", "bigger_core", "fault"),
    [
        ("cortex-m0", "cortex-m3", ".inst.w 0xfb90f0f1"),
        ("cortex-m3", "cortex-m4", ".inst.w 0xfa2ff080"),
        ("cortex-m3", "cortex-m4", ".inst.w 0xee300a00"),
        ("cortex-m0", "cortex-m3", "ldr r1, [%0]"),
        ("cortex-m0", "cortex-m3", "strh r1, [%0]"),
    ],
    ids=[
        "SDIV on M0",
        "SXTB16 on M3",
        "VADD on M3",
        "an unaligned word on M0",
        "an unaligned halfword on M0",
    ],
)
def test_what_the_core_cannot_do_is_a_fault(
    tmp_path: Path, core_name: str, bigger_core: str, fault: str
) -> None:
    statement = f'__asm__ volatile("{fault}" : : "l"(base + 17) : "r0", "r1");'
    bundle, inputs = write_tiny_bundle(tmp_path, statement), random_inputs(1)
    assert CortexM(bigger_core).run(bundle, inputs)
    with pytest.raises(GlowmcuError) as caught:
        CortexM(core_name).run(bundle, inputs)
    assert caught.value.code == "GM655"


@needs_tools
def test_a_slow_multiplier_costs_31_cycles_more_for_each_product(tmp_path: Path) -> None:
    bundle, inputs = write_tiny_bundle(tmp_path), random_inputs(1)
    (fast,) = CortexM("cortex-m0plus").run(bundle, inputs)
    (slow,) = CortexM("cortex-m0plus", slow_multiplier=True).run(bundle, inputs)
    assert (slow.cycles or 0) - (fast.cycles or 0) == 160 * 31  # one product a MAC


_VOLATILE = "volatile int8_t *p = (volatile int8_t *)"
_DEEP = """
static int32_t deep(int32_t n)
{
    volatile int8_t frame[1024];
    frame[0] = (int8_t)n;
    return n ? deep(n - 1) + frame[0] : 0;
}
"""


@needs_tools
@pytest.mark.parametrize("count", [True, False])
@pytest.mark.parametrize(
    ("fault", "code", "told"),
    [
        (f"{_VOLATILE}(base + 40); *p = 1;", "GM652", "wrote to byte 40 of an arena of 40 bytes"),
        (f"{_VOLATILE}(base + 40); *p;", "GM652", "read byte 40 of an arena of 40 bytes"),
        (f"{_VOLATILE}(base - 1); *p = 1;", "GM652", "wrote to byte -1 of an arena of 40 bytes"),
        (f"{_VOLATILE}(base - 8192); *p = 1;", "GM652", "wrote to byte -8192 of an arena"),
        (f"{_VOLATILE}64; *p;", "GM652", "read 0x00000040, which is not its memory"),
        (f"{_VOLATILE}tiny_w0; *p = 1;", "GM652", "wrote to 0x0800"),
        ("base[0] = (int8_t)deep(100);", "GM653", "deeper than 65536 bytes"),
        ('__asm__ volatile("udf #0");', "GM655", "the processor faulted"),
    ],
    ids=[
        "a write behind the arena",
        "a read behind the arena",
        "a write before the arena",
        "a write far before the arena",
        "a read near address 0",
        "a write to constants",
        "a deep recursion",
        "an undefined instruction",
    ],
)
def test_what_a_bundle_must_not_do_is_an_error_that_names_the_step(
    tmp_path: Path, fault: str, code: str, told: str, count: bool
) -> None:
    bundle = write_tiny_bundle(tmp_path, f"{{ {fault} }}", _DEEP)
    with pytest.raises(GlowmcuError) as caught:
        CortexM("cortex-m4", count=count).run(bundle, random_inputs(1))
    assert caught.value.code == code
    assert told in str(caught.value)
    assert 'tiny, step 3 "fault"' in caught.value.problems[0].where
    assert caught.value.exit_code is ExitCode.MISMATCH


@needs_tools
def test_a_write_into_the_padding_behind_the_arena_is_caught(tmp_path: Path) -> None:
    bundle = write_tiny_bundle(tmp_path, f"{{ {_VOLATILE}(base + 37); *p = 1; }}")
    manifest = bundle / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"arena_bytes": 40', '"arena_bytes": 37'))
    with pytest.raises(GlowmcuError, match="wrote to byte 37 of an arena of 37 bytes"):
        CortexM("cortex-m4").run(bundle, random_inputs(1))


@needs_tools
def test_damage_is_found_at_the_next_step_and_blamed_on_the_one_before(tmp_path: Path) -> None:
    fault = f"{{ {_VOLATILE}(base - 1); *p = 1; }} GLOWMCU_STEP(4); base[0] = 1;"
    with pytest.raises(GlowmcuError, match='step 3 "fault"'):
        CortexM("cortex-m4").run(write_tiny_bundle(tmp_path, fault), random_inputs(1))


@needs_tools
@pytest.mark.parametrize(
    ("core_name", "fault"),
    [
        ("cortex-m4", '__asm__ volatile("ldm %0, {r1, r2}" : : "l"(base + 17) : "r1", "r2");'),
        ("cortex-m4", '__asm__ volatile("ldrd r1, r2, [%0]" : : "l"(base + 2) : "r1", "r2");'),
        ("cortex-m4", '__asm__ volatile("vldr s0, [%0]" : : "l"(base + 2) : "s0");'),
    ],
    ids=["LDM on M4", "LDRD on M4", "VLDR on M4"],
)
def test_an_unaligned_access_of_several_words_is_found_on_request(
    tmp_path: Path, core_name: str, fault: str
) -> None:
    bundle = write_tiny_bundle(tmp_path, fault)
    with pytest.raises(GlowmcuError) as caught:
        CortexM(core_name, check_alignment=True).run(bundle, random_inputs(1))
    assert caught.value.code == "GM656"
    assert 'step 3 "fault"' in caught.value.problems[0].where


@needs_tools
def test_an_unaligned_word_is_fine_from_armv7_m_on(tmp_path: Path) -> None:
    fault = '__asm__ volatile("ldr r1, [%0]" : : "l"(base + 17) : "r1");'
    bundle, inputs = write_tiny_bundle(tmp_path, fault), random_inputs(1)
    (found,) = CortexM("cortex-m4", check_alignment=True).run(bundle, inputs)
    np.testing.assert_array_equal(found.outputs[0], expected_output(inputs[0][0]))


@needs_tools
@pytest.mark.parametrize("count", [True, False])
def test_a_program_that_never_ends_is_stopped(tmp_path: Path, count: bool) -> None:
    bundle = write_tiny_bundle(tmp_path, "{ volatile int8_t on = 1; while (on) { base[0]++; } }")
    with pytest.raises(GlowmcuError) as caught:
        CortexM("cortex-m4", count=count, timeout_seconds=0.4).run(bundle, random_inputs(1))
    assert caught.value.code == "GM654"
    assert "tiny_run did not return within 0.4 s" in str(caught.value)
    assert 'step 3 "fault"' in caught.value.problems[0].where


@needs_tools
@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ([], "has 1 input (x int8[1x16]), got none"),
        ([np.zeros((1, 15), np.int8)], "expected int8[1x16], got int8[1x15]"),
        ([np.zeros((1, 16), np.uint8)], "expected int8[1x16], got uint8[1x16]"),
        ([np.zeros((1, 16), np.int8)] * 2, "has 1 input (x int8[1x16]), got 2"),
    ],
    ids=["none", "one element short", "unsigned", "one too many"],
)
def test_inputs_that_do_not_fit_the_model_are_refused(
    tmp_path: Path, inputs: list, text: str
) -> None:
    with pytest.raises(GlowmcuError) as caught:
        CortexM("cortex-m4").run(write_tiny_bundle(tmp_path), [inputs])
    assert caught.value.code == "GM604"
    assert text in str(caught.value)


@pytest.mark.parametrize("core_name", ["cortex-m55", "cortex-m85"])
def test_cores_with_helium_are_left_to_qemu(tmp_path: Path, core_name: str) -> None:
    with pytest.raises(GlowmcuError) as caught:
        CortexM(core_name).run(write_tiny_bundle(tmp_path), random_inputs(1))
    assert caught.value.code == "GM650"
    assert "on='qemu'" in str(caught.value)


def test_an_unknown_core_is_answered_with_the_nearest_names() -> None:
    with pytest.raises(GlowmcuError, match=r"did you mean .*cortex-m33"):
        CortexM("cortex-m34")


def test_absent_packages_are_named_with_the_command_that_installs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    hidden = ("unicorn", "elftools")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in hidden else find(name)
    )
    told = 'unicorn, pyelftools not installed: pip install "glowmcu[emulation]"'
    assert CortexM("cortex-m4").missing() == told
    with pytest.raises(GlowmcuError) as caught:
        CortexM("cortex-m4").run(write_tiny_bundle(tmp_path), random_inputs(1))
    assert caught.value.code == "GM651"
    assert told in str(caught.value)


def test_an_absent_compiler_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("unicorn")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv(toolchain.GCC_VARIABLE, raising=False)
    assert "gcc-arm-none-eabi" in (CortexM("cortex-m4").missing() or "")


@needs_tools
def test_a_bundle_that_changed_is_built_anew(tmp_path: Path) -> None:
    """Programs of the last bundles are kept: by what is in the files, not by where they are."""
    inputs = random_inputs(1)
    bundle = write_tiny_bundle(tmp_path)
    (before,) = CortexM("cortex-m4").run(bundle, inputs)
    with mock.patch.object(toolchain, "run_gcc", side_effect=AssertionError("built again")):
        (again,) = CortexM("cortex-m4").run(bundle, inputs)
    assert again.cycles == before.cycles
    assert CortexM("cortex-m0plus").run(bundle, inputs)[0].cycles != before.cycles
    write_tiny_bundle(tmp_path, '__asm__ volatile("nop\\n nop\\n nop");')
    (after,) = CortexM("cortex-m4").run(bundle, inputs)
    assert (after.instructions or 0) == (before.instructions or 0) + 3
