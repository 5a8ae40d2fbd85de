"""What a run returns: 0, or that it did nothing, or that its outputs are not to be used."""

from __future__ import annotations

from glowmcu.errors import ExitCode, error
from glowmcu.manifest import Manifest

#: `GLOWMCU_BAD_…` of a bundle's headers, which a run may return.
_REFUSALS = {
    -1: "BAD_ARENA",
    -2: "BAD_INPUT",
    -4: "BAD_WEIGHTS",
    -5: "BAD_SIZE",
    -8: "BAD_ACCELERATOR",
}


def expect_done(manifest: Manifest, status: int) -> None:
    """Raise GM619 unless `status`, as a word or an int32, says that the run did its work."""
    signed = status - (1 << 32) if status >= 1 << 31 else status
    if signed == 0:
        return
    name = f", GLOWMCU_{_REFUSALS[signed]}" if signed in _REFUSALS else ""
    raise error(
        "GM619",
        f"{manifest.entry_points[-1]} returned {signed}{name}",
        manifest.name,
        "report this bug",
        ExitCode.MISMATCH,
    )
