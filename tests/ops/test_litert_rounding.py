"""`--rounding litert`: Python meaning == generated C == LiteRT's reference kernels, and XNNPACK's
single rounding beside it.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import OperationError, Rounding
from glowmcu.ops.real_scale import real_requantization
from glowmcu.pipeline import compile_model, reference_graph
from glowmcu.verify.modelled import modelled_core
from tests.ops.test_matmul import DENSE_CASES, Dense, dense_model
from tests.support.check_model import check_model, expect_equal, random_inputs, write_bundle
from tests.support.oracle import run_litert_reference

MODELS = Path(__file__).parents[3] / "shared" / "models"
LITERT = Options("m", rounding=Rounding.LITERT, simplify=False)


@dataclass(frozen=True)
class Chain:
    """A 1x1 convolution and a fully connected layer, each with `outputs` channels."""

    outputs: int
    out_scale: float

    def model(self) -> bytes:
        """Results near halves of a step are frequent: the inputs' sums are small."""
        generator = np.random.default_rng(self.outputs)
        model = ModelBuilder()
        x = model.input("x", (1, 3, 3, 8), "int8", 0.05, -3)
        scales = generator.uniform(0.005, 0.05, self.outputs)
        w = model.constant(
            "w", generator.integers(-128, 128, (self.outputs, 1, 1, 8)).astype(np.int8), scales
        )
        bias = generator.integers(-2000, 2000, self.outputs).astype(np.int32)
        b = model.constant("b", bias, np.float32(scales) * np.float32(0.05))
        y = model.tensor("y", (1, 3, 3, self.outputs), "int8", 0.1, 5)
        model.op("CONV_2D", [x, w, b], [y], {"padding": "SAME", "stride_w": 1, "stride_h": 1})
        depth = 9 * self.outputs
        v = model.constant(
            "v", generator.integers(-127, 128, (self.outputs, depth)).astype(np.int8), scales
        )
        c = model.constant("c", bias, np.float32(scales) * np.float32(0.1))
        z = model.tensor("z", (1, self.outputs), "int8", self.out_scale, -7)
        model.op("FULLY_CONNECTED", [y, v, c], [z])
        model.output(z)
        return model.finish()


CHAINS = {
    "three outputs": Chain(3, 0.9),
    "eight outputs": Chain(8, 0.4),
    "saturated": Chain(9, 0.001),
    "nearly all equal": Chain(13, 40.0),
}
CORES = ["cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"]


@pytest.mark.parametrize("case", DENSE_CASES.values(), ids=DENSE_CASES)
def test_fully_connected_rounds_once_as_litert_does(case: Dense) -> None:
    check_model(dense_model(case), oracle=run_litert_reference, options=LITERT, count=8)


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_a_convolution_rounds_twice_and_what_follows_once(chain: Chain) -> None:
    check_model(chain.model(), oracle=run_litert_reference, options=LITERT, count=20)


def test_halves_go_away_from_zero_in_litert_s_fully_connected_layers_alone() -> None:
    model = ModelBuilder()
    x = model.input("x", (6, 1), "int8", 0.5, 0)
    w = model.constant("w", np.ones((1, 1), np.int8), [1.0])
    b = model.constant("b", np.zeros(1, np.int32), [0.5])
    y = model.tensor("y", (6, 1), "int8", 1.0, 0)
    model.op("FULLY_CONNECTED", [x, w, b], [y])
    model.output(y)
    data, odd = model.finish(), np.array([[-5], [-3], [-1], [1], [3], [5]], np.int8)
    results = {
        mode: run_graph(reference_graph(data, "m.tflite", mode), [odd])[0].ravel().tolist()
        for mode in Rounding
    }
    assert results[Rounding.LITERT] == [-3, -2, -1, 1, 2, 3]
    assert results[Rounding.DOUBLE] == results[Rounding.SINGLE] == [-2, -1, 0, 1, 2, 3]


def nearest_halves(scale: float) -> np.ndarray:
    """Sums on both sides of every half of a step, negative ones too."""
    around = np.round((np.arange(257) + 0.5) / scale)
    sums = np.concatenate([around - 1, around, around + 1])
    sums = sums[sums < 2**31]
    return np.concatenate([sums, -sums]).astype(np.int64)


@pytest.mark.parametrize("scale", [0.5, 1.0, 0.125, 3.0, 0.75, 1 / 3, 1e-3, 1e-5, 7e-7, 41.5])
def test_the_multiplier_rounds_every_sum_as_the_real_scale_does(scale: float) -> None:
    sums = nearest_halves(scale)
    real = sums * scale
    want = np.where(real < 0, np.ceil(real - 0.5), np.floor(real + 0.5))
    got = real_requantization([scale]).apply(sums, Rounding.SINGLE)
    assert (got == want).all()


def test_a_scale_that_no_multiplier_rounds_like_is_refused() -> None:
    generator, refused = np.random.default_rng(2), 0
    for scale in generator.uniform(1e-7, 2e-7, 200).tolist():
        try:
            multiplier = real_requantization([scale])
        except OperationError:
            refused += 1
            continue
        sums, real = nearest_halves(scale), nearest_halves(scale) * scale
        want = np.where(real < 0, np.ceil(real - 0.5), np.floor(real + 0.5))
        assert (multiplier.apply(sums, Rounding.SINGLE) == want).all()
    assert 0 < refused < 200


@pytest.mark.arm
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_every_core_computes_what_litert_does(chain: Chain, core: str) -> None:
    pytest.importorskip("unicorn")
    data = chain.model()
    compilation = compile_model(
        data, "m.tflite", Options("m", core=core, rounding=Rounding.LITERT, simplify=False)
    )
    sets = random_inputs(compilation, 6)
    with tempfile.TemporaryDirectory() as work:
        folder = write_bundle(compilation, Path(work))
        measured = modelled_core(core, count=False).run(folder, sets)
    for arrays, found in zip(sets, measured, strict=True):
        want = run_litert_reference(data, arrays)
        assert isinstance(want, list)
        expect_equal(np.asarray(found.outputs[0]), want[0], f"C on {core}")


@pytest.mark.parametrize("name", ["ad", "kws", "ic", "vww", "sww"])
@pytest.mark.parametrize("rounding", [Rounding.LITERT, Rounding.SINGLE], ids=lambda r: r.value)
def test_models_of_mlperf_tiny_give_litert_s_bytes(name: str, rounding: Rounding) -> None:
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="pip install ai-edge-litert")
    file = MODELS / f"{name}_int8.tflite"
    if not file.exists():
        pytest.skip(f"needs {file.name} in the folder of shared models")
    data = file.read_bytes()
    graph = reference_graph(data, file.name, rounding)
    kernels = "BUILTIN_REF" if rounding is Rounding.LITERT else "AUTO"
    interpreter = litert.Interpreter(
        model_content=data, num_threads=1,
        experimental_op_resolver_type=litert.OpResolverType[kernels],
    )  # fmt: skip
    interpreter.allocate_tensors()
    generator = np.random.default_rng(0)
    for _ in range(2):
        arrays = [generator.integers(-128, 128, v.type.shape).astype(np.int8) for v in graph.inputs]
        for details, array in zip(interpreter.get_input_details(), arrays, strict=True):
            interpreter.set_tensor(details["index"], array)
        interpreter.invoke()
        for details, got in zip(
            interpreter.get_output_details(), run_graph(graph, arrays), strict=True
        ):
            expect_equal(got, interpreter.get_tensor(details["index"]), f"{name}, {kernels}")


def test_every_layer_that_cannot_round_so_is_named() -> None:
    scales = np.float32(1e-3), np.float32(0.00012616121966857463), np.float32(1.0)
    model = ModelBuilder()
    x = model.input("x", (1, 4), "int8", float(scales[0]), 0)
    results = []
    for name in ("first", "second"):
        w = model.constant(f"{name} w", np.ones((3, 4), np.int8), [float(scales[1])])
        b = model.constant(f"{name} b", np.zeros(3, np.int32), [float(scales[0] * scales[1])])
        results.append(model.tensor(name, (1, 3), "int8", float(scales[2]), 0))
        model.op("FULLY_CONNECTED", [x, w, b], [results[-1]])
        model.output(results[-1])
    with pytest.raises(GlowmcuError, match="rounds sums as LiteRT does") as caught:
        reference_graph(model.finish(), "m.tflite", Rounding.LITERT)
    assert [problem.code for problem in caught.value.problems] == ["GM227"] * 2
    assert [problem.where.split()[-1] for problem in caught.value.problems] == [
        '"first"', '"second"',
    ]  # fmt: skip
