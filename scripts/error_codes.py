"""Writes docs/error_codes.md from glowmcu/error_codes.toml: `python -m scripts.error_codes`."""

from __future__ import annotations

from pathlib import Path

from glowmcu.error_codes import document

PAGE = Path(__file__).resolve().parents[1] / "docs" / "error_codes.md"

if __name__ == "__main__":
    PAGE.write_text(document(), encoding="utf-8")
