"""Records of parts of an ONNX file, as its reader makes them, for tests of what follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from glowmcu.frontend.onnx.container import InputRecord, NodeRecord, OnnxRecord
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.types import ElementType

onnx = pytest.importorskip("onnx", reason="pip install onnx")
F32 = ElementType.F32
Sizes = tuple[int | str | None, ...]


def node(
    inputs: Sequence[str] = ("x",), outputs: Sequence[str] = ("y",), name: str = "",
    kind: str = "Foo", **attributes: Any,
) -> NodeRecord:  # fmt: skip
    return NodeRecord(3, kind, "ai.onnx", name, tuple(inputs), tuple(outputs), attributes)


def record(
    inputs: Sequence[InputRecord] = (), outputs: Sequence[str] = (),
    nodes: Sequence[NodeRecord] = (), **data: Any,
) -> OnnxRecord:  # fmt: skip
    tensors = {
        name: onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in data.items()
    }
    return OnnxRecord(
        tuple(inputs), tuple(outputs), tuple(nodes), tensors, {"ai.onnx": 17}, None, {}
    )


def given(sizes: Sizes | None, name: str = "x", element: ElementType | None = F32) -> InputRecord:
    return InputRecord(name, element, "FLOAT" if element else "COMPLEX64", sizes)


def refused(call: Any, *arguments: Any) -> str:
    with pytest.raises(Unsupported) as caught:
        call(*arguments)
    problem = caught.value.problem("")
    return f"{problem.code} {problem.message}"
