"""The code that every compilation measures is what linking the whole bundle measures."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest import mock

import pytest

from glowmcu.cores import core, core_names
from glowmcu.verify import text_size, toolchain
from glowmcu.verify.text_size import text_sizes
from tests.bundle.models import digits
from tests.verify.tiny_bundle import write_tiny_bundle

pytestmark = pytest.mark.arm


def bundle(folder: Path, core_name: str) -> tuple[Path, int]:
    """A compiled model with shared kernels, parameter structs, several constants; bytes of them."""
    from glowmcu.compilation import Options
    from glowmcu.pipeline import compile_model, emit

    made = compile_model(digits(), "m.tflite", Options("m", core=core_name))
    emit(made, folder)
    return folder, made.manifest.weights_bytes


@pytest.mark.parametrize("core_name", core_names())
@pytest.mark.parametrize("sections", [(), (".text.k_*",)], ids=["one place", "two places"])
def test_constants_need_not_be_compiled_to_measure_code(
    sections: tuple[str, ...], core_name: str, tmp_path: Path
) -> None:
    flags = core(core_name).flags
    if toolchain.missing(flags) is not None:
        pytest.skip(str(toolchain.missing(flags)))
    folder, constant_bytes = bundle(tmp_path / "m", core_name)
    sources = [folder / "m.c", folder / "m_weights.c", folder / "m_model.c"]
    whole = toolchain.code_size(sources, [folder], flags, "m_run", code_sections=sections)
    (folder / "m_weights.c").unlink()
    (folder / "m_model.c").unlink()
    size, placed = text_sizes(folder, "m", flags, ["m_run"], constant_bytes, sections)
    parameters = whole.constant_bytes - constant_bytes
    # Arrays end where the next one may begin.
    assert 0 <= size - whole.text_bytes - parameters < 8
    assert placed == whole.placed_bytes
    assert min(whole.text_bytes, parameters) > 200


def calls_of_the_compiler(folder: Path, core_name: str = "cortex-m4") -> tuple[int, int]:
    """Bytes of code, and how often gcc ran to find them."""
    with mock.patch.object(toolchain, "run_gcc", wraps=toolchain.run_gcc) as runs:
        size, _ = text_sizes(folder, "tiny", core(core_name).flags, ["tiny_run"], 464)
    return size, runs.call_count


def test_the_same_code_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = write_tiny_bundle(tmp_path)
    size, runs = calls_of_the_compiler(folder)
    assert (size > 100, runs) == (True, 2)
    assert calls_of_the_compiler(folder) == (size, 0)
    assert calls_of_the_compiler(folder, "cortex-m0plus")[1] == 2
    header = folder / "tiny.h"
    header.write_text(header.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert calls_of_the_compiler(folder) == (size, 2)
    monkeypatch.setattr(text_size, "find_gcc", lambda flags: Path(sys.executable))
    assert calls_of_the_compiler(folder)[1] == 2
