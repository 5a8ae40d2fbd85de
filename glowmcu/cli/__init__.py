"""The command line: arguments in, text, JSON and an exit code out. No logic lives here."""

from glowmcu.cli.main import main

__all__ = ["main"]
