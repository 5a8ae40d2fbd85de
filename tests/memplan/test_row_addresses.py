"""Addresses that emitted cascades compute: rows of their buffers, or the byte behind them.

A window may lie in padding as a whole. Nothing is read there, but a pointer to it is made, which
must not leave the buffer either: C knows no such pointers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.emit_c.build_views import buffer_symbols
from glowmcu.goals import Goal
from glowmcu.pipeline import compile_model
from tests.memplan.streaming_models import MODELS
from tests.memplan.test_streamed_code import stream_everything

_FUNCTION = re.compile(r"static void rows_\w+\(int8_t \*a\)\n\{(.*?)\n\}\n", re.DOTALL)
_ORDER = re.compile(r"static const uint8_t (\w+)\[\] = \{(.*?)\};", re.DOTALL)
_CASE = re.compile(
    r"^        (?:case \d+|default):\n(.*?)^            break;", re.DOTALL | re.MULTILINE
)
_PLACE = re.compile(r"\ba \+ (AT_\w+)((?: \+ (?:[^,()]|\([^()]*(?:\([^()]*\))?[^()]*\))*)?)[,)]")


def row_under(y: int, stride: int, before: int) -> int:
    """`glowmcu_row_under`."""
    return max(y * stride - before, 0)


def addresses(compilation: Compilation) -> Iterator[tuple[str, int, str]]:
    """Every place that every turn of every cascade names: symbol, bytes behind it, the C."""
    source = compilation.files["m.c"]
    orders = {f"sizeof {name}": numbers for name, numbers in _ORDER.findall(source)}
    for function in _FUNCTION.findall(source):
        order = next((numbers for use, numbers in orders.items() if f"{use};" in function), None)
        stages = _CASE.findall(function) or [function]
        if order is not None:
            sequence = list(map(int, order.split(",")))
        else:
            turns = re.search(r"y < (\d+)", function)
            assert turns
            sequence = [0] * int(turns[1])
        made = [0] * len(stages)
        for stage in sequence:
            names = {"made": made, "y": made[stage], "glowmcu_row_under": row_under}
            for symbol, behind in _PLACE.findall(stages[stage]):
                yield symbol, eval(f"0{behind}", {}, names), f"{symbol}{behind}"
            made[stage] += 1


@pytest.mark.parametrize("name", MODELS)
def test_no_turn_of_a_cascade_makes_a_pointer_out_of_its_buffer(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream_everything(monkeypatch)
    options = Options("m", goal=Goal.BALANCED, core="cortex-m4", simplify=False)
    compilation = compile_model(MODELS[name](), "m.tflite", options)
    sizes = {
        symbol: buffer.size_bytes
        for buffer, symbol in buffer_symbols(compilation.plan.program).items()
    }
    found = list(addresses(compilation))
    assert len({text for _, _, text in found}) > 3
    for symbol, behind, text in found:
        assert 0 <= behind <= sizes[symbol], text
