"""Types the README's quick start, from nothing but Python and a C compiler, and looks at the end.

    python3 scripts/quick_start.py        in a copy of this checkout, in a shell of this system

Needs no package itself, since none is there yet. On Windows it types into PowerShell and takes the
lines that the README gives for it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "shared", "tests", "benchmarks", "*_cache", "__pycache__"
)
#: What the run of the digit must show: index 7 of the scores is the largest.
SEVEN = re.compile(r"scores\s+int8\[1, 10\]\s+\[\[([-\d\s]+)\]\]")


def block(text: str, language: str) -> list[str]:
    """Lines of the first block of this language below "Use it"."""
    _, _, below = text.partition("\n## Use it\n")
    found = re.search(rf"^```{language}\n(.*?)^```$", below, re.MULTILINE | re.DOTALL)
    assert found, f"README.md has no {language} block below 'Use it'"
    return found[1].splitlines()


def script(text: str, is_windows: bool) -> tuple[str, list[str]]:
    """What is typed, and the shell that takes it from a file of the name that follows."""
    lines = block(text, "sh")
    if not is_windows:
        return "\n".join([*lines, ""]), ["bash", "-eux"]
    lines[:2] = block(text, "powershell")
    # A program that fails is no error to PowerShell.
    checked = [f"{line}\nif (-not $?) {{ exit 1 }}" for line in lines]
    return "\n".join(["$ErrorActionPreference = 'Stop'", *checked, ""]), ["pwsh", "-File"]


def is_seven(printed: str) -> bool:
    found = SEVEN.search(printed)
    scores = [int(word) for word in found[1].split()] if found else []
    return bool(scores) and scores.index(max(scores)) == 7


def main() -> int:
    is_windows = sys.platform == "win32"
    typed, shell = script((REPO / "README.md").read_text(encoding="utf-8"), is_windows)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        checkout = Path(folder) / "glowmcu"
        shutil.copytree(REPO, checkout, ignore=LEFT_OUT)
        file = Path(folder) / f"typed.{'ps1' if is_windows else 'sh'}"
        file.write_text(typed, encoding="utf-8")
        done = subprocess.run(
            [*shell, str(file)], cwd=checkout, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            text=True, encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
    print(done.stdout)
    if done.returncode != 0:
        print(f"the quick start ended with {done.returncode}", file=sys.stderr)
        return 1
    if not is_seven(done.stdout):
        print("the digit was not read as a seven", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
