"""What a layer was called by who made the model, out of what a converter made of that.

Converters join the names of all that they fused: `m/relu/Relu;m/bn/Fused;m/conv2d_4/Conv2D` is the
layer `conv2d_4`. Of a path only the parts that are a layer's own say something.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_SHORT = 24
#: Operators within a layer, as TensorFlow names them: they say nothing of which layer it is.
_PARTS_OF_A_LAYER = re.compile(
    r"(Relu6?|Conv2D|BiasAdd|MatMul|depthwise|FusedBatchNormV3|ReadVariableOp|resource|AvgPool"
    r"|MaxPool|Softmax|Add|Mean|Reshape)(_?\d+)?"
)
_LIKENESS = 7


def layer_names(layers: Sequence[tuple[str, str]]) -> list[str]:
    """Of `(operator, name)` each: what tells the layers apart, whole names where that is short."""
    parts = [_telling_parts(op, name) for op, name in layers]
    first = Counter(found[0] for found in parts)
    known = Counter(part for found in parts for part in found)
    names = []
    for found, (_, name) in zip(parts, layers, strict=True):
        alone = [part for part in found if known[part] == 1]
        names.append(found[0] if first[found[0]] == 1 else (alone or [name])[0])
    return names


def _telling_parts(op: str, name: str) -> list[str]:
    """Parts of the name that can stand for it, what is most about this operator first."""
    if len(name) <= _SHORT and ";" not in name:
        return [name]
    paths = [path.split("/") for path in name.split(";")]
    common = paths[0][0] if len({path[0] for path in paths}) == 1 else ""
    parts = Counter(part for path in paths for part in path if part and part != common)
    telling = [part for part in parts if not _PARTS_OF_A_LAYER.fullmatch(part)]
    # The last path is that of the operator itself.
    telling.reverse()
    return sorted(telling, key=lambda part: (not _like(part, op), -parts[part])) or [name]


def _like(part: str, op: str) -> bool:
    return _plain(part).startswith(_plain(op)[:_LIKENESS])


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
