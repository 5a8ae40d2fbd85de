"""Files with megabytes of constants: the same text whoever reads it, and never whole in memory."""

from __future__ import annotations

import hashlib
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from glowmcu.emit_c.array_text import array_rows
from glowmcu.emit_c.constant_pool import array_view
from glowmcu.emit_c.contract import with_digests
from glowmcu.emit_c.licenses import terms
from glowmcu.emit_c.texts import Texts
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.ir.kernel_code import ConstantArray
from glowmcu.ir.operation import Array

#: Bytes of weights; their text has six times as many.
LARGE = 3_000_000

#: As far as a folder is asked whether it holds a bundle.
MANIFEST = (
    '{"format": 1, "name": "m", "tool_version": "", "model_sha256": "' + "0" * 64 + '", '
    '"board": "generic", "sources": [], "headers": [], '
    '"files": {"m.h": "", "m_weights.c": "' + "0" * 64 + '"}}'
)


def texts(data: Array) -> Texts:
    """A header, and a file with the array twice between comments."""
    view = array_view("w0", ConstantArray("filter", data))
    outline = f"/* µ before */ a = {{\n{view.mark}\n}};\n/* b */\n{view.mark}\n"
    return Texts({"m.h": "int x;\n", "m_weights.c": outline}, [view])


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "f4", "i8"])
@pytest.mark.parametrize("count", [0, 1, 17, 300])
def test_a_mark_becomes_the_elements_of_its_array(dtype: str, count: int) -> None:
    data = np.resize(np.arange(-64, 64), count).astype(dtype)
    rows = array_rows(data) if count else "    0"
    files = texts(data)
    want = f"/* µ before */ a = {{\n{rows}\n}};\n/* b */\n{rows}\n"
    assert dict(files) == {"m.h": "int x;\n", "m_weights.c": want}
    assert files.digests["m_weights.c"] == hashlib.sha256(want.encode()).hexdigest()


def test_files_are_changed_and_joined_by_their_outlines() -> None:
    files = texts(np.arange(5)).joined({"README.md": "read"})
    changed = files.changed(lambda name, outline: f"{name}\n{outline}")
    assert dict(changed) == {name: f"{name}\n{text}" for name, text in files.items()}


READERS: dict[str, Callable[[Texts, Path], object]] = {
    "its terms": lambda files, _: terms(files, "m"),
    "whether it is there": lambda files, _: "m_weights.c" in files,
    "its digest": lambda files, _: files.digests,
    "the digest of its code": lambda files, _: with_digests(files),
    "what is written": lambda files, folder: write_bundle(files, folder / "m", "m"),
    "what is written over it": lambda files, folder: [
        write_bundle(files, folder / "m", "m") for _ in range(2)
    ],
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_the_text_of_weights_is_never_in_memory(
    reader: Callable[[Texts, Path], object], tmp_path: Path
) -> None:
    files = texts(np.resize(np.arange(-128, 128), LARGE).astype(np.int8)).joined(
        {"manifest.json": MANIFEST}
    )
    with_digests(files)  # what this has made once is no part of it
    tracemalloc.start()
    reader(files, tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < LARGE
