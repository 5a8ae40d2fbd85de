"""The command line: arguments in, text, JSON and an exit code out. No logic lives here."""

import sys

try:
    from glowmcu.cli.main import main
except KeyboardInterrupt:
    # Ctrl-C while modules are still read.
    sys.stderr.write("interrupted\n")
    raise SystemExit(130) from None

__all__ = ["main"]
