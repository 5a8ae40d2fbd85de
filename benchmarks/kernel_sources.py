"""A digest of the kernels' C: what was measured with another one may be stale.

The files behind each digest that a record names are listed in `kernel_sources.json`. What was
measured before a file was added is as true as it was; it is stale once a file that there was has
changed or is gone. A change that leaves the machine code as it was is none, and what a kernel
needed that is no more says nothing about the others:

    python -m benchmarks.kernel_sources --same-code FILE
    python -m benchmarks.kernel_sources --removed FILE
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from glowmcu.file_writing import write_text_file
from glowmcu.kernels.kernel import load_kernels
from glowmcu.resources import resource_dir

_UNSEEN = re.compile(r"/\*.*?\*/|\{#.*?#\}|\s+", re.DOTALL)
#: What runners know of a bundle as data: no kernel reads it.
_NO_KERNELS = ("glowmcu_model.h",)
SOURCES_FILE = Path(__file__).with_suffix(".json")


@cache
def kernel_sources() -> dict[str, str]:
    """libjit's files and the kernels' templates by name, with digests: no comments and blanks."""
    return {name: hashlib.sha256(text.encode()).hexdigest()[:8] for name, text in _texts()}


@cache
def kernel_sources_digest() -> str:
    """Of all of them."""
    digest = hashlib.sha256()
    for name, text in _texts():
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()[:12]


def _texts() -> Iterator[tuple[str, str]]:
    for name, text in _raw_texts().items():
        yield name, visible(text)


def list_sources() -> None:
    """For a record that will name today's digest: list the files behind it."""
    states = _states()
    if kernel_sources_digest() not in states:
        states[kernel_sources_digest()] = kernel_sources()
        _store(states)


def _store(states: dict[str, dict[str, str]]) -> None:
    write_text_file(SOURCES_FILE, json.dumps(states, indent=1, sort_keys=True) + "\n")


def is_of_today(digest: str) -> bool:
    """Whether every file that there was when `digest` was recorded is as it was."""
    files = _states().get(digest)
    if files is None:
        return False
    now = kernel_sources()
    return all(
        now.get(name) == content for name, content in files.items() if name not in _NO_KERNELS
    )


def changed_since(digest: str) -> set[str] | None:
    """Files that are gone or not what they were when `digest` was recorded; None: who knows."""
    files = _states().get(digest)
    if files is None:
        return None
    now = kernel_sources()
    kept = (name for name in files if name not in _NO_KERNELS)
    return {name for name in kept if now.get(name) != files[name]}


def variants_of(names: Collection[str]) -> set[str]:
    """Variants whose module names one of the files, or one that includes it, however far away."""
    texts = _raw_texts()
    reached = set(names)
    while more := {name for name, text in texts.items() if name not in reached
                   if any(known in text for known in reached)}:  # fmt: skip
        reached |= more
    modules = {
        variant.name: inspect.getsource(inspect.getmodule(type(variant)) or type(variant))
        for found in load_kernels().values() for variant in found
    }  # fmt: skip
    own = {n for n in reached & texts.keys() if any(n in source for source in modules.values())}
    assert own or not reached & texts.keys(), f"no kernel names any of {sorted(reached)}"
    return {name for name, source in modules.items() if any(n in source for n in own)}


def _raw_texts() -> dict[str, str]:
    """libjit's files and the kernels' templates, as they are."""
    folders = (resource_dir("libjit"), resource_dir("templates") / "kernels")
    paths = (path for folder in folders for path in sorted(folder.rglob("*.[hj]*"), key=_name))
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


def _name(path: Path) -> str:
    return path.name


def _states() -> dict[str, dict[str, str]]:
    if not SOURCES_FILE.is_file():
        return {}
    states: dict[str, dict[str, str]] = json.loads(SOURCES_FILE.read_text(encoding="utf-8"))
    return states


def visible(text: str) -> str:
    """C or a template without comments and blanks."""
    return _UNSEEN.sub("", text)


def main() -> None:
    """Takes files' text of today as the one that was measured, where the machine code is the same;
    forgets files of kernels that are no more.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernel_sources")
    parser.add_argument(
        "--same-code", action="append", default=[], metavar="FILE", choices=[*kernel_sources()],
        help="compare first: python -m benchmarks.sweep --same-as OLDER_CHECKOUT, or objdump",
    )  # fmt: skip
    states = _states()
    gone = sorted({name for state in states.values() for name in state} - kernel_sources().keys())
    parser.add_argument(
        "--removed", action="append", default=[], metavar="FILE", choices=gone,
        help="of a kernel that was removed: no other one included it",
    )  # fmt: skip
    asked = parser.parse_args()
    for state in states.values():
        state.update((name, kernel_sources()[name]) for name in asked.same_code if name in state)
        for name in asked.removed:
            state.pop(name, None)
    _store(states)


if __name__ == "__main__":
    main()
