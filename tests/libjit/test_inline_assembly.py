"""Assembly between C statements asks for no more registers than compilers have left: unoptimized
code keeps a frame pointer, and firmware may fix r9. Whole functions of assembly are naked.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.kernel_files import header_paths, template_paths

#: r0 to r12 and lr without these two.
MOST_OPERANDS = 12
_STATEMENT = re.compile(r"__asm__(?: volatile)?\s*\((?:[^;\"]|\"(?:[^\"\\]|\\.)*\")*\);")
_REGISTER = re.compile(r"\"[+=]?&?r\"\s*\(")


def most_operands(text: str) -> int:
    """The most general registers that a statement of assembly asks for."""
    return max((len(_REGISTER.findall(found)) for found in _STATEMENT.findall(text)), default=0)


@pytest.mark.parametrize(
    "path", [*header_paths().values(), *template_paths()], ids=lambda path: path.name
)
def test_statements_of_assembly_leave_registers_free(path: Path) -> None:
    assert most_operands(path.read_text(encoding="utf-8")) <= MOST_OPERANDS


def test_operands_are_counted_statement_by_statement() -> None:
    one = '__asm__("smlad %0, %1, %2, %3" : "=r"(result) : "r"(x), "r"(y), "r"(sum));'
    two = '__asm__ volatile("a; b" : [x] "+r"(x), "=&r"(y) : "r"(z) : "cc");'
    assert (most_operands(one), most_operands(two), most_operands(two + one)) == (4, 3, 4)
    assert most_operands("int x;") == 0
