"""How many operands and results ONNX gives an operator: runtimes refuse a file with more."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.unsupported import Unsupported


def expect_counts(op: NodeRecord, opsets: Mapping[str, int]) -> None:
    """GM105 for more than there are in the opset; operators that ONNX does not define have any."""
    import onnx.defs

    version = opsets.get(op.domain, 0)
    try:
        schema = onnx.defs.get_schema(op.kind, version, op.domain.removesuffix("ai.onnx"))
    except onnx.defs.SchemaError:
        return
    for what, names, most in (
        ("operands", op.inputs, schema.max_input),
        ("results", op.outputs, schema.max_output),
    ):
        if len(names) > most:
            raise Unsupported(
                "GM105", f"{op.kind} has {len(names)} {what}, at most {most} in opset {version}"
            )
