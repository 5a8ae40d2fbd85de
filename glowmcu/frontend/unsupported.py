"""What an importer raises when an operator or tensor cannot become part of the graph."""

from __future__ import annotations

from glowmcu.errors import Problem
from glowmcu.ir.operation import OperationError, Signature

_QUANTIZED = (
    "have the converter keep this operator in float32, or convert the model in float and quantize "
    "it here by --samples"
)
_PLAIN = "cast what it reads to a type that it takes, in front of it"


class TypeRefused(OperationError):
    """Shapes fit; element types or scales do not."""

    def __init__(self, message: str, signature: Signature) -> None:
        super().__init__(message)
        types = (*signature.inputs, *signature.outputs)
        is_quantized = any(type_.quantization is not None for type_ in types)
        self.hint = _QUANTIZED if is_quantized else _PLAIN


class Unsupported(Exception):
    """Code, what was expected and got, and what to try next; the driver adds where."""

    def __init__(self, code: str, message: str, hint: str = "", bind: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.bind = code, message, hint, bind

    def problem(self, where: str) -> Problem:
        """The finding at its place."""
        return Problem(self.code, self.message, where, self.hint, self.bind)


def refused(name: str, cause: OperationError) -> Unsupported:
    """GM106: the operator `name` does not take what it is given."""
    hint = cause.hint if isinstance(cause, TypeRefused) else ""
    return Unsupported("GM106", f"{name}: {cause}", hint)
