"""What Renode's emulation of Helium (M-profile vector extension) lacks or computes wrong.

Kept beside the executor because a user who sees a wrong result on a Helium board has to know that
the bundle may be right. docs/renode.md has the details and the report for Renode's developers.
"""

from __future__ import annotations

#: A fault, or a run that does not come to its end.
MISSING_INSTRUCTIONS = (
    "Renode 1.16.1, and builds from before 11 May 2026, lack Helium instructions that bundles use: "
    "take a newer build"
)

#: Wrong outputs.
WRONG_INSTRUCTIONS = (
    "Renode reads the sign bit of Helium's VMULL inverted (most depthwise layers use it), and "
    "VSHRN wrongly before 11 May 2026: compare with --on qemu, which is right; see docs/renode.md"
)
