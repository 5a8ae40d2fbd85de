"""What is recorded of layers that portable kernels take: all networks, each layer with a reason."""

from __future__ import annotations

import pytest

from benchmarks import portable_layers
from benchmarks.portable_page import page, reason_of
from glowmcu.kernels.kernel import load_kernels


def test_the_page_of_portable_layers_is_what_was_recorded() -> None:
    assert portable_layers.PAGE.read_text(encoding="utf-8") == page(portable_layers.stored())


def test_every_recorded_layer_has_a_reason() -> None:
    rows = portable_layers.stored()
    assert {row.core for row in rows} == set(portable_layers.CORES)
    assert {row.network for row in rows} <= set(portable_layers.networks())
    assert [row for row in rows if reason_of(row) is None] == []


@pytest.mark.parametrize("name", ["kws", "micro_speech_quantized", "mnist_dw_q"])
def test_no_convolution_of_a_real_network_is_left_to_portable_kernels(name: str) -> None:
    """They took 98 % of micro_speech's cycles, and 77 % of mnist_dw_q's with little memory."""
    rows = portable_layers.found(name)
    assert rows == [row for row in portable_layers.stored() if row.network == name]
    assert [row for row in rows if "conv" in row.operator] == []


def test_a_kernel_is_portable_by_its_name() -> None:
    names = {kernel.name for kernels in load_kernels().values() for kernel in kernels}
    taken = {name for name in names if portable_layers.is_portable(name)}
    assert {"softmax.portable", "elementwise.baked", "lookup.shared"} <= taken
    others = {"softmax.table", "conv_2d.pairs_nodsp", "sum.linear", "depthwise_conv_2d.mve"}
    assert taken.isdisjoint(others)
