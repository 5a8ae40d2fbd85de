"""Bundles placed in regions: linked, all lies where the manifest says, and computes the same."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import glowmcu
from glowmcu.board import find_board
from glowmcu.bundle import Bundle
from glowmcu.cores import core
from glowmcu.manifest import PlacementEntry
from glowmcu.verify import toolchain
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from glowmcu.verify.qemu import Qemu
from glowmcu.verify.verification import random_inputs
from tests.bundle.test_compilers import CPP, STRICT
from tests.conftest import REPO
from tests.support.check_model import expect_equal

H7 = find_board("nucleo-h743zi")
DIGITS = REPO / "examples" / "digits" / "digits_int8.tflite"
#: What is placed, in words.
PLACES: dict[str, dict[str, str]] = {
    "by the board": {},
    "all in fast memory": {"auto": "auto"},
    "code and weights in two more": {"arena": "sram1", "weights": "ram", "code": "itcm"},
    "layer by layer": {
        "weights": "sram2",
        "weights:0": "dtcm",
        "weights:3": "flash",
        "code:0": "itcm",
        "code:3": "dtcm",
    },
}
MAIN = """#include "digits.h"
{include}
static DIGITS_ARENA(arena);
int main(void);
int main(void)
{{
    {load}
    digits_run(arena);
    return digits_output(arena)[0];
}}
"""
#: As board support packages have it: vectors first, other names for two regions.
SCRIPT = """MEMORY
{{
{memory}}}
REGION_ALIAS("dtcm", DTCMRAM)
ENTRY(main)
SECTIONS
{{
    .text : {{ KEEP(*(.isr_vector)) *(.text .text.*) }} > flash
{include}
    .rodata : {{ *(.rodata .rodata.*) }} > flash
    .data : {{ *(.data .data.*) }} > ram AT > flash
    .bss (NOLOAD) : {{ *(.bss .bss.* COMMON) }} > ram
}}
"""
Compiled = Callable[[str], Bundle]


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """`placed("by the board")`: digits for the H7, compiled once."""
    base, made = tmp_path_factory.mktemp("placed"), dict[str, Bundle]()

    def make(name: str) -> Bundle:
        if name not in made:
            folder = base / name.replace(" ", "_")
            made[name] = glowmcu.compile(
                DIGITS, board=H7.name, name="digits", output=folder, place=PLACES[name]
            )
        return made[name]

    return make


@dataclass(frozen=True)
class Symbol:
    address: int
    size_bytes: int

    @property
    def region(self) -> str:
        return next(
            region.name
            for region in H7.memory
            if region.origin <= self.address and self.address + self.size_bytes <= region.end
        )


def linked(bundle: Bundle, folder: Path) -> dict[str, Symbol]:
    """Symbols of a firmware with the bundle, linked with its fragment."""
    from elftools.elf.elffile import ELFFile

    placement = bundle.path / "placement"
    loader = placement / "digits_load.c"
    names = {"dtcm": "DTCMRAM"}
    memory = "".join(
        f"    {names.get(r.name, r.name)} : ORIGIN = {r.origin:#x}, LENGTH = {r.size_bytes}\n"
        for r in H7.memory
    )
    script, main = folder / "board.ld", folder / "main.c"
    script.write_text(SCRIPT.format(memory=memory, include="    INCLUDE digits.ld"))
    main.write_text(
        MAIN.format(
            include='#include "digits_load.h"' if loader.exists() else "",
            load="digits_load();" if loader.exists() else "",
        )
    )
    sources = [main, *(bundle.path / name for name in bundle.manifest.sources)]
    sources += [loader] if loader.exists() else []
    elf = toolchain.build_elf(
        sources, [bundle.path, placement], core(H7.core).flags, folder / "f.elf", script,
        [f"-L{placement}", "-Wl,-n"],
    )  # fmt: skip
    with elf.open("rb") as stream:
        table: Any = ELFFile(stream).get_section_by_name(".symtab")
        return {
            symbol.name: Symbol(symbol["st_value"] & ~1, symbol["st_size"])
            for symbol in table.iter_symbols()
            if symbol["st_info"]["type"] in ("STT_FUNC", "STT_OBJECT", "STT_NOTYPE")
        }


def weights_of(symbols: Mapping[str, Symbol], layers: tuple[int, ...]) -> list[tuple[int, Symbol]]:
    """Constant arrays of these layers, by layer."""
    found = [(re.match(r"digits_w(\d+)_", name), symbol) for name, symbol in symbols.items()]
    arrays = [(int(match[1]), symbol) for match, symbol in found if match]
    return [(layer, symbol) for layer, symbol in arrays if layer in layers]


def entries(bundle: Bundle, what: str) -> list[PlacementEntry]:
    return [entry for entry in bundle.manifest.placement if entry.what == what]


@pytest.mark.arm
@pytest.mark.parametrize("name", PLACES)
def test_everything_lies_in_its_region_and_is_as_large_as_the_manifest_says(
    name: str, placed: Compiled, tmp_path: Path
) -> None:
    bundle = placed(name)
    symbols = linked(bundle, tmp_path)
    (arena,) = entries(bundle, "arena")
    assert (symbols["arena"].region, symbols["arena"].size_bytes) == (arena.region, arena.bytes)
    for entry in entries(bundle, "weights"):
        arrays = weights_of(symbols, entry.layers)
        assert {symbol.region for _, symbol in arrays} == {entry.region}
        assert sum(symbol.size_bytes for _, symbol in arrays) == entry.bytes
        in_memory = [layer for layer, _ in sorted(arrays, key=lambda item: item[1].address)]
        assert in_memory == sorted(in_memory), "in the order in which the layers run"
        first, last = (pick(symbol.address for _, symbol in arrays) for pick in (min, max))
        others = [s.address for _, s in weights_of(symbols, tuple(range(99)))]
        assert sum(first <= address <= last for address in others) == len(arrays), "one stretch"
    assert sum(entry.bytes or 0 for entry in entries(bundle, "weights")) == (
        bundle.report.weights_bytes
    )


@pytest.mark.arm
def test_all_code_of_a_bundle_goes_where_it_is_placed(placed: Compiled, tmp_path: Path) -> None:
    bundle = placed("code and weights in two more")
    symbols = linked(bundle, tmp_path)
    own = {
        name: symbol.region
        for name, symbol in symbols.items()
        if re.match(r"digits_(run|infer)$|k_\d+$|glowmcu_|step_|rows_", name)
    }
    assert len(own) > 3
    assert set(own.values()) == {"itcm"}, own
    sizes = bundle.code_by_region
    assert sizes is not None
    start, end = symbols["digits_itcm_start"].address, symbols["digits_itcm_end"].address
    assert sizes["itcm"] > 1000
    assert 0 < sizes[""] < 100 * len(bundle.manifest.layers), "parameters of layers alone"
    assert sizes["itcm"] <= end - start < sizes["itcm"] + 8
    assert symbols["main"].region == "flash"


@pytest.mark.arm
def test_only_the_code_of_placed_layers_moves(placed: Compiled, tmp_path: Path) -> None:
    bundle = placed("layer by layer")
    symbols = linked(bundle, tmp_path)
    assert symbols["step_0"].region == "itcm"
    assert symbols["step_3"].region == "dtcm"
    assert symbols["digits_run"].region == "flash"
    by_layer = {entry.region: entry.layers for entry in entries(bundle, "code")}
    assert (by_layer["itcm"], by_layer["dtcm"]) == ((0,), (3,))
    assert not {0, 3} & set(by_layer["flash"])
    sizes = bundle.code_by_region
    assert sizes is not None
    assert sizes["itcm"] > 200
    assert sizes["dtcm"] > 50
    assert sum(sizes.values()) == bundle.report.code_bytes


@pytest.mark.parametrize("name", PLACES)
def test_a_placed_bundle_computes_the_same_on_this_computer(name: str, placed: Compiled) -> None:
    bundle = placed(name)
    inputs = random_inputs(bundle.manifest, 1, 3)
    plain = Host().run(placed("by the board").path, inputs)
    expect_equal(Host().run(bundle.path, inputs)[0].outputs[0], plain[0].outputs[0], name)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("name", [*PLACES][1:])
def test_a_placed_bundle_computes_the_same_on_emulated_boards(name: str, placed: Compiled) -> None:
    """QEMU links the bundle's own fragment and calls its loader."""
    bundle = placed(name)
    inputs = random_inputs(bundle.manifest, 2, 3)
    want = Host().run(bundle.path, inputs)
    for executor in (Qemu(), CortexM(H7.core, count=False)):
        for index, got in enumerate(executor.run(bundle.path, inputs)):
            expect_equal(got.outputs[0], want[index].outputs[0], f"{executor.name}, {name}")


@pytest.mark.arm
@pytest.mark.qemu
def test_a_streamed_bundle_can_be_placed(tmp_path: Path) -> None:
    bundle = glowmcu.compile(
        DIGITS, board=H7.name, name="digits", output=tmp_path / "digits",
        stream_inputs=["pixels"], place={"auto": "auto"},
    )  # fmt: skip
    sizes = bundle.code_by_region
    assert sizes is not None
    assert 0 < sizes[""] < 100 * len(bundle.manifest.layers), "parameters of layers alone"
    assert sizes["itcm"] > 1000
    inputs = random_inputs(bundle.manifest, 1, 3)
    want = Host().run(bundle.path, inputs)[0].outputs[0]
    expect_equal(Qemu().run(bundle.path, inputs)[0].outputs[0], want, "pushed on qemu")


@pytest.mark.arm
@pytest.mark.qemu
def test_a_bundle_whose_loader_copies_nothing_is_wrong_on_qemu(
    placed: Compiled, tmp_path: Path
) -> None:
    """The negative control: what runs there really is the copy."""
    folder = tmp_path / "bundle"
    shutil.copytree(placed("all in fast memory").path, folder)
    loader = folder / "placement" / "digits_load.c"
    text, count = re.subn(r"    \(void\)memcpy\(.*\n", "", loader.read_text())
    assert count == 2
    loader.write_text(text)
    inputs = random_inputs(placed("by the board").manifest, 1, 3)
    with pytest.raises(glowmcu.GlowmcuError):
        Qemu(timeout_seconds=20).run(folder, inputs)


@pytest.mark.arm
def test_the_layers_of_a_cascade_go_together(tmp_path: Path) -> None:
    def compiled(folder: str, rules: dict[str, str]) -> Bundle:
        return glowmcu.compile(
            DIGITS, board=H7.name, name="digits", output=tmp_path / folder, optimize="ram",
            place=rules,
        )  # fmt: skip

    plain = compiled("plain", {})
    source = (plain.path / "digits.c").read_text()
    match = re.search(r"static void rows_(\d+)_to_(\d+)\(", source)
    assert match is not None
    first, last = int(match[1]), int(match[2])
    bundle = compiled("placed", {f"code:{last}": "itcm"})
    (entry,) = [item for item in entries(bundle, "code") if item.section]
    assert entry.layers == tuple(range(first, last + 1))
    assert linked(bundle, tmp_path)[f"rows_{first}_to_{last}"].region == "itcm"
    inputs = random_inputs(bundle.manifest, 1, 3)
    want = Host().run(plain.path, inputs)[0].outputs[0]
    expect_equal(CortexM(H7.core, count=False).run(bundle.path, inputs)[0].outputs[0], want, "")


@pytest.mark.arm
@pytest.mark.parametrize("name", ["layer by layer"])
def test_placed_files_compile_without_a_word(name: str, placed: Compiled) -> None:
    folder = placed(name).path
    files = [*folder.glob("*.c"), *folder.glob("placement/*.c")]
    arm = [str(toolchain.find_gcc()), *core(H7.core).flags]
    for command in (
        ["gcc", *STRICT, "-O2"],
        ["g++", *CPP, "-O2"],
        [*arm, *STRICT, "-O2"],
        [*arm, *CPP, "-O2"],
    ):
        for file in files:
            done = subprocess.run(
                [*command, f"-I{folder}", f"-I{folder / 'placement'}", "-c", str(file), "-o",
                 "/dev/null"],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert (done.returncode, done.stderr) == (0, ""), f"{file.name}: {done.stderr[:2000]}"


def test_without_the_fragment_an_arena_is_ordinary_ram(placed: Compiled) -> None:
    """A script that knows nothing of it clears it like any variable: nothing breaks."""
    header = (placed("by the board").path / "digits.h").read_text()
    assert 'GLOWMCU_SECTION(".bss.glowmcu_arena_dtcm.digits")' in header
    names = sorted(path.name for path in (placed("by the board").path / "placement").iterdir())
    assert names == ["digits.ld"], "nothing is copied, so there is no loader"


@pytest.mark.arm
def test_an_arena_in_a_struct_lies_in_the_section_of_the_struct(
    placed: Compiled, tmp_path: Path
) -> None:
    bundle = placed("layer by layer")
    header = (bundle.path / "digits.h").read_text()
    assert "-DDIGITS_ARENA_SECTION= for members of structs" in header
    (tmp_path / "main.c").write_text(
        '#include "digits.h"\nstruct net { DIGITS_ARENA(arena); };\n'
        'struct net net GLOWMCU_SECTION(".bss.glowmcu_arena_dtcm.digits");\n'
    )
    gcc = [str(toolchain.find_gcc()), f"-I{bundle.path}", "-c", str(tmp_path / "main.c"), "-o"]
    gcc.append(str(tmp_path / "main.o"))
    assert subprocess.run(gcc, capture_output=True, check=False).returncode != 0
    subprocess.run([*gcc, "-DDIGITS_ARENA_SECTION="], check=True)


@pytest.mark.arm
def test_wait_states_are_those_of_the_region(placed: Compiled) -> None:
    def cycles(name: str, wait_states: int) -> int:
        bundle = placed(name)
        inputs = random_inputs(bundle.manifest, 1, 3)[0]
        return bundle.measure(inputs, wait_states=wait_states).cycles or 0

    quick, slow = (cycles("by the board", states) for states in (0, 4))
    fast_memory = [cycles("all in fast memory", states) for states in (0, 4)]
    assert slow > 1.1 * quick
    # memcpy and the layers' parameters stay in flash.
    assert fast_memory[1] - fast_memory[0] < 0.1 * (slow - quick)
