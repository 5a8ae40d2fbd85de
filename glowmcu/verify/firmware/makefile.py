"""What the Makefiles of `templates/` read: how the firmware of a bundle is built."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.cores import Core
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest
from glowmcu.verify.firmware.port import Port
from glowmcu.verify.firmware.view import FirmwareView
from glowmcu.verify.toolchain import DEFAULT_FLAGS


@dataclass(frozen=True)
class MakefileView:
    """Paths are relative to the folder of the Makefile, which is one of the bundle's."""

    name: str
    board: str
    core_flags: tuple[str, ...]
    compiler_flags: tuple[str, ...]
    defines: tuple[str, ...]
    folders: tuple[str, ...]
    sources: tuple[str, ...]


def makefile_view(
    manifest: Manifest,
    firmware: FirmwareView,
    port: Port,
    core: Core,
    sources: Sequence[str],
) -> MakefileView:
    """View of the build of `sources` (the firmware's own) with the bundle around them, and with its
    self test where the firmware runs that.
    """
    name = manifest.name
    bundle = [f"../{file}" for file in manifest.sources if file.endswith(".c")]
    folders = [".", ".."]
    if firmware.runs_selftest:
        bundle.append(f"../selftest/{name}_selftest.c")
        folders.append("../selftest")
    if firmware.places.fragment:
        folders.append("../placement")
    if firmware.places.loads:
        bundle.append(f"../placement/{name}_load.c")
    return MakefileView(
        name,
        firmware.board,
        core.flags,
        DEFAULT_FLAGS,
        port.defines,
        tuple(folders),
        (*sources, *bundle),
    )
