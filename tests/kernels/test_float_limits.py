"""Loops of float kernels limit results on their bits, where numbers alone are in order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from tests.kernels.test_float_kernels import CORES, layer_model
from tests.support.check_model import random_inputs, write_bundle
from tests.support.float_layers import VARIANTS
from tests.support.forced_variant import compile_forced


@pytest.mark.parametrize("special", [np.nan, np.inf], ids=str)
@pytest.mark.parametrize("variant", VARIANTS)
def test_limits_leave_what_is_no_number(variant: str, special: float, tmp_path: Path) -> None:
    kind, cases = VARIANTS[variant]
    for name in list(cases)[-3:]:
        case = replace(cases[name], activation="RELU6")
        compilation = compile_forced(layer_model(variant, kind, case), variant, CORES[0])
        ((x,),) = random_inputs(compilation, 1)
        inputs = [np.full_like(x, 3.0), x.copy(), x.copy()]
        for place, array in zip((-1, x.size // 2, 0), inputs, strict=True):
            array.reshape(-1)[place] = special
        folder = write_bundle(compilation, tmp_path / name)
        here = Host().run(folder, [[array] for array in inputs])
        there = CortexM(CORES[0], count=False).run(folder, [[array] for array in inputs])
        for host, core in zip(here, there, strict=True):
            np.testing.assert_array_equal(core.outputs[0], host.outputs[0])
        assert np.isnan(here[0].outputs[0]).any() or special == np.inf
