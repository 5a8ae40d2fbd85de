"""Models of several outputs learn by the only one that the layers have influence on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from tests.support.onnx_models import Nodes, finished

SAMPLES = np.random.default_rng(1).standard_normal((16, 1, 4)).astype(np.float32)


def _compiled(folder: Path, train: str, numbers: str) -> glowmcu.Bundle:
    """Two heads of a trunk."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    net, random, value = Nodes(), np.random.default_rng(2), onnx.helper.make_tensor_value_info
    hidden = net.add("Relu", net.add("MatMul", "x", net.number(random.standard_normal((4, 6)))))
    heads = [net.add("MatMul", hidden, net.number(random.standard_normal((6, n)))) for n in (3, 2)]
    outputs = [value(name, 1, (1, n)) for name, n in zip(heads, (3, 2), strict=True)]
    data = finished(onnx, net.nodes, [value("x", 1, (1, 4))], outputs, net.constants)
    (folder / "m.onnx").write_bytes(data)
    quantized = {"samples": SAMPLES} if numbers == "fixed" else {}
    return glowmcu.compile(
        folder / "m.onnx", "nrf52", folder / "net", "net", train=train, train_numbers=numbers,  # type: ignore[arg-type]
        learning_rate=0.1, **quantized,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize("numbers", ["float32", "fixed"])
def test_the_last_layer_learns_by_its_own_output(numbers: str, tmp_path: Path) -> None:
    bundle = _compiled(tmp_path, "last=1", numbers)
    assert bundle.manifest.training is not None
    assert bundle.manifest.training.classes == 2
    session = bundle.session()
    before = session.run([SAMPLES[0]], real=True)
    losses = [session.train([SAMPLES[0]], 1, real=True) for _ in range(6)]
    after = session.run([SAMPLES[0]], real=True)
    assert losses == sorted(losses, reverse=True)
    np.testing.assert_array_equal(after[0], before[0])
    assert after[1][0, 1] - after[1][0, 0] > before[1][0, 1] - before[1][0, 0]
    assert glowmcu.verify(bundle, on=["host"]).passed


def test_what_has_influence_on_several_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError, match=r"GM362.*has influence on 2: ") as found:
        _compiled(tmp_path, "last=3", "float32")
    assert "let layers learn, by their names" in str(found.value)
