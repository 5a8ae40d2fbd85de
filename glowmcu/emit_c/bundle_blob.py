"""The weights of a bundle as one blob, and what of its code a blob depends on."""

from __future__ import annotations

from glowmcu.emit_c.build_views import Layers
from glowmcu.emit_c.contract import libjit_closure
from glowmcu.emit_c.views import BundleView
from glowmcu.emit_c.weights_blob import BlobView, blob_view
from glowmcu.errors import error


def bundle_blob(view: BundleView, body: Layers) -> BlobView:
    """The constants in one piece. Raises GM627 without any, or where they go to several places."""
    if not body.arrays:
        raise _no_blob(view, "the model has no weights", "leave out --weights pointer")
    if any(array.region for array in body.arrays):
        problem = "weights in regions of the board are several pieces, and a pointer is to one"
        hint = "leave out --place weights=REGION, and give NAME_set_weights a blob anywhere"
        raise _no_blob(view, problem, hint)
    code = [function.text for function in body.functions]
    code += [*body.forms, *(step.call for step in body.steps)]
    code += libjit_closure(body.headers).values()
    borders = [
        (tensor.shape, tensor.c_type, tensor.scale, tensor.zero_point, tensor.offset)
        for tensor in (*view.inputs, *view.outputs)
    ]
    arena = [(buffer.symbol, buffer.offset, buffer.size_bytes) for buffer in view.buffers]
    facts = [borders, arena, view.rounding, view.name]
    return blob_view(view.name, body.arrays, body.fills, code, facts)


def _no_blob(view: BundleView, problem: str, hint: str) -> Exception:
    return error("GM627", f"--weights pointer: {problem}", view.model_file, hint)
