"""What fuzzing begins from, made at run time: small models of every operator, and texts of ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from glowmcu.compilation import Compilation, Options
from glowmcu.cores import core
from glowmcu.ir.text import print_graph, print_program
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection.select import select_kernels
from glowmcu.memplan.build_program import build_program
from glowmcu.pipeline import compile_model, float_graph
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profile_file import profile_text
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.samples import samples_of
from glowmcu.tuning.kernel_file import KernelFile, kernel_file_text

_MAX_ONNX_BYTES = 4 << 10


def one_operator_models() -> Iterator[bytes]:
    """The ONNX project's own test models, which its package brings: one a case of an operator."""
    import onnx.backend.test

    data = Path(onnx.backend.test.__file__).parent / "data"
    for path in sorted(data.rglob("model.onnx")):
        if path.stat().st_size <= _MAX_ONNX_BYTES:
            yield path.read_bytes()


@cache
def small_compilations() -> tuple[Compilation, ...]:
    """A family of operators each, and one with its input streamed."""
    from tests.hostile.operator_models import OPERATOR_MODELS

    options = Options("m", core="cortex-m4", board="nrf52")
    return tuple(
        compile_model(make(), f"{name}.tflite", options) for name, make in OPERATOR_MODELS.items()
    )


def ir_texts() -> Iterator[str]:
    """Graphs as imported and lowered, programs before and after planning."""
    for made in small_compilations():
        yield print_graph(made.imported)
        yield print_graph(made.graph)
        selected = select_kernels(made.graph, Target(core("cortex-m4")))
        yield print_program(build_program(made.graph, selected))
        yield print_program(made.plan.program)


def profile_texts() -> Iterator[str]:
    """Profiles of float models, with and without the options that tuning leaves in them."""
    from tests.hostile.onnx_models import ONNX_MODELS

    for name in ("convolutions", "functions"):
        graph = float_graph(ONNX_MODELS[name](), f"{name}.onnx")
        generator = np.random.default_rng(0)
        sample = [generator.normal(size=value.type.shape) for value in graph.inputs]
        profile = profile_graph(graph, samples_of(graph, [sample]), "0" * 64)
        yield profile_text(profile)
        yield profile_text(replace(profile, options=QuantizationOptions()))


def tosa_texts() -> Iterator[str]:
    """Each operator that has a form in TOSA, with notes and without."""
    from glowmcu.frontend.tosa.exporter import export_function
    from glowmcu.frontend.tosa.text import print_tosa
    from tests.frontend.tosa_cases import CASES, bare, case

    for name in CASES:
        function = export_function(case(name))
        yield print_tosa(function)
        yield print_tosa(bare(function))


def kernel_file_texts() -> Iterator[str]:
    yield kernel_file_text(
        KernelFile("0" * 64, "cortex-m4", "balanced", "1", {"a": "k"}, {"a": {"k": 1.5}})
    )
