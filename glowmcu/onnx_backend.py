"""GlowMCU as an ONNX backend: `onnx.backend.base.Backend` over the generated C on this computer.

    import onnx, glowmcu.onnx_backend as backend
    outputs = backend.prepare(onnx.load("kws.onnx")).run([x])

The model is compiled at the first run, when its inputs are there: what it has to know beforehand
(shapes, axes) is taken from them. Needs the onnx package and a C compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep

from glowmcu.api.known_inputs import compile_for_inputs
from glowmcu.compilation import Options
from glowmcu.errors import ExitCode, error
from glowmcu.ir.operation import Array
from glowmcu.pipeline import emitted
from glowmcu.verify.host import Host

_FILE_NAME = "model.onnx"
#: They are float32 in the C; callers get the types that the file says.
_OTHER_TYPES: dict[int, np.dtype[Any]] = {
    onnx.TensorProto.DOUBLE: np.dtype(np.float64),
    onnx.TensorProto.FLOAT16: np.dtype(np.float16),
}
_OTHER_FLOATS = frozenset(_OTHER_TYPES.values())


class PreparedModel(BackendRep):
    """A model that waits for its inputs."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._data = model.SerializeToString()
        given = {item.name for item in model.graph.initializer}
        self._names = [item.name for item in model.graph.input if item.name not in given]
        kinds = (item.type.tensor_type.elem_type for item in model.graph.output)
        self._wanted = [_OTHER_TYPES.get(kind) for kind in kinds]

    def run(self, inputs: Sequence[Array], **kwargs: Any) -> tuple[Array, ...]:  # noqa: ANN401
        """Outputs in model order. Raises GlowmcuError where the model is not supported."""
        for name, array in zip(self._names, inputs, strict=False):
            if not hasattr(array, "dtype"):
                raise error(
                    "GM105", f"input {name!r} is no tensor but a {type(array).__name__}",
                    _FILE_NAME, exit_code=ExitCode.UNSUPPORTED,
                )  # fmt: skip
        arrays = {
            name: array.astype(np.float32) if array.dtype in _OTHER_FLOATS else array
            for name, array in zip(self._names, inputs, strict=True)
        }
        compilation, bound = compile_for_inputs(self._data, _FILE_NAME, Options("m"), arrays)
        with emitted(compilation) as folder:
            left = [array for name, array in arrays.items() if name not in bound]
            (measured,) = Host(("-O1",)).run(folder, [left])
        return tuple(
            np.asarray(output, wanted)
            for output, wanted in zip(measured.outputs, self._wanted, strict=True)
        )


class GlowmcuBackend(Backend):
    """The backend class; the module has its methods as functions."""

    @classmethod
    def prepare(
        cls,
        model: onnx.ModelProto,
        device: str = "CPU",
        **kwargs: Any,  # noqa: ANN401
    ) -> PreparedModel:
        """Take a model; nothing is compiled yet."""
        return PreparedModel(model)

    @classmethod
    def run_model(
        cls,
        model: onnx.ModelProto,
        inputs: Any,  # noqa: ANN401
        device: str = "CPU",
        **kwargs: Any,  # noqa: ANN401
    ) -> tuple[Array, ...]:
        """Compile and run once."""
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """The host's processor alone."""
        return device == "CPU"


prepare = GlowmcuBackend.prepare
run_model = GlowmcuBackend.run_model
supports_device = GlowmcuBackend.supports_device
