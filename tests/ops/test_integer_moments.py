"""`mean_variance_normalization` on integers: near real numbers, the same bits in C."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options, Prepared
from glowmcu.ir.dump import IrDump
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array, OperationError, Signature
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.lowering.passes import lower
from glowmcu.ops.integer_moments import LONGEST_ROW, inverse_root
from glowmcu.ops.moments import MeanVarianceNormalization
from glowmcu.pipeline import compile_prepared
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from tests.ir.graphs import GraphBuilder
from tests.support.check_model import expect_equal, write_bundle

I8, I16 = ElementType.I8, ElementType.I16
UNDEFINED = ("-fsanitize=undefined", "-fno-sanitize-recover=undefined")


@dataclass(frozen=True)
class Case:
    """`out_scale` None: the largest result that a row of this depth can have just fits."""

    element: ElementType
    shape: tuple[int, ...]
    scale: float = 0.02
    zero_points: tuple[int, int] = (0, 0)
    epsilon: float = 1e-5
    center: bool = True
    out_scale: float | None = None

    def type_of(self, scale: float, zero_point: int) -> TensorType:
        return TensorType(self.shape, self.element, Quantization((scale,), (zero_point,)))

    @property
    def signature(self) -> Signature:
        most = {I8: 127 - abs(self.zero_points[1]), I16: 32767}[self.element]
        fitting = float(np.float32(max(self.shape[-1], 2) ** 0.5 / most))
        out = self.type_of(self.out_scale or fitting, self.zero_points[1])
        return Signature((self.type_of(self.scale, self.zero_points[0]),), (out,))

    @property
    def op(self) -> MeanVarianceNormalization:
        return MeanVarianceNormalization(self.epsilon, self.center)


CASES = {
    "int8, 32 a row": Case(I8, (1, 16, 32)),
    "int8, zero points at both ends": Case(I8, (5, 31), zero_points=(-128, 60)),
    "int8, zero point 127": Case(I8, (3, 7), 0.5, (127, -50)),
    "int8, one a row": Case(I8, (4, 1)),
    "int8, two a row": Case(I8, (9, 2)),
    "int8, three a row": Case(I8, (9, 3), 1e-3),
    "int8, many a row": Case(I8, (2, 4099), 0.3, (4, 3)),
    "int8, no mean": Case(I8, (6, 33), center=False),
    "int8, no epsilon": Case(I8, (6, 33), epsilon=0.0),
    "int8, a large epsilon": Case(I8, (6, 33), epsilon=10.0),
    "int16, 32 a row": Case(I16, (1, 16, 32), 2e-4),
    "int16, one a row": Case(I16, (3, 1), 2e-4),
    "int16, two a row": Case(I16, (7, 2), 2e-4),
    "int16, a prime": Case(I16, (2, 3, 127), 3e-3),
    "int16, 768 a row": Case(I16, (2, 768), 1e-3),
    "int16, typical range": Case(I16, (4, 64), 1e-3, out_scale=4 / 32767),
    "int16, no mean": Case(I16, (4, 64), 1e-3, center=False),
    "int16, no epsilon": Case(I16, (4, 65), 1e-3, epsilon=0.0),
    "int16, epsilon above all variances": Case(I16, (4, 65), 1e-5, epsilon=3.0),
    "int16, small steps": Case(I16, (4, 65), 1e-6, epsilon=1e-5),
    "int16, large steps": Case(I16, (4, 65), 50.0),
    "int16, the longest row": Case(I16, (1, LONGEST_ROW), 1e-3),
    "int16, the longest row without mean": Case(I16, (1, LONGEST_ROW), 1e-3, center=False),
}


def graph_of(case: Case) -> Graph:
    builder = GraphBuilder()
    x = builder.input(case.signature.inputs[0])
    return builder.finish(builder.add(case.op, x, like=case.signature.output))


def rows_of(case: Case) -> list[Array]:
    """Noise of several sizes, rows of equal elements, extremes, and a single one that differs."""
    random = np.random.default_rng(len(case.shape) + case.shape[-1])
    low, high = case.element.limits
    middle = np.full(case.shape, case.zero_points[0])
    lone, near = middle.copy(), middle.copy()
    lone[..., 0], near[..., -1] = high, case.zero_points[0] + (-1 if middle.flat[0] > 0 else 1)
    drawn = [middle + np.rint(random.normal(0, most, case.shape)) for most in (1, 30, high / 4)]
    signs = random.choice([low, high], case.shape)
    whole = [middle, np.full(case.shape, low), np.full(case.shape, high), lone, near, signs, *drawn]
    return [np.clip(x, low, high).astype(case.element.numpy) for x in whole]


def compiled(graph: Graph, core: str) -> Compilation:
    made = Prepared("m.onnx", "", graph, lower(graph), IrDump(None))
    return compile_prepared(made, Options("m", core=core))


@pytest.mark.parametrize("name", CASES)
def test_results_are_within_six_tenths_of_a_step_of_real_numbers(name: str) -> None:
    case = CASES[name]
    (source,), out = case.signature.inputs, case.signature.output
    for x in rows_of(case):
        real = (x.astype(np.float64) - source.zero_point) * source.scale
        offsets = real - real.mean(-1, keepdims=True) * case.center
        root = np.sqrt((offsets**2).mean(-1, keepdims=True) + case.epsilon)
        steps = offsets / np.where(root > 0, root, 1.0) / out.scale + out.zero_point
        want = np.clip(steps, *case.element.limits)
        assert np.abs(run_graph(graph_of(case), [x])[0] - want).max() < 0.6


@pytest.mark.parametrize("name", CASES)
def test_c_gives_the_bits_of_the_meaning(name: str, tmp_path: Path) -> None:
    graph, sets = graph_of(CASES[name]), rows_of(CASES[name])
    bundle = write_bundle(compiled(graph, "cortex-m4"), tmp_path)
    results = Host(extra_flags=UNDEFINED).run(bundle, [[x] for x in sets])
    for x, got in zip(sets, results, strict=True):
        expect_equal(got.outputs[0], run_graph(graph, [x])[0], f"rows of {x}")


@pytest.mark.arm
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus"])
@pytest.mark.parametrize(
    "name", ["int8, zero points at both ends", "int16, a prime", "int16, no mean"]
)
def test_cores_give_the_bits_of_the_meaning(name: str, core: str, tmp_path: Path) -> None:
    graph, sets = graph_of(CASES[name]), rows_of(CASES[name])
    bundle = write_bundle(compiled(graph, core), tmp_path)
    results = CortexM(core, count=False).run(bundle, [[x] for x in sets])
    for x, got in zip(sets, results, strict=True):
        expect_equal(got.outputs[0], run_graph(graph, [x])[0], f"rows of {x}")


def test_the_inverse_root_is_true_to_25_bits() -> None:
    random = np.random.default_rng(5)
    drawn = 2.0 ** random.uniform(0, 62.9, 20_000)
    edges = [(1 << bits) + more for bits in range(2, 63) for more in (-1, 0, 1)]
    totals = np.array([1, 2, 3, *edges, *map(int, drawn), 2**63 - 1], np.uint64)
    roots, pairs = inverse_root(totals)
    error = roots * 2.0 ** (pairs - 61) * np.sqrt(totals.astype(np.float64)) - 1
    assert np.abs(error).max() < 2.0**-25
    assert roots.max() <= 2**30


REFUSED = {
    "a row that is too long": (Case(I16, (1, LONGEST_ROW + 1)), "exceeds 32768"),
    "int16 with a zero point": (Case(I16, (2, 8), zero_points=(3, 0)), "i16 needs zero point 0"),
    "an output scale beyond its fraction": (
        Case(I16, (2, 8), out_scale=1e-7), "an output scale of 1e-07 is too small",
    ),
    "an input scale far below epsilon": (Case(I16, (2, 8), 1e-9, epsilon=10.0), "hides all that"),
    "a negative epsilon": (Case(I8, (2, 8), epsilon=-1.0), "must be finite and not below 0"),
}  # fmt: skip


@pytest.mark.parametrize(("case", "text"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_integer_form_is_refused(case: Case, text: str) -> None:
    with pytest.raises(OperationError, match=text):
        case.op.verify(case.signature)
