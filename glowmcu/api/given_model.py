"""A model as Python programs have it: a file, its bytes, or an object of the framework it is from.

Whatever it is becomes the bytes of a .tflite or .onnx with a name; from there on all are alike.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

from glowmcu import limits
from glowmcu.api import framework_models
from glowmcu.api.model_file import read_model_file
from glowmcu.asked_in_python import MEMORY
from glowmcu.errors import GlowmcuError, error
from glowmcu.file_writing import check_not_the_model
from glowmcu.frontend.read_model import format_of
from glowmcu.lazy_dataclass import dataclass


class OnnxModel(Protocol):
    """`onnx.ModelProto`."""

    def SerializeToString(self) -> bytes: ...


class OnnxProgram(Protocol):
    """The result of `torch.onnx.export(…, dynamo=True)`."""

    @property
    def model_proto(self) -> Any: ...  # noqa: ANN401 - onnx has no types


class TorchModule(Protocol):
    """`torch.nn.Module`, or what `torch.export.export` makes of one."""

    def named_parameters(self) -> Any: ...  # noqa: ANN401 - torch need not be installed


class KerasModel(Protocol):
    """`keras.Model`, of Keras 3 with any backend or of TensorFlow."""

    @property
    def export(self) -> Any: ...  # noqa: ANN401 - keras need not be installed


ModelGiven: TypeAlias = (
    str | os.PathLike[str] | bytes | bytearray | memoryview
    | OnnxModel | OnnxProgram | TorchModule | KerasModel
)  # fmt: skip
#: Arrays or tensors that a `torch.nn.Module` is called with, in order or by name.
ExampleInputs: TypeAlias = Sequence[Any] | Mapping[str, Any] | Any


@dataclass(frozen=True)
class GivenModel:
    """The content of a model; `name` is its path, or one below `MEMORY`. `path` is None there."""

    data: bytes
    name: str
    path: Path | None = None

    @property
    def stem(self) -> str:
        """The name without folder and suffix, from which a bundle's name is made."""
        return Path(self.name).stem

    def check_output(self, output: str | Path | None) -> None:
        """Raises GM525 if `output` would replace the model."""
        if self.path is not None:
            check_not_the_model(output, self.path)


def read_given(model: ModelGiven, example_inputs: ExampleInputs | None = None) -> GivenModel:
    """Raises GM101, GM110 for files; GM116 for what is no model, GM117 for a module without
    examples, GM118 if its framework cannot export it, GM119 for a model without its data.
    """
    if isinstance(model, str | os.PathLike):
        path = Path(model)
        return GivenModel(read_model_file(path), str(path), path)
    if isinstance(model, bytes | bytearray | memoryview):
        return _of_bytes(bytes(model), "model")
    if framework_models.is_keras_model(model):
        data, name = framework_models.exported_keras(model, example_inputs)
        return _of_bytes(data, _snake_case(name))
    if framework_models.is_torch_model(model):
        data = framework_models.exported_torch(model, example_inputs)
        return _of_bytes(data, _snake_case(framework_models.torch_name(model)))
    proto = getattr(model, "model_proto", model)
    if framework_models.is_onnx_model(proto):
        return GivenModel(framework_models.onnx_bytes(proto), _place("model.onnx"))
    raise _no_model(model)


def file_of(model: ModelGiven) -> Path | None:
    """The path, if the model is a file."""
    return Path(cast(str, model)) if isinstance(model, str | os.PathLike) else None


def _of_bytes(data: bytes, stem: str) -> GivenModel:
    if len(data) > limits.file_bytes():
        allowed = limits.size_text(limits.file_bytes())
        message = f"the model is larger than {allowed}: no model for an MCU"
        raise error("GM110", message, MEMORY, limits.hint(len(data), limits.file_bytes()))
    return GivenModel(data, _place(f"{stem}.{format_of(data, MEMORY)}"))


def _place(name: str) -> str:
    return f"{MEMORY}/{name}"


def _snake_case(name: str) -> str:
    """`DigitsNet` to `digits_net`, `CNN2d` to `cnn2d`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"\W+", "_", words).strip("_").lower()[:40] or "model"


def _no_model(model: object) -> GlowmcuError:
    kind = f"{type(model).__module__}.{type(model).__qualname__}".removeprefix("builtins.")
    return error(
        "GM116",
        f"expected a model, got a {kind}",
        hint="pass a path, the bytes of a .tflite or .onnx, an onnx.ModelProto, a torch.nn.Module "
        "with example_inputs=…, or a Keras model",
    )
