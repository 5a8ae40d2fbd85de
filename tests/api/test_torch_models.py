"""Modules of PyTorch, through both of its exporters; torch is no part of the tests' extra."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.api.framework_models import exported_torch

torch = pytest.importorskip(
    "torch", reason='torch is not installed: pip install "glowmcu[examples]"'
)


class TinyNet(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)
        self.drop = torch.nn.Dropout(0.5)
        self.fc = torch.nn.Linear(4 * 64, 10)

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.norm(self.conv(x)))
        return self.fc(self.drop(torch.flatten(x, 1)))


@pytest.fixture(params=["dynamo", "tracing"], autouse=True)
def exporter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With onnxscript torch exports by its newer way, without it by tracing."""
    find = importlib.util.find_spec
    if request.param == "dynamo" and find("onnxscript") is None:
        pytest.skip('onnxscript is not installed: pip install "glowmcu[examples]"')
    if request.param == "tracing":

        def hidden(name: str, package: str | None = None) -> object:
            return None if name == "onnxscript" else find(name, package)

        monkeypatch.setattr(importlib.util, "find_spec", hidden)
    return str(request.param)


@pytest.fixture
def module() -> Any:
    torch.manual_seed(1)
    return TinyNet()


def test_a_module_computes_what_it_does_in_eval_mode(module: Any, tmp_path: Path) -> None:
    module.norm.running_mean += 0.5
    x = torch.randn(1, 1, 8, 8)
    bundle = glowmcu.compile(module, example_inputs=(x,), output=tmp_path / "b")
    assert bundle.manifest.name == "tiny_net"
    with torch.no_grad():
        expected = module.eval()(x).numpy()
    np.testing.assert_allclose(bundle.run([x])[0], expected, atol=1e-5)


def test_a_module_is_left_as_it_was(module: Any) -> None:
    module.train()
    module.norm.eval()  # frozen, as people do for fine-tuning
    before = {name: value.clone() for name, value in module.state_dict().items()}
    exported_torch(module, (torch.zeros(1, 1, 8, 8),))
    assert [part.training for part in module.modules()] == [True, True, False, True, True]
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    with pytest.raises(glowmcu.GlowmcuError, match="GM118"):
        exported_torch(module, (torch.zeros(1, 3, 8, 8),))
    assert module.training
    assert not module.norm.training


def test_the_same_module_gives_the_same_bytes_from_arrays_and_tensors(module: Any) -> None:
    x = np.zeros((1, 1, 8, 8))
    forms = (torch.zeros(1, 1, 8, 8), x, x.astype(np.float32), [x], (x,), {"x": x})
    assert len({exported_torch(module, form) for form in forms}) == 1


def test_samples_make_a_module_int8(module: Any, tmp_path: Path) -> None:
    samples = np.random.default_rng(0).normal(size=(64, 1, 8, 8)).astype(np.float32)
    x = torch.from_numpy(samples[:1])
    options: dict[str, Any] = {"example_inputs": x, "name": "tiny"}
    at_once = glowmcu.compile(module, samples=samples, output=tmp_path / "a", **options)
    made = glowmcu.profile(module, samples, example_inputs=x)
    by_profile = glowmcu.compile(module, profile=made, output=tmp_path / "b", **options)
    assert at_once.manifest.inputs[0].dtype == "int8"
    (scores,) = at_once.run([x], real=True)
    np.testing.assert_array_equal(*by_profile.run([x], real=True), scores)
    with torch.no_grad():
        assert np.abs(scores - module.eval()(x).numpy()).max() < 0.05


def test_shapes_are_those_of_the_examples(module: Any, tmp_path: Path) -> None:
    bundle = glowmcu.compile(
        module, example_inputs=torch.zeros(3, 1, 8, 8), output=tmp_path / "three"
    )
    assert bundle.manifest.inputs[0].shape == (3, 1, 8, 8)


def test_a_module_without_examples_says_what_is_missing(module: Any) -> None:
    with pytest.raises(glowmcu.GlowmcuError, match="GM117") as caught:
        glowmcu.compile(module)
    assert "example_inputs=(x,)" in str(caught.value)


def test_the_reason_is_what_went_wrong_first(module: Any) -> None:
    with pytest.raises(glowmcu.GlowmcuError, match="GM118") as caught:
        glowmcu.compile(module, example_inputs=(torch.zeros(1, 3, 8, 8),))
    assert "expected input[1, 3, 8, 8] to have 1 channels" in str(caught.value)


def test_a_module_elsewhere_is_copied_to_this_computer(exporter: str) -> None:
    module = torch.nn.Linear(4, 2, device="meta")
    with pytest.raises(glowmcu.GlowmcuError, match="GM118"):  # meta has no numbers to copy
        exported_torch(module, np.zeros((1, 4)))
    assert module.weight.device.type == "meta"


def test_exported_programs_are_taken_as_they_are(
    module: Any, exporter: str, tmp_path: Path
) -> None:
    if exporter == "tracing":
        pytest.skip("the older exporter knows no programs")
    x = (torch.zeros(1, 1, 8, 8),)
    program = torch.export.export(module.eval(), x)
    made = torch.onnx.export(module, x, dynamo=True, verbose=False)
    names = [
        glowmcu.compile(given, output=tmp_path / str(index)).manifest.name
        for index, given in enumerate((program, made))
    ]
    assert names == ["model", "model"]


def test_data_sets_and_loaders_are_samples_as_they_are() -> None:
    net = TinyNet().eval()
    images = torch.randn(24, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    data = torch.utils.data.TensorDataset(images, torch.arange(24))
    example = (images[:1],)
    loaders = (data, torch.utils.data.DataLoader(data, batch_size=5, shuffle=False))
    plain = glowmcu.profile(net, images.numpy(), example_inputs=example)
    for samples in (images, *loaders):
        made = glowmcu.profile(net, samples, example_inputs=example)
        assert made.sample_count == 24
        assert made.options == plain.options
        assert made.tensors.keys() == plain.tensors.keys()
        for name, tensor in made.tensors.items():
            assert (tensor.low, tensor.high) == (plain.tensors[name].low, plain.tensors[name].high)


class Distances(torch.nn.Module):  # type: ignore[misc]
    """torch 2.13's newer exporter has no ONNX for `cdist`, the older one has."""

    def __init__(self) -> None:
        super().__init__()
        self.places = torch.nn.Parameter(torch.randn(5, 3))

    def forward(self, points: Any) -> Any:
        return torch.cdist(points, self.places)


def test_what_one_exporter_does_not_know_the_other_is_asked_for(tmp_path: Path) -> None:
    torch.manual_seed(2)
    module, x = Distances(), torch.randn(2, 3)
    bundle = glowmcu.compile(module, example_inputs=(x,), output=tmp_path / "b")
    assert [entry.name for entry in bundle.manifest.inputs] == ["points"]
    with torch.no_grad():
        np.testing.assert_allclose(bundle.run([x])[0], module(x).numpy(), atol=1e-5)


def test_a_branch_that_data_decide_is_not_traced_as_it_went_once(exporter: str) -> None:
    class Branch(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x * 2 if x.sum() > 0 else x - 1

    if exporter == "tracing":
        pytest.skip("without onnxscript there is nothing else")
    with pytest.raises(glowmcu.GlowmcuError, match="GM118"):
        exported_torch(Branch(), torch.ones(1, 3))


class SelfAttention(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.heads = torch.nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.heads(x, x, x)[0]


def test_attention_is_exported_as_its_operators(tmp_path: Path) -> None:
    torch.manual_seed(3)
    module, x = SelfAttention(), torch.randn(1, 5, 8)
    before = torch.backends.mha.get_fastpath_enabled()
    bundle = glowmcu.compile(module, example_inputs=(x,), output=tmp_path / "b")
    assert torch.backends.mha.get_fastpath_enabled() == before
    with torch.no_grad():
        np.testing.assert_allclose(bundle.run([x])[0], module.eval()(x).numpy(), atol=1e-5)
