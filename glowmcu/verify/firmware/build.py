"""Write the firmware's sources from the templates, then compile and link them with the bundle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from glowmcu.board import Board, does_not_fit
from glowmcu.cores import Core
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest
from glowmcu.resources import resource_dir
from glowmcu.verify.firmware.image import image_fit
from glowmcu.verify.firmware.port import Port
from glowmcu.verify.firmware.templates import render
from glowmcu.verify.firmware.view import FirmwareView, firmware_view
from glowmcu.verify.toolchain import build_elf

_TEMPLATES = ("main.c", "link.ld")
_HEADERS = ("calibrate.h", "measure.h", "port.h", "stack.h", "text.h", "uart.h")
_SERVING_HEADERS = ("measure_cycles.h", "port_serial.h")
# No ELF headers in the image, which ld adds where a region starts behind a page's start (RP2040).
_NO_PAGES = "-Wl,-n"
_OPTIONS = ("the bundle and a test firmware of some 3 KB must fit together", "--optimize size")


@dataclass(frozen=True)
class Firmware:
    """A linked image and what it was made from."""

    elf: Path
    view: FirmwareView


def firmware_files(view: FirmwareView, port: Port) -> dict[str, str]:
    """All sources, headers and `link.ld` by name."""
    templates = resource_dir("templates") / "firmware"
    startup = "startup_riscv.c" if view.is_riscv else "startup.c"
    made = (("startup.c", startup), *((name, name) for name in _TEMPLATES))
    files = {name: render(f"firmware/{template}.j2", view) for name, template in made}
    headers = (*_HEADERS, *(_SERVING_HEADERS if port.serves else ()))
    for name in (*headers, "text.c", *port.sources):
        files[name] = (templates / name).read_text(encoding="utf-8")
    return files


def write_firmware(view: FirmwareView, port: Port, folder: Path) -> list[Path]:
    """Write the firmware's files into `folder`; returns the C files to compile."""
    folder.mkdir(parents=True, exist_ok=True)
    files = firmware_files(view, port)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files if name.endswith(".c")]


def build_firmware(
    bundle_dir: Path,
    manifest: Manifest,
    board: Board,
    core: Core,
    port: Port,
    folder: Path,
    force_include: Sequence[Path] = (),
    flags: Sequence[str] = (),
) -> Firmware:
    """Image of the bundle for `board`'s memory and `core`'s instruction set, in `folder`, with
    headers that every source begins with and `flags` more for the compiler.

    Raises GM401 (exit code DOES_NOT_FIT) when the board is too small, else as `build_elf`.
    """
    view = firmware_view(manifest, board, core, port=port)
    sources = write_firmware(view, port, folder)
    sources += [bundle_dir / name for name in manifest.sources if name.endswith(".c")]
    placement = bundle_dir / "placement"
    if view.places.loads:
        sources.append(placement / f"{manifest.name}_load.c")
    elf = build_elf(
        sources,
        [bundle_dir, folder, *([placement] if view.places.loads else [])],
        core.flags,
        folder / f"{manifest.name}.elf",
        folder / "link.ld",
        [*(f"-D{define}" for define in port.defines), _NO_PAGES, f"-L{placement}", *flags],
        force_include,
    )
    result = image_fit(elf, board)
    if not result.fits:
        raise does_not_fit(result, flash_options=_OPTIONS, ram_options=_OPTIONS)
    return Firmware(elf, view)
