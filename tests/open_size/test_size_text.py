"""Numbers that follow from a size, in Python and in C."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glowmcu.emit_c.size_text import SizeText, Uneven
from glowmcu.ir.kernel_code import ConstantArray
from glowmcu.open_size.blending import Irregular, blended
from glowmcu.size_forms import OpenSize, SizeForm, size_form

SIZES = range(1, 41)
RULES: dict[str, Callable[[int], int]] = {
    "same": lambda t: 7,
    "itself": lambda t: t,
    "rows": lambda t: 16 * t + 3,
    "less": lambda t: 50 - t,
    "halves": lambda t: (t + 1) // 2,
    "twice halved": lambda t: ((t + 1) // 2 + 2) // 2,
    "square": lambda t: t * t,
    "square and rows": lambda t: 3 * t * t - 2 * t + 5,
    "negative": lambda t: -4 * t,
    "bytes of halves": lambda t: 4 * ((t + 1) // 2),
    "less bytes of thirds": lambda t: -12 * (t // 3 - 20),
}


@pytest.mark.parametrize("name", RULES)
def test_a_form_gives_back_what_it_was_found_from(name: str) -> None:
    form = size_form({t: RULES[name](t) for t in SIZES})
    assert form is not None
    assert [form.at(t) for t in SIZES] == [RULES[name](t) for t in SIZES]


@given(st.integers(-9, 9), st.integers(0, 99), st.integers(1, 16))
def test_any_form_is_found_again(times: int, plus: int, over: int) -> None:
    form = SizeForm(times, plus + 9 * 40 * (over > 1), over)
    found = size_form({t: form.at(t) for t in SIZES})
    assert found is not None
    assert all(found.at(t) == form.at(t) for t in SIZES)


@pytest.mark.parametrize("over", [2, 4, 8, 16])
def test_of_sizes_in_steps_a_form_goes_on_below_those_known(over: int) -> None:
    """A smaller divider comes close to all that are known: (t - 2) / 7 is t / 8 from 16 on."""
    known = {t: t // over for t in range(2 * over, 9 * over, over)}
    form = size_form(known)
    assert form is not None
    assert form.at(over) == 1
    assert form.at(100 * over) == 100


@pytest.mark.parametrize("rule", [lambda t: min(t, 9), lambda t: t * t * t, lambda t: t % 3])
def test_where_there_is_no_form(rule: Callable[[int], int]) -> None:
    assert size_form({t: rule(t) for t in SIZES}) is None


def test_c_computes_forms_as_python_does(tmp_path: Path) -> None:
    forms = [size_form({t: rule(t) for t in SIZES}) for rule in RULES.values()]
    texts = ", ".join(form.text("t") for form in forms if form is not None)
    (tmp_path / "forms.c").write_text(
        "#include <stdio.h>\n#include <stdint.h>\nint main(void) {\n"
        f"for (int32_t t = 1; t < 41; ++t) {{ const int32_t all[] = {{ {texts} }};\n"
        'for (unsigned i = 0; i < sizeof(all) / 4; ++i) printf("%d ", (int)all[i]); }\n}\n'
    )
    subprocess.run(["cc", tmp_path / "forms.c", "-o", tmp_path / "forms"], check=True)
    done = subprocess.run([tmp_path / "forms"], capture_output=True, text=True, check=True)
    assert [int(word) for word in done.stdout.split()] == [
        rule(t) for t in SIZES for rule in RULES.values()
    ]


def writer(tables: list[ConstantArray] | None = None) -> SizeText:
    def table(array: ConstantArray) -> str:
        assert tables is not None, "no table is wanted"
        tables.append(array)
        return "table"

    return SizeText(OpenSize("T", 2, 5), "t", table)


def texts(form: str, rule: Callable[[int], object]) -> dict[int, str]:
    return {t: form.replace("#", str(rule(t))) for t in range(2, 6)}


def test_numbers_of_a_text_become_expressions() -> None:
    made = writer().text(texts("for (i = 0; i < #; ++i) { a[i] = 7; /* # */ }", lambda t: 16 * t))
    assert made == "for (i = 0; i < (16 * t); ++i) { a[i] = 7; /* 80 */ }"


def test_unsigned_numbers_stay_so() -> None:
    assert writer().text(texts("x = #u;", lambda t: 4 * t)) == "x = (uint32_t)(4 * t);"
    assert writer().text(texts("(void)memset(out, 0, #);", lambda t: t)) == (
        "(void)memset(out, 0, (uint32_t)t);"
    )


def test_arrays_are_as_long_as_the_largest_size_wants_them() -> None:
    made = writer().text(texts("{ int32_t sums[#]; sums[#] = 0; }", lambda t: t))
    assert made == "{ int32_t sums[5]; sums[t] = 0; }"


def test_what_follows_no_rule_is_looked_up() -> None:
    tables: list[ConstantArray] = []
    made = writer(tables).text(texts("x = #;", lambda t: {2: 9, 3: 1, 4: 30, 5: 2}[t]))
    assert made == "x = table[t - 2];"
    np.testing.assert_array_equal(tables[0].data, np.array([9, 1, 30, 2], np.int32))
    made = writer(tables).text(texts("x = #f;", lambda t: np.float32(1 / t)))
    assert tables[1].data.dtype == np.float32
    assert made == "x = table[t - 2];"


@pytest.mark.parametrize(
    "different",
    [
        {2: "a();", 3: "b();", 4: "a();", 5: "a();"},
        {2: "a();", 3: "a(); a();", 4: "a();", 5: "a();"},
        {t: f'asm("add r1, #{t}");' for t in range(2, 6)},
        {t: f"static const p q = {{ 1, {t} }};" for t in range(2, 6)},
        {t: f"static const p q = {{ {{ 1, {t} }}, 5 }};" for t in range(2, 6)},
    ],
    ids=["other code", "more code", "assembly", "static", "inside"],
)
def test_other_differences_are_none_of_numbers(different: dict[int, str]) -> None:
    with pytest.raises(Uneven):
        writer().text(different)


def test_what_attributes_are_at_a_size_between() -> None:
    known = {t: (t, (0, 2 * t), np.arange(t)) for t in (3, 4, 8)}
    size, pair, array = blended(known, 6)
    assert (size, pair) == (6, (0, 12))
    np.testing.assert_array_equal(array, np.arange(6))


@pytest.mark.parametrize(
    "known",
    [
        {2: "a", 3: "b"},
        {2: (1,), 3: (1, 2)},
        {2: 4, 3: 9, 4: 1, 5: 30},
        {2: np.zeros(2), 3: np.ones(3)},
        {2: 1, 3: "a"},
    ],
)
def test_what_follows_no_rule_is_irregular(known: dict[int, object]) -> None:
    with pytest.raises(Irregular):
        blended(known, 7)
