"""Words are moved by loads and stores on cores that load none from any address, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from glowmcu.cores import core
from glowmcu.verify.toolchain import binutil, compile_object
from tests.support.kernel_files import include_flags

_SOURCE = """
#include "glowmcu_words.h"
void move(int8_t *to, const int8_t *from, int32_t size_bytes)
{
    glowmcu_move_words(to, from, size_bytes);
}
"""


@pytest.mark.arm
@pytest.mark.parametrize("name", ["cortex-m0plus", "cortex-m4"])
def test_no_word_is_moved_by_a_call(name: str, tmp_path: Path) -> None:
    source = tmp_path / "m.c"
    source.write_text(_SOURCE, encoding="utf-8")
    flags = core(name).flags
    made = compile_object(source, [], flags, tmp_path / "m.o", include_flags())
    assert binutil("nm", ["--undefined-only", str(made)], flags) == ""
