"""Nodes whose meaning is C of the user's: what both formats say of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from glowmcu.custom_c import CustomFile, Number, bring
from glowmcu.errors import Problem
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ops.custom_c import CustomC
from glowmcu.ops.defined import Defined, DefinedFunction


def custom_operation(
    kind: str, source: CustomFile, given: Mapping[str, Number], results: int
) -> CustomC | Defined | DefinedFunction:
    """The operator, with the model's attributes where it gives them. Raises GM106."""
    bring(source)
    count = len(source.result_dtypes)
    if results != count:
        raise Unsupported("GM106", f"{kind} has {results} results, {source.name} says {count}")
    # A number is of the default's kind: what a file stores as 1 may be meant as 1.0.
    numbers = tuple(
        type(default)(given.get(name, default)) for name, default in source.attributes.items()
    )
    if not source.is_definition:
        return CustomC(kind, source.name, source.text, numbers)
    operator = DefinedFunction if source.definition.is_function else Defined
    return operator(kind, source.name, source.text, numbers)


def unused_custom(
    custom: Mapping[str, CustomFile], used: Collection[str], foreign: Collection[str], file: str
) -> list[Problem]:
    """GM764 for C that no operator of the model is; `foreign` are those that could be meant."""
    hint = f"custom operators of the model: {', '.join(sorted(foreign))}"
    return [
        Problem(
            "GM764",
            f"--custom {kind}={custom[kind].name}: no operator of the model is called {kind!r}",
            file,
            hint if foreign else "the model has no custom operator",
        )
        for kind in custom
        if kind not in used
    ]
