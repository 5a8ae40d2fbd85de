"""What is recorded of the zoo: the page is of the record, and nothing in it goes unexplained."""

from __future__ import annotations

import warnings

from benchmarks import zoo
from benchmarks.kernel_sources import is_of_today
from benchmarks.zoo_page import page

#: Networks with layers in float that are known, and why.
FLOAT: dict[str, str] = {}
#: What no network may fall below without a warning: the promise, whatever the compiler's level is.
LOW_DB = 25.0


def test_the_page_of_the_zoo_is_what_was_recorded() -> None:
    assert zoo.PAGE.read_text(encoding="utf-8") == page(zoo.stored(), len(zoo.names()))


def test_every_network_of_the_zoo_was_measured() -> None:
    assert [row.name for row in zoo.stored()] == zoo.names()


def test_no_network_of_the_zoo_is_refused() -> None:
    assert {row.name: row.refusal for row in zoo.stored() if row.refusal} == {}


def test_layers_left_in_float_are_explained() -> None:
    assert {row.name for row in zoo.stored() if row.float_layers} == set(FLOAT)


def test_networks_of_low_quality_are_warned_of() -> None:
    low = [row for row in zoo.stored() if row.sqnr_db is not None and row.sqnr_db < LOW_DB]
    assert {row.name for row in low if not row.warned} == set()


def test_a_change_of_kernels_since_is_noted() -> None:
    if not all(is_of_today(row.kernels) for row in zoo.stored()):
        warnings.warn("older kernels were compiled: run python -m benchmarks.zoo", stacklevel=1)
