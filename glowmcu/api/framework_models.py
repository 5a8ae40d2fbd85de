"""Objects of PyTorch, Keras and onnx to bytes of a model, by their own exporters.

None of them is imported here unless the model is its: who has such an object has the framework.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import io
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from glowmcu import installation
from glowmcu.errors import GlowmcuError, error

#: An object of a package that need not be installed.
Foreign: TypeAlias = Any
_KERAS = ("keras", "tf_keras")
#: onnx.TensorProto.EXTERNAL
_EXTERNAL = 1


def is_onnx_model(model: object) -> bool:
    """Whether it is an `onnx.ModelProto`."""
    name = getattr(getattr(model, "DESCRIPTOR", None), "full_name", "")
    return str(name) == "onnx.ModelProto"


def is_torch_model(model: object) -> bool:
    """Whether it is a `torch.nn.Module`, or what `torch.export.export` made of one."""
    torch: Foreign = sys.modules.get("torch")
    if torch is None:
        return False
    program = getattr(getattr(torch, "export", None), "ExportedProgram", torch.nn.Module)
    return isinstance(model, torch.nn.Module | program)


def is_keras_model(model: object) -> bool:
    """Whether it is a model of Keras, of whatever version, or does what one does."""
    if not callable(getattr(model, "export", None)):
        return False
    if _keras_modules(model):  # with PyTorch as its backend it is a module of that, too
        return True
    acts_like_one = all(hasattr(model, name) for name in ("inputs", "predict", "name"))
    return acts_like_one and not is_torch_model(model)


def onnx_bytes(proto: Foreign) -> bytes:
    """The model as a file holds it. Raises GM119 if its weights were not loaded."""
    for tensor in proto.graph.initializer:
        if tensor.data_location == _EXTERNAL:
            raise error(
                "GM119",
                f"the data of tensor {tensor.name!r} lies in a file that was not loaded",
                "onnx.ModelProto",
                "pass the path of the .onnx, or call onnx.load_external_data_for_model(model, "
                "FOLDER) first",
            )
    try:
        return bytes(proto.SerializeToString(deterministic=True))
    except Exception as cause:
        raise _cannot_export("onnx.ModelProto", cause) from cause


def torch_name(module: Foreign) -> str:
    """The name of the module's class; `model` for an exported program."""
    name = getattr(module, "original_name", type(module).__name__)
    return "model" if name == "ExportedProgram" else str(name)


def exported_torch(module: Foreign, example_inputs: object) -> bytes:
    """The module in eval mode on the CPU, as ONNX. It is left as it was. Raises GM109, GM117,
    GM118.
    """
    torch: Foreign = sys.modules["torch"]
    _expect_onnx()
    name = torch_name(module)
    if not isinstance(module, torch.nn.Module):  # an ExportedProgram, which holds its example
        with _explained(name):
            return _without_traces(torch.onnx.export(module, dynamo=True, verbose=False))
    if example_inputs is None:
        raise error(
            "GM117",
            "a torch.nn.Module does not say what it is called with",
            name,
            "example_inputs=(x,): tensors or arrays of the shapes that the C is to have, a batch "
            "of 1 for one sample at a time",
        )
    with _explained(name), _in_eval_mode(module, torch) as still:
        floats = next((p.dtype for p in still.parameters() if p.is_floating_point()), torch.float32)
        args, kwargs = _tensors(example_inputs, floats, torch)
        with torch.no_grad():
            if importlib.util.find_spec("onnxscript") is None or _is_script(still, torch):
                return _by_tracing(still, args, kwargs, torch)
            try:
                made = torch.onnx.export(still, args, kwargs=kwargs, dynamo=True, verbose=False)
            except Exception as cause:
                if type(cause).__name__ != "ConversionError":
                    raise
                return _by_older_exporter(still, args, kwargs, torch, cause)
            return _without_traces(made)


def exported_keras(model: Foreign, example_inputs: object) -> tuple[bytes, str]:
    """The model as `.tflite` if TensorFlow is its backend, else as ONNX; and its name. Raises
    GM118.
    """
    name = str(getattr(model, "name", "") or "model")
    # Keras and TensorFlow tell the terminal what they saved where; nobody keeps these files.
    with _explained(name), redirect_stdout(io.StringIO()):
        if any("tensorflow" in module.split(".") or module.startswith("tf_keras")
               for module in _keras_modules(model)):  # fmt: skip
            tensorflow: Foreign = importlib.import_module("tensorflow")
            return bytes(tensorflow.lite.TFLiteConverter.from_keras_model(model).convert()), name
        _call_once(model, example_inputs)
        with tempfile.TemporaryDirectory(prefix="glowmcu-") as folder:
            file = Path(folder) / "model.onnx"
            model.export(str(file), format="onnx", verbose=False)
            if importlib.util.find_spec("onnx") is None:
                return file.read_bytes(), name
            onnx: Foreign = importlib.import_module("onnx")
            return _stripped(onnx.load(str(file))), name


def _call_once(model: Foreign, example_inputs: object) -> None:
    """A model of Keras 3 can be exported when it was called once: on examples, or on zeros if
    it knows its inputs' shapes (sizes that are open are 1).
    """
    if not callable(model):
        return
    if example_inputs is None:
        known = getattr(model, "inputs", None) or ()
        arrays: list[object] = [
            np.zeros([size or 1 for size in value.shape], str(value.dtype)) for value in known
        ]
    elif isinstance(example_inputs, Sequence):
        arrays = list(example_inputs)
    else:
        arrays = [example_inputs]
    if arrays:
        model(arrays[0] if len(arrays) == 1 else arrays)


def _keras_modules(model: object) -> list[str]:
    modules = [kind.__module__ for kind in type(model).__mro__]
    is_keras = any(
        module.split(".")[0] in _KERAS or module.startswith("tensorflow.") for module in modules
    )
    return modules if is_keras else []


def _expect_onnx() -> None:
    if importlib.util.find_spec("onnx") is None:
        message = "a model of PyTorch comes by way of ONNX, which needs the onnx package"
        raise error("GM109", message, hint=installation.extra("onnx"))


@contextmanager
def _in_eval_mode(module: Foreign, torch: Foreign) -> Iterator[Foreign]:
    """The module itself, its flags restored afterwards, or a copy if it is not on the CPU."""
    tensors = (*module.parameters(), *module.buffers())
    if any(tensor.device.type != "cpu" for tensor in tensors):
        copy: Foreign = importlib.import_module("copy")
        module = copy.deepcopy(module).to(torch.device("cpu"))
    flags = [(part, part.training) for part in module.modules()]
    try:
        # Not eval(): a module may have its own idea of that, and of the way back.
        for part, _ in flags:
            part.training = False
        yield module
    finally:
        for part, flag in flags:
            part.training = flag


def _tensors(
    given: object, floats: Foreign, torch: Foreign
) -> tuple[tuple[Foreign, ...], dict[str, Foreign]]:
    """Arguments in order and by name. A float64 array of numpy, its default, takes the module's
    type.
    """

    def tensor(value: object) -> Foreign:
        if isinstance(value, np.ndarray):
            made = torch.from_numpy(np.ascontiguousarray(value))
            return made.to(floats) if value.dtype == np.float64 else made
        if isinstance(value, torch.Tensor):
            return value.detach().to("cpu")
        return value

    if isinstance(given, Mapping):
        return (), {str(name): tensor(value) for name, value in given.items()}
    if isinstance(given, Sequence) and not isinstance(given, str):
        return tuple(tensor(value) for value in given), {}
    return (tensor(given),), {}


def _is_script(module: Foreign, torch: Foreign) -> bool:
    return isinstance(module, torch.jit.ScriptModule)


def _by_older_exporter(
    module: Foreign,
    args: tuple[Foreign, ...],
    kwargs: dict[str, Foreign],
    torch: Foreign,
    cause: Exception,
) -> bytes:
    """A program that the newer exporter understood, and has no ONNX for one operator of. That it
    branches on no data is known by then, so that nothing is lost by tracing.
    """
    try:
        return _by_tracing(module, args, kwargs, torch)
    except Exception:  # noqa: BLE001 - the first of both says more
        raise cause from cause.__cause__


def _by_tracing(
    module: Foreign, args: tuple[Foreign, ...], kwargs: dict[str, Foreign], torch: Foreign
) -> bytes:
    """The older exporter, which needs no onnxscript."""
    file = io.BytesIO()
    names = _argument_names(module, args, kwargs, torch)
    with _without_fast_paths(torch), redirect_stdout(io.StringIO()):
        torch.onnx.export(
            module, args, file, kwargs=kwargs or None, dynamo=False, input_names=names
        )
    onnx: Foreign = importlib.import_module("onnx")
    return _stripped(onnx.load_model_from_string(file.getvalue()))


def _argument_names(
    module: Foreign, args: tuple[Foreign, ...], kwargs: dict[str, Foreign], torch: Foreign
) -> list[str] | None:
    """What `forward` calls its tensors, as the newer exporter does; None where that is unclear."""
    if _is_script(module, torch) or not all(
        isinstance(value, torch.Tensor) for value in (*args, *kwargs.values())
    ):
        return None
    names = list(inspect.signature(module.forward).parameters)
    return [*names[: len(args)], *kwargs] if len(args) <= len(names) else None


@contextmanager
def _without_fast_paths(torch: Foreign) -> Iterator[None]:
    """Attention as its operators: in one piece, as it runs without gradients, it has no ONNX."""
    attention = getattr(torch.backends, "mha", None)
    if attention is None:
        yield
        return
    before = attention.get_fastpath_enabled()
    attention.set_fastpath_enabled(False)
    try:
        yield
    finally:
        attention.set_fastpath_enabled(before)


def _without_traces(program: Foreign) -> bytes:
    return _stripped(program.model_proto)


def _stripped(proto: Foreign) -> bytes:
    """Without what depends on where the Python code stands: the same module gives the same bytes,
    also from another cell of a notebook.
    """
    _forget_traces(proto.graph)
    for function in proto.functions:
        _forget_traces(function)
    return onnx_bytes(proto)


def _forget_traces(graph: Foreign) -> None:
    values = [getattr(graph, name, ()) for name in ("input", "output", "value_info", "initializer")]
    # Of functions, inputs and outputs are names.
    items = [value for group in values for value in group if not isinstance(value, str)]
    for item in (graph, *graph.node, *items):
        for field in ("metadata_props", "doc_string"):
            if field in item.DESCRIPTOR.fields_by_name:
                item.ClearField(field)
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs) if attribute.type in (5, 10) else ():
                _forget_traces(inner)


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn whatever an exporter raises into GM118."""
    try:
        yield
    except (GlowmcuError, KeyboardInterrupt):
        raise
    except Exception as cause:
        raise _cannot_export(name, cause) from cause


def _cannot_export(name: str, cause: Exception) -> GlowmcuError:
    """The first exception of the chain: exporters wrap it in advice about themselves."""
    first: BaseException = cause
    while first.__cause__ is not None:
        first = first.__cause__
    lines = [line.strip() for line in str(first).splitlines() if line.strip()]
    said = f"{type(first).__name__}: {lines[0][:300]}" if lines else type(first).__name__
    return error(
        "GM118",
        f"the framework's own exporter cannot export the model: {said}",
        name,
        "export it yourself (torch.onnx.export, model.export, TFLiteConverter) and pass the file "
        "or its bytes; the whole message of the exporter is the cause of this one",
    )
