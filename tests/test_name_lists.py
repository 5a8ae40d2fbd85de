"""Names of inputs and nodes in a bundle's options are read back as they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glowmcu.name_lists import names_text, pairs_text, read_names, read_pairs
from glowmcu.slides import Slide, read_slides, slides_text

NAMES = st.text(min_size=1) | st.text(alphabet="a,=\\", min_size=1)


@given(st.lists(NAMES))
def test_names_are_read_back(names: list[str]) -> None:
    assert read_names(names_text(names)) == tuple(names)


@given(st.dictionaries(NAMES, NAMES))
def test_pairs_are_read_back(pairs: dict[str, str]) -> None:
    assert read_pairs(pairs_text(pairs)) == pairs


@given(st.dictionaries(NAMES, st.builds(Slide, st.integers(1, 99), st.none() | st.integers(0, 5))))
def test_slides_are_read_back(slides: dict[str, Slide]) -> None:
    assert read_slides(slides_text(slides)) == slides


@pytest.mark.parametrize("name", ["x", "serving_default_x:0", "a/b;c", "größe", "with space"])
def test_usual_names_stand_as_they_are(name: str) -> None:
    assert names_text([name, "y"]) == f"{name},y"
    assert pairs_text({name: "1"}) == f"{name}=1"
