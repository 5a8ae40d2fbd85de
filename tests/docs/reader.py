"""Reads a page from its beginning: types what is for a shell, runs what is Python, in one place.

    python tests/docs/reader.py PARTS.json       [[language, text], …] in the current folder

A program of its own, so that nothing of a page stays in the process that tests. The folder that a
shell leaves is where the next part begins; names of Python stay from part to part. A text whose
language is `file NAME` is saved. What a shell would hand to `glowmcu` as it stands is handed to it
here: starting it anew takes longer than most commands do.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

LEFT_IN = "left_in.txt"
#: What a shell makes something of, but for blanks, quotes, and a comment at the end.
_OF_A_SHELL = re.compile(r"[|&;<>()$`\\*?\[\]{}~!\n]")


def arguments_of(text: str) -> list[str] | None:
    """What `glowmcu` is called with, where that is all that is typed."""
    command, _, _ = text.strip().partition(" #")
    if _OF_A_SHELL.search(command):
        return None
    words = shlex.split(command)
    return words[1:] if words[:1] == ["glowmcu"] else None


def main(parts: list[tuple[str, str]], start: Path) -> int:
    names: dict[str, object] = {"__name__": "page"}
    for number, (language, text) in enumerate(parts):
        sys.stdout.flush()
        print(f">>> {number}", file=sys.stderr, flush=True)
        if language == "python":
            exec(compile(text, f"part {number}", "exec"), names)
            continue
        if language.startswith("file "):
            Path(language.removeprefix("file ")).write_text(text, encoding="utf-8")
            continue
        arguments = arguments_of(text)
        if arguments is not None:
            from glowmcu.cli import main as glowmcu

            if glowmcu(arguments) != 0:
                return 1
            continue
        left_in = start / LEFT_IN
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{text}\npwd >{left_in}"],
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            return 1
        os.chdir(left_in.read_text(encoding="utf-8").strip())
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path.cwd()))
