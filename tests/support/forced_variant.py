"""Small models with no choice of kernel: the Python meaning against a computer and a core."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.compilation import Compilation, Options
from glowmcu.ir.interpreter import run_graph
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.pipeline import compile_model
from glowmcu.verify.host import Host
from glowmcu.verify.measurement import Measurement
from glowmcu.verify.modelled import modelled_core
from tests.support.check_model import expect_equal, random_inputs, write_bundle
from tests.support.one_unit import QUICK_LINK, write_unit

Array = npt.NDArray[Any]
#: For a unit on `Host`. Undefined behaviour ends the process. Without optimization none of it is
#: folded away before it is looked at; what is shipped is the core's code, which is built as a
#: firmware builds it.
SANITIZED = ("-O0", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", *QUICK_LINK)


def forced_options(variant: str, core: str) -> Options:
    """`variant` wherever that accepts a node."""
    choices = KernelChoices(forced_variant=variant)
    # A layer that saturates is to be computed, not to be simplified away.
    return Options("m", core=core, kernels=choices, simplify=False)


def compile_forced(data: bytes, variant: str, core: str, file: str = "m.tflite") -> Compilation:
    """The model with `variant` wherever that accepts a node."""
    return compile_model(data, file, forced_options(variant, core))


def variants_of(compilation: Compilation) -> set[str]:
    """The kernels of all nodes that compute."""
    return {selection.kernel_name for selection in compilation.selections.values()}


def check_forced(
    data: bytes,
    variant: str,
    core: str = "cortex-m4",
    inputs: Sequence[Sequence[Array]] | None = None,
    count: int = 1,
    counts_cycles: bool = False,
) -> Measurement:
    """AssertionError unless `variant` computes all layers as they are meant, on a computer and on
    the modelled core; returns what the core measured on the first inputs.
    """
    compilation = compile_forced(data, variant, core)
    assert variants_of(compilation) == {variant}
    sets = inputs if inputs is not None else random_inputs(compilation, count)
    with tempfile.TemporaryDirectory() as work:
        shipped = write_bundle(compilation, Path(work) / "shipped")
        on_core = modelled_core(core, count=counts_cycles).run(shipped, sets)
        on_host = Host(SANITIZED).run(write_unit(compilation, Path(work) / "unit"), sets)
    for arrays, host, modelled in zip(sets, on_host, on_core, strict=True):
        for index, want in enumerate(run_graph(compilation.imported, arrays)):
            expect_equal(np.asarray(host.outputs[index]), want, "C on a computer")
            expect_equal(np.asarray(modelled.outputs[index]), want, f"C on {core}")
    return on_core[0]
