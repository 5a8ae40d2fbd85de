"""Inputs that are strings become numbers: the place of a string among all that encoders know.

A string may be chosen from, reshaped and joined with others; what reads it then is an encoder, one
hot or by number, and compares numbers. Nothing else is done with it.
"""

from __future__ import annotations

from dataclasses import replace

from glowmcu.frontend.onnx.container import InputRecord, NodeRecord
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.types import ElementType

#: What leaves strings as they are.
_MOVES = {
    "ArrayFeatureExtractor", "Concat", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Split",
    "Squeeze", "Transpose", "Unsqueeze",
}  # fmt: skip
#: Encoders, with the attributes for strings and for numbers.
_ENCODERS = {
    "OneHotEncoder": ("cats_strings", "cats_int64s"),
    "LabelEncoder": ("keys_strings", "keys_int64s"),
}


class Categories:
    """The strings that the model's encoders know, in the order of the file."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._strings = set[str]()
        self._inputs = list[str]()

    @property
    def names(self) -> tuple[str, ...]:
        """Each at its number."""
        return tuple(self._numbers)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Those of the model that are strings."""
        return tuple(self._inputs)

    def input(self, record: InputRecord) -> InputRecord:
        """A string input as a number of int32; others as they are."""
        if record.type_name != "STRING":
            return record
        self._strings.add(record.name)
        self._inputs.append(record.name)
        return replace(record, element=ElementType.I32)

    def read(self, op: NodeRecord) -> NodeRecord:
        """The node, of numbers where it reads strings. Raises GM105 for what does other things."""
        if self._strings.isdisjoint(op.inputs):
            return op
        if op.kind in _MOVES:
            self._strings.update(name for name in op.outputs if name)
            return op
        found = _ENCODERS.get(op.kind)
        names = [_text(item) for item in op.attributes.get(found[0]) or []] if found else []
        if found is None or not names or op.attributes.get(found[1]):
            raise Unsupported(
                "GM105", f"{op.kind} of strings, which are numbers of categories in C",
                "encode them by OneHotEncoder or OrdinalEncoder, or in the application",
            )  # fmt: skip
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in names]
        kept = {name: item for name, item in op.attributes.items() if name != found[0]}
        return replace(op, attributes={**kept, found[1]: numbers})


def _text(item: object) -> str:
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)
