"""Each package built the way its build system builds it, and run: the self test must find nothing.

Where the build system itself cannot run here, stubs of its functions stand in, or its files are
read and carried out. What each system's own tool or schema says is in test_package_tools.py.
"""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

import glowmcu
from glowmcu.cores import core
from glowmcu.instrument import Instrument
from glowmcu.verify.host_library import STRICT_FLAGS
from tests.bundle.models import model_bytes
from tests.bundle.packages import need_program, packaged, run, selftest_main
from tests.support.check_model import write_bundle


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that is all packages at once; tests must not change it. Its folder has its name."""
    folder = tmp_path_factory.mktemp("packages") / "two_in_two_out"
    return write_bundle(packaged(folder.name), folder)


def build_and_run(
    package: Path, tmp_path: Path, sources: Sequence[str], includes: Sequence[str]
) -> str:
    """What a package's description says to compile, compiled with the self test's program."""
    main = tmp_path / "main.c"
    main.write_text(selftest_main(package.name))
    files = [main, *(package / source for source in sources)]
    flags = [*STRICT_FLAGS, *(f"-I{package / include}" for include in includes)]
    run(["gcc", *flags, *files, "-o", "program"], tmp_path)
    return run([tmp_path / "program"], tmp_path)


def test_the_make_fragment_builds_a_library_and_leaves_the_default_goal_alone(
    package: Path, tmp_path: Path
) -> None:
    name, prefix = package.name, package.name.upper()
    (tmp_path / "main.c").write_text(selftest_main(name))
    (tmp_path / "Makefile").write_text(
        f"include {package}/{name}.mk\n"
        f"CFLAGS += -Wall -Werror $({prefix}_INCLUDES)\n"
        f"program: main.o $({prefix}_SELFTEST_LIBRARY) $({prefix}_LIBRARY)\n"
        "\t$(CC) -o $@ $^\n"
    )
    run(["make", "-s"], tmp_path)
    assert "wrong bytes: 0" in run([tmp_path / "program"], tmp_path)
    assert sorted(file.name for file in (tmp_path / "build" / name).iterdir()) == sorted(
        [f"lib{name}.a", f"lib{name}_selftest.a", "selftest"]
        + [f"{name}{part}.{end}" for part in ("", "_weights", "_model") for end in "do"]
    )
    header = package / f"{name}.h"
    assert f"{name}.o" in run(["make", "-n", "-W", header], tmp_path)
    assert run(["make", "-q"], tmp_path) == ""


@pytest.mark.arm
def test_the_make_fragment_offers_what_a_placed_bundle_needs_at_the_link(tmp_path: Path) -> None:
    model = tmp_path / "digits.tflite"
    model.write_bytes(model_bytes("digits"))
    bundle = glowmcu.compile(
        model, board="nucleo-h743zi", output=tmp_path / "digits", emit="make",
        place={"weights": "dtcm"},
    )  # fmt: skip
    (tmp_path / "Makefile").write_text(
        "CC := arm-none-eabi-gcc -mcpu=cortex-m7 -mthumb\nAR := arm-none-eabi-ar\n"
        "include digits/digits.mk\n"
        "all: $(DIGITS_LIBRARY) $(DIGITS_LOAD_OBJECT)\n\t@echo $(DIGITS_LDFLAGS)\n"
    )
    said = run(["make"], tmp_path)
    assert (tmp_path / "build/digits/placement/digits_load.o").is_file()
    assert "-Ldigits/placement" in said
    assert (bundle.path / "placement" / "digits.ld").is_file()


CMAKE_PROJECT = """cmake_minimum_required(VERSION 3.13)
project(firmware {language})
enable_testing()
{before}
add_subdirectory({folder} package)
add_executable(program {main})
target_link_libraries(program PRIVATE {libraries})
"""


def cmake_program(
    tmp_path: Path, language: str = "C", main: str = "main.c", **parts: object
) -> str:
    text = CMAKE_PROJECT.format(language=language, main=main, **parts)
    (tmp_path / "CMakeLists.txt").write_text(text)
    need_program("cmake")
    run(["cmake", "-S", ".", "-B", "build", "-Wno-dev"], tmp_path)
    run(["cmake", "--build", "build", "--target", "program"], tmp_path)
    return run([tmp_path / "build" / "program"], tmp_path)


@pytest.mark.parametrize("name", ["digits", "test", "install"])
def test_cmake_takes_any_bundle_name_even_one_that_it_keeps_for_itself(
    name: str, tmp_path: Path
) -> None:
    folder = write_bundle(packaged("digits", name), tmp_path / "bundle")
    (tmp_path / "main.c").write_text(selftest_main(name))
    target = name if name == "digits" else f"{name}_network"
    said = cmake_program(tmp_path, before="", folder=folder, libraries=f"{target}_selftest")
    assert "wrong bytes: 0" in said


def test_cmake_compiles_the_c_of_a_bundle_in_a_project_of_cpp_alone(
    package: Path, tmp_path: Path
) -> None:
    need_program("g++")
    (tmp_path / "main.cpp").write_text(selftest_main(package.name))
    libraries = f"{package.name}_selftest"
    said = cmake_program(
        tmp_path, "CXX", "main.cpp", before="", folder=package, libraries=libraries
    )
    assert "wrong bytes: 0" in said


@pytest.mark.parametrize(
    ("build_type", "asked"),
    [("", None), ("Debug", None), ("Release", None), ("MinSizeRel", None), ("MinSizeRel", ""),
     ("Debug", "-Os")],
)  # fmt: skip
def test_cmake_keeps_the_level_that_kernels_were_chosen_for(
    build_type: str, asked: str | None, package: Path, tmp_path: Path
) -> None:
    """Debug builds without optimization, MinSizeRel for size: the network is not what they mean."""
    need_program("cmake")
    given = [f"-DCMAKE_BUILD_TYPE={build_type}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    if asked is not None:
        given.append(f"-D{package.name.upper()}_OPTIMIZE={asked}")
    run(["cmake", "-S", package, "-B", "build", "-Wno-dev", *given], tmp_path)
    commands = json.loads((tmp_path / "build" / "compile_commands.json").read_text())
    network = [c["command"] for c in commands if Path(c["file"]).parent == package]
    levels = {(re.findall(r" (-O\w+)", command) or [""])[-1] for command in network}
    assert len(network) == 3
    assert levels == {"-Os" if asked is not None else "-O2"}


IDF_STUB = """
set(ESP_PLATFORM 1)
set(COMPONENT_LIB idf_component)
function(idf_component_register)
  cmake_parse_arguments(c "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
  if(c_UNPARSED_ARGUMENTS OR NOT c_SRCS)
    message(FATAL_ERROR "not understood: ${ARGN}")
  endif()
  add_library(${COMPONENT_LIB} STATIC ${c_SRCS})
  target_include_directories(${COMPONENT_LIB} PUBLIC ${c_INCLUDE_DIRS})
endfunction()
"""


def test_esp_idf_gets_a_component(package: Path, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(selftest_main(package.name))
    said = cmake_program(tmp_path, before=IDF_STUB, folder=package, libraries="idf_component")
    assert "wrong bytes: 0" in said


def test_esp_idf_reads_the_component_in_script_mode_too(package: Path, tmp_path: Path) -> None:
    """IDF collects requirements by running the file without a project: nothing else may run."""
    script = tmp_path / "requirements.cmake"
    stub = 'function(idf_component_register)\n  message(STATUS "registered")\nendfunction()\n'
    script.write_text(
        f"set(ESP_PLATFORM 1)\nset(COMPONENT_LIB x)\n{stub}"
        "function(target_compile_options)\nendfunction()\n"
        f'include("{package}/CMakeLists.txt")\n'
    )
    need_program("cmake")
    assert run(["cmake", "-P", script], tmp_path).count("registered") == 1


ZEPHYR_STUB = """
set(CONFIG_GLOWMCU_{prefix} y)
set(CONFIG_GLOWMCU_{prefix}_OPTIMIZE y)
set(CONFIG_GLOWMCU_{prefix}_SELFTEST {selftest})
add_library(zephyr_interface INTERFACE)
macro(zephyr_library_named library)
  set(ZEPHYR_CURRENT_LIBRARY ${{library}})
  add_library(${{library}} STATIC "")
  target_link_libraries(${{library}} PUBLIC zephyr_interface)
endmacro()
function(zephyr_library_sources)
  target_sources(${{ZEPHYR_CURRENT_LIBRARY}} PRIVATE ${{ARGN}})
endfunction()
function(zephyr_library_sources_ifdef toggle)
  if(${{${{toggle}}}})
    zephyr_library_sources(${{ARGN}})
  endif()
endfunction()
function(zephyr_include_directories)
  target_include_directories(zephyr_interface INTERFACE ${{ARGN}})
endfunction()
function(zephyr_library_compile_options)
  target_compile_options(${{ZEPHYR_CURRENT_LIBRARY}} PRIVATE ${{ARGN}})
endfunction()
"""


def test_zephyr_gets_a_module(package: Path, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(selftest_main(package.name))
    stub = ZEPHYR_STUB.format(prefix=package.name.upper(), selftest="y")
    said = cmake_program(
        tmp_path, before=stub, folder=package / "zephyr", libraries=f"glowmcu_{package.name}"
    )
    assert "wrong bytes: 0" in said


def test_zephyr_builds_nothing_unless_it_is_asked_to(package: Path, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    cmake_program(tmp_path, before="", folder=package / "zephyr", libraries="m")
    assert not list(tmp_path.rglob("*.a"))


ARDUINO_STUB = """#include <stdio.h>
struct Port {
    explicit operator bool() const { return true; }
    void begin(unsigned long) {}
    void print(const char *text) { fputs(text, stdout); }
    void print(unsigned long number) { printf("%lu", number); }
    void println(const char *text) { puts(text); }
};
static Port Serial;
static inline unsigned long micros() { return 0; }
"""
#: As a board's core: no stdio, and an end of the program that libraries for no board lack.
ARDUINO_OF_A_BOARD = """
struct Port {
    volatile unsigned long sent;
    explicit operator bool() const { return true; }
    void begin(unsigned long) {}
    void print(const char *text) { for (; *text != 0; ++text) sent = (unsigned char)*text; }
    void print(unsigned long number) { sent = number; }
    void println(const char *text) { print(text); }
};
static Port Serial;
static inline unsigned long micros() { return 0; }
extern "C" void _exit(int) { for (;;) {} }
"""


def arduino_build(
    package: Path, tmp_path: Path, gcc: str, flags: Sequence[str], board: str = ARDUINO_STUB
) -> Path:
    """As the Arduino IDE does: every C file under src/, only src/ to include from, an archive."""
    name = package.name
    objects = []
    for source in sorted((package / "src").rglob("*.c")):
        objects.append(tmp_path / f"{source.stem}.o")
        quiet = ["-Os", "-w", "-std=gnu11", "-ffunction-sections", "-fdata-sections"]
        command = [gcc, *flags, *quiet, f"-I{package / 'src'}", "-c", source, "-o", objects[-1]]
        run(command, tmp_path)
    run(["ar" if gcc == "gcc" else "arm-none-eabi-ar", "rcs", "library.a", *objects], tmp_path)
    (tmp_path / "Arduino.h").write_text(board)
    sketch = (package / "examples" / f"{name}_selftest" / f"{name}_selftest.ino").read_text()
    main = tmp_path / "sketch.cpp"
    program = "int main() { setup(); loop(); return 0; }"
    main.write_text(f"#include <Arduino.h>\n{sketch}\n{program}\n")
    options = ["-std=gnu++11", "-Wall", "-Werror", "-Wl,--gc-sections", f"-I{tmp_path}"]
    command = [gcc.replace("gcc", "g++"), *flags, *options, f"-I{package / 'src'}"]
    run([*command, main, "library.a", "-o", "sketch"], tmp_path)
    return tmp_path / "sketch"


def test_the_arduino_library_runs_its_example(package: Path, tmp_path: Path) -> None:
    sketch = arduino_build(package, tmp_path, "gcc", [])
    assert f"{package.name}: right, " in run([sketch], tmp_path)


def test_a_sketch_reaches_the_observer_of_an_instrumented_library(tmp_path: Path) -> None:
    made = packaged("digits", packages=("arduino", "cmake"), instrument=Instrument.STEPS)
    bundle = write_bundle(made, tmp_path / "digits")
    assert "digits: right, " in run([arduino_build(bundle, tmp_path, "gcc", [])], tmp_path)
    source = tmp_path / "sketch.c"
    source.write_text("#include <digits.h>\n#include <glowmcu_profile.h>\n")
    run(["gcc", "-std=c99", "-fsyntax-only", f"-I{bundle / 'src'}", source], tmp_path)


@pytest.mark.arm
def test_the_arduino_library_links_for_a_board(package: Path, tmp_path: Path) -> None:
    flags = core("cortex-m4").flags
    arduino_build(package, tmp_path, "arm-none-eabi-gcc", flags, ARDUINO_OF_A_BOARD)


def test_platformio_s_filter_and_flags_build_the_library(package: Path, tmp_path: Path) -> None:
    build = json.loads((package / "library.json").read_text())["build"]
    first, *rules = build["srcFilter"]
    assert first == "-<*>"
    assert all(rule.startswith("+<") for rule in rules)
    includes = [flag.split()[1] for flag in build["flags"] if flag.startswith("-I ")]
    sources = [rule[2:-1] for rule in rules]
    said = build_and_run(package, tmp_path, sources, [build["includeDir"], *includes])
    assert "wrong bytes: 0" in said


def test_the_cmsis_pack_s_components_hold_all_that_is_needed(package: Path, tmp_path: Path) -> None:
    (pdsc,) = package.glob("*.pdsc")
    files = list(ET.parse(pdsc).getroot().iter("file"))
    sources = [f.attrib["name"] for f in files if f.attrib["category"] == "source"]
    includes = [f.attrib["name"] for f in files if f.attrib["category"] == "include"]
    assert "wrong bytes: 0" in build_and_run(package, tmp_path, sources, includes)


def test_the_csolution_layers_hold_all_that_is_needed(package: Path, tmp_path: Path) -> None:
    lines = [
        line.strip()
        for layer in sorted(package.glob("*.clayer.yml"))
        for line in layer.read_text().splitlines()
    ]
    sources = [line.removeprefix("- file: ") for line in lines if line.endswith(".c")]
    includes = [after[2:] for line, after in pairwise(lines) if line == "add-path:"]
    assert includes == [".", "selftest"]
    assert "wrong bytes: 0" in build_and_run(package, tmp_path, sources, includes)


def test_the_rust_crate_s_own_test_passes_with_the_c_linked_by_hand(
    package: Path, tmp_path: Path
) -> None:
    """The crate without its build script, which needs the crate `cc`: see test_package_tools.py."""
    rustc = need_program("rustc")
    name = package.name
    sources = [f"{name}.c", f"{name}_weights.c", f"selftest/{name}_selftest.c"]
    includes = [f"-I{package}", f"-I{package / 'selftest'}"]
    run(["gcc", *STRICT_FLAGS, *includes, "-c", *(package / s for s in sources)], tmp_path)
    run(["ar", "rcs", f"lib{name}.a", *sorted(tmp_path.glob("*.o"))], tmp_path)
    options = ["--edition", "2021", "-D", "warnings", "--cfg", 'feature="selftest"']
    link = ["-L", tmp_path, "-l", f"static={name}", "-o", "test"]
    run([rustc, "--test", *options, *link, package / "src" / "lib.rs"], tmp_path)
    assert "1 passed" in run([tmp_path / "test"], tmp_path)


ROWS_IN_RUST = """\
fn main() {
    let mut arena = digits_rows_sys::Arena::new();
    let rows = [0i8; 3 * digits_rows_sys::INPUT_ROW_LENGTH];
    assert_eq!(arena.push_rows(&rows), None);
    arena.start();
    assert_eq!(arena.push_rows(&rows), Some(digits_rows_sys::INPUT_ROWS - 3));
    while arena.push_rows(&rows) != Some(0) {}
    assert!(arena.output().iter().any(|score| *score > -128));
}
"""


def test_the_rust_crate_of_a_streamed_input_takes_rows(tmp_path: Path) -> None:
    rustc = need_program("rustc")
    name = "digits_rows"
    folder = write_bundle(packaged(name, packages=("rust",)), tmp_path / name)
    sources = [folder / f"{name}.c", folder / f"{name}_weights.c"]
    run(["gcc", *STRICT_FLAGS, f"-I{folder}", "-c", *sources], tmp_path)
    run(["ar", "rcs", f"lib{name}.a", *sorted(tmp_path.glob("*.o"))], tmp_path)
    edition = [rustc, "--edition", "2021", "-D", "warnings", "-L", tmp_path]
    crate = ["--crate-type", "rlib", "--crate-name", f"{name}_sys", "-l", f"static={name}"]
    run([*edition, *crate, folder / "src" / "lib.rs"], tmp_path)
    (tmp_path / "main.rs").write_text(ROWS_IN_RUST)
    run([*edition, "--extern", f"{name}_sys", "main.rs", "-o", "program"], tmp_path)
    run([tmp_path / "program"], tmp_path)


def test_a_wrong_weight_is_found_by_the_package_s_self_test(package: Path, tmp_path: Path) -> None:
    """The negative control of all tests above: constants are checked before anything runs."""
    copy = tmp_path / package.name
    shutil.copytree(package, copy)
    name = package.name
    weights = copy / f"{name}_weights.c"
    text = weights.read_text()
    assert text.count("100, ") == 1  # the first of the model's biases
    weights.write_text(text.replace("100, ", "900, "))
    sources = [f"{name}.c", f"{name}_weights.c", f"selftest/{name}_selftest.c"]
    with pytest.raises(AssertionError, match=r"wrong bytes: -1\n"):
        build_and_run(copy, tmp_path, sources, [".", "selftest"])
