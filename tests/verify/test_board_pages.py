"""docs/boards/: what the pages say of boards, and what they have typed, holds."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from glowmcu.board import board_names, find_board
from glowmcu.cli.main import group
from glowmcu.verify.flash import flashing
from tests.conftest import REPO
from tests.verify.emulated_board import on_qemu

PAGES = sorted((REPO / "docs" / "boards").glob("*.md"))
DIGITS = REPO / "examples" / "digits" / "digits_int8.tflite"
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
# What the C of the pages is compiled against here: the functions of SDKs, as they declare them.
STUBS = {
    "hardware/gpio.h": "enum { GPIO_FUNC_UART };\nvoid gpio_set_function(unsigned, int);\n",
    "hardware/uart.h": """#include <stdbool.h>
typedef struct uart_inst uart_inst_t;
extern uart_inst_t *const uart0;
unsigned uart_init(uart_inst_t *, unsigned);
bool uart_is_readable(uart_inst_t *);
static inline char uart_getc(uart_inst_t *u) { (void)u; return 'x'; }
static inline void uart_putc(uart_inst_t *u, char c) { (void)u; (void)c; }
static inline void uart_putc_raw(uart_inst_t *u, char c) { uart_putc(u, c); }
""",
    "driver/uart.h": """#include <stddef.h>
#include <stdint.h>
typedef int uart_port_t;
#define UART_NUM_0 0
int uart_driver_install(uart_port_t, int, int, int, void *, int);
int uart_write_bytes(uart_port_t, const void *, size_t);
int uart_read_bytes(uart_port_t, void *, uint32_t, uint32_t);
""",
    "esp_cpu.h": "#include <stdint.h>\nuint32_t esp_cpu_get_cycle_count(void);\n",
    "esp_system.h": "void esp_restart(void) __attribute__((noreturn));\n",
}


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXTS[page], re.M | re.S)


def commands() -> list[tuple[str, str]]:
    return [
        (page, line)
        for page in TEXTS
        for block in blocks(page, "sh")
        for line in block.splitlines()
        if line.startswith("glowmcu ")
    ]


@pytest.mark.parametrize(("page", "line"), commands(), ids=lambda text: text)
def test_every_command_of_a_page_is_one(page: str, line: str) -> None:
    _, name, *arguments = shlex.split(line)
    command = group.get_command(click.Context(group), name)
    assert command is not None
    command.make_context(name, list(arguments))


def test_every_board_with_a_serial_port_stands_on_one_page_as_its_file_has_it() -> None:
    rows = [line for text in TEXTS.values() for line in text.splitlines() if line[:3] == "| `"]
    for name in board_names():
        serial = find_board(name).serial
        found = [row for row in rows if f"`{name}`" in row.split("|")[1]]
        assert len(found) == (serial is not None), name
        if serial is not None:
            assert found[0].split("|")[2].strip() == serial.connect


@pytest.mark.parametrize(
    ("page", "board", "tool"),
    [("nordic.md", "nrf52", "probe-rs"), ("stm32.md", "nucleo-h743zi", "openocd")],
)
def test_what_flash_prints_is_on_the_page(page: str, board: str, tool: str) -> None:
    serial = find_board(board).serial
    assert serial is not None
    plan = flashing(find_board(board), Path("kws/firmware/kws.elf"), tool, is_dry=True)
    last = [
        f"connect  {serial.connect}",
        "next     glowmcu verify kws --on host,serial:PORT",
    ]
    assert "\n".join([*plan.lines(), *last]) in TEXTS[page]


@pytest.mark.arm
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
@pytest.mark.parametrize("page", ["index.md", "raspberry_pi_pico.md", "esp32.md"])
def test_the_c_of_a_page_compiles_with_the_headers_of_a_bundle(page: str, tmp_path: Path) -> None:
    for name, text in STUBS.items():
        stub = tmp_path / name
        stub.parent.mkdir(exist_ok=True)
        stub.write_text(text)
    found = blocks(page, "c")
    assert found
    for block in found:
        source = tmp_path / "page.c"
        source.write_text(block)
        done = subprocess.run(
            ["arm-none-eabi-gcc", "-mcpu=cortex-m0plus", "-mthumb", "-std=c99", "-Wall", "-Wextra",
             "-Werror", "-Wmissing-prototypes", "-fsyntax-only",
             "-I", str(tmp_path), "-I", str(REPO / "templates" / "firmware"), str(source)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


@on_qemu
def test_the_page_of_the_emulated_board_typed_as_it_stands(marked: None, tmp_path: Path) -> None:
    pytest.importorskip("serial")
    shutil.copy(DIGITS, tmp_path / "kws.tflite")
    first, second = (block.splitlines() for block in blocks("mps2.md", "sh"))

    def typed(line: str) -> str:
        words = shlex.split(line)
        if words[0] == "glowmcu":
            words = [sys.executable, "-m", "glowmcu", *words[1:]]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        return done.stdout

    for line in first[:-1]:
        typed(line)
    with subprocess.Popen(
        shlex.split(first[-1]), cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        text=True,
    ) as qemu:  # fmt: skip
        try:
            assert qemu.stdout is not None
            port = qemu.stdout.readline().split()[4]
            shown = [typed(line.replace("/dev/pts/3", port)) for line in second]
        finally:
            qemu.kill()
    assert shown[0].count("7  every byte equal") == 2
    assert "by the core's own counter" in shown[1]
    assert TEXTS["mps2.md"].count("7  every byte equal") == 2


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+\.md)(?:#[^)]*)?\)", TEXTS[page.name]):
            if not target.startswith("https:"):
                assert (page.parent / target).is_file(), f"{page.name}: {target}"
