"""What the self test knows of its vectors' outputs, for C and for `selftest/golden.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from glowmcu.emit_c.c_text import c_number
from glowmcu.emit_c.constant_pool import array_view
from glowmcu.emit_c.views import ArrayView
from glowmcu.ir.kernel_code import ConstantArray
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.test_vectors import Digest, Expected, Sample, expected_outputs


@dataclass(frozen=True)
class GoldenVector:
    """Outputs of the reference executor for inputs made from `seed`, in a run that is given `size`
    where runs are given one; `leeway` is by how much each may be off (`ir/leeway.py`).
    """

    seed: int
    outputs: tuple[Array, ...]
    size: int | None = None
    leeway: tuple[float, ...] = ()

    @property
    def leeways(self) -> tuple[float, ...]:
        """One for each output."""
        return self.leeway or (0.0,) * len(self.outputs)

    def expected(self, exact: Sequence[bool]) -> tuple[Expected, ...]:
        """What is stored of the outputs; `exact` are those of which every byte is defined."""
        return expected_outputs(self.outputs, exact)


@dataclass(frozen=True)
class ExpectedView:
    """What an output must be: `array`, of `sampled_bytes` where that is not all of it, or the `crc`
    of elements of `width` bytes. Real numbers may be off by `leeway`.
    """

    array: ArrayView | None
    crc: str
    width: int
    sampled_bytes: int = 0
    leeway: str = "0.0f"


@dataclass(frozen=True)
class VectorView:
    """A golden vector of the self test: inputs from `seed`, what is known of the outputs; `size`
    is what the run is given.
    """

    seed: int
    outputs: tuple[ExpectedView, ...]
    size: int | None = None


def vector_view(vector: GoldenVector, index: int, exact: Sequence[bool]) -> VectorView:
    """For the template of the self test."""
    outputs = [
        _expected_view(item, array.itemsize, f"expected_{index}_{number}", leeway)
        for number, (item, array, leeway) in enumerate(
            zip(vector.expected(exact), vector.outputs, vector.leeways, strict=True)
        )
    ]
    return VectorView(vector.seed, tuple(outputs), vector.size)


def _expected_view(expected: Expected, width: int, symbol: str, leeway: float) -> ExpectedView:
    if isinstance(expected, Digest):
        return ExpectedView(None, f"0x{expected.crc32:08X}u", width)
    array = expected.elements if isinstance(expected, Sample) else expected
    stored = array_view(symbol, ConstantArray("output", array))
    sampled_bytes = array.nbytes if isinstance(expected, Sample) else 0
    return ExpectedView(stored, "", width, sampled_bytes, c_number(leeway))


def golden_json(vectors: Sequence[GoldenVector], exact: Sequence[bool]) -> str:
    """The same for whoever reads the bundle."""
    rows = [
        {
            "seed": vector.seed,
            **({} if vector.size is None else {"size": vector.size}),
            **({"leeway": vector.leeway} if any(vector.leeway) else {}),
            "outputs": [_item(one) for one in vector.expected(exact)],
        }
        for vector in vectors
    ]
    return json.dumps({"vectors": rows}, indent=1) + "\n"


def _item(expected: Expected) -> str | dict[str, int | str]:
    if isinstance(expected, Digest):
        return {"crc32": expected.crc32}
    if isinstance(expected, Sample):
        return {"every": expected.every, "elements": expected.elements.tobytes().hex()}
    return expected.tobytes().hex()
