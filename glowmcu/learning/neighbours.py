"""Classes by the nearest of what was seen of them last: learning without gradients.

The last K features of each class are kept as they were, in a ring; a score is the distance to
the nearest of them, squared and negative. Where a class looks in several ways, their mean is like
none of them.
Source: Cover and Hart, Nearest Neighbor Pattern Classification, 1967.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.graph import Graph
from glowmcu.ir.types import ElementType
from glowmcu.learning.features import UNSEEN, head_of, state_of
from glowmcu.ops.comparison import Equal, Select
from glowmcu.ops.distances import SquaredDistances
from glowmcu.ops.elementwise import Add, Maximum
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.reduction import ReduceMin
from glowmcu.ops.update_slice import DynamicUpdateSlice

#: Where nothing was seen: so far away that the square is beyond `UNSEEN`, and finite.
_FAR = 2e15


def with_neighbours(graph: Graph, classes: int, kept: int, file_name: str) -> Graph:
    """`graph` with the last `kept` features of each class for a layer. Raises GM360, GM362."""
    head = head_of(graph, "neighbours", file_name)
    infer, learn, length = head.infer, head.learn, head.length
    seen = state_of("neighbours/seen", np.full((classes, kept, length), _FAR, np.float32))
    places = state_of("neighbours/places", np.zeros((classes, 1), np.int32))
    listed = infer.reshape(seen.value, (classes * kept, length))
    distances = infer.add(SquaredDistances(), head.features, listed)
    nearest = infer.add(ReduceMin((1,), True), infer.reshape(distances, (classes, kept)))
    bounded = infer.add(Maximum(), infer.scaled(nearest, -1.0), infer.number(UNSEEN))
    scores = infer.reshape(bounded, (1, classes))

    def number(value: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
        return np.full((1,), value, np.int32)

    i32 = ElementType.I32
    flat = learn.typed_reshape(places.value, (classes,))
    place = learn.add(Gather(0), flat, head.label, element=i32)
    starts = learn.add(Concatenation(0), head.label, place, learn.constant(number(0)), element=i32)
    one = learn.reshape(head.features, (1, 1, length))
    renewed = learn.add(DynamicUpdateSlice(), seen.value, one, starts)
    behind = learn.add(Add(), places.value, learn.constant(number(1)), element=i32)
    is_end = learn.add(Equal(), behind, learn.constant(number(kept)), element=ElementType.BOOL)
    following = learn.add(Select(), is_end, learn.constant(number(0)), behind, element=i32)
    moved = head.is_class(classes, following, places.value)
    is_it = head.is_class(classes, learn.number(1.0), learn.number(0.0))
    known = learn.where(learn.greater(bounded, learn.number(UNSEEN)), nearest)
    loss = learn.reshape(learn.sum(learn.times(is_it, known), (0, 1)), (1,))
    return head.finished("distance", scores, loss, {seen: renewed, places: moved}, classes)
