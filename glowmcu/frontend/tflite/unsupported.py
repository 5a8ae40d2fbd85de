"""What to say about operators and models that cannot be imported, and what to try instead."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from glowmcu.errors import Problem
from glowmcu.frontend.tflite.container import OperatorRecord

_RECURRENT = "export it unrolled (Keras: unroll=True), so that it becomes ordinary layers"
#: What a converter offers instead, where a similar name would mislead.
_ALTERNATIVES = {
    "CONV_3D_TRANSPOSE": "TRANSPOSE_CONV and CONV_3D are supported",
    "LSTM": _RECURRENT,
}
#: Custom operators into which a vendor's compiler has put what it understood, by the beginning of
#: their names: whose they are, and what to do. The layers are in the file before that.
_COMPILED = {
    "edgetpu-custom-op": (
        "edgetpu_compiler put layers into it for an Edge TPU",
        "give the file that it read, without _edgetpu in its name",
    ),
    "ethos-u": (
        "Vela put layers into it for an Arm Ethos-U",
        "give the file that Vela read, with --accelerator ethos-u55-128 if that is to compute them",
    ),
    "NeutronGraph": ("NXP's converter put layers into it for a Neutron NPU", ""),
    "XC_": ("XMOS' compiler put it there for an xcore", ""),
}
_LIST = "`glowmcu ops` lists what is supported"


def unsupported_operator(op: OperatorRecord, where: str, known: Sequence[str]) -> Problem:
    """GM102 with the nearest thing that works."""
    kind, _, custom = op.name.partition(" ")
    if kind == "CUSTOM":
        return Problem(
            "GM102", f"custom operator {custom!r} is not supported", where, _custom_hint(custom)
        )
    return Problem("GM102", f"operator {op.name} is not supported", where, _hint(op.name, known))


def _hint(name: str, known: Sequence[str]) -> str:
    if name in _ALTERNATIVES:
        return f"{_ALTERNATIVES[name]}; {_LIST}"
    family = name.partition("_")[0]
    candidates = [other for other in known if other.partition("_")[0] == family]
    near = difflib.get_close_matches(name, candidates, n=2, cutoff=0.0)
    return f"similar and supported: {', '.join(near)}; {_LIST}" if near else _LIST


def _custom_hint(custom: str) -> str:
    if custom.startswith("Flex"):
        return (
            f"{custom[4:]} came in as a select TensorFlow operator: export with "
            "TFLITE_BUILTINS_INT8 only, or give the .onnx that the file was made from"
        )
    for beginning, (what, remedy) in _COMPILED.items():
        if custom.startswith(beginning):
            return f"{what}: {remedy or 'give the file that it read'}"
    if "PostProcess" in custom:
        return "cut the model before it and run it in the application, on the boxes and scores"
    return (
        f"export the model with builtin operators only; {_LIST}; C of yours can say what it "
        f"means: --custom {custom if custom.isidentifier() else 'NAME'}=FILE.c"
    )
