"""Which joins along the width need no copy: those of what runs make for the join alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from glowmcu.ir.graph import Value
from glowmcu.ir.program import View, ViewRole
from glowmcu.memplan.share_columns import share_columns
from glowmcu.ops.elementwise import Add
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.pooling import MaxPool2D
from tests.ir.graphs import GraphBuilder
from tests.lowering.layers import UNIT, unit
from tests.memplan.streamed import program_of

#: A joining of parts, with what the graph gives out besides.
Joining = Callable[["Image"], tuple[Value, ...]]


class Image(GraphBuilder):
    """An image of 4 rows, 6 columns and 2 channels, and maxima of windows in it."""

    def __init__(self, batch: int = 1) -> None:
        super().__init__()
        self.image = super().input(unit(batch, 4, 6, 2), "image")

    def part(self, width: int = 1) -> Value:
        return self.add(MaxPool2D((1, width)), self.image)

    def join(self, *parts: Value, axis: int = 2) -> Value:
        return self.add(Concatenation(axis), *parts)


def one_of_the_parts_again(image: Image) -> tuple[Value, ...]:
    part = image.part()
    return (image.join(part, image.part(), part),)


def a_part_that_is_given_out(image: Image) -> tuple[Value, ...]:
    part = image.part()
    return image.join(image.part(), part), part


def a_part_that_another_reads(image: Image) -> tuple[Value, ...]:
    part = image.part()
    return image.join(part, image.part()), image.add(MaxPool2D((2, 2)), part)


def a_constant(image: Image) -> tuple[Value, ...]:
    return (image.join(image.part(), image.constant(np.ones((1, 4, 1, 2), np.int8), UNIT)),)


#: Joins, and where in a row each of the two parts begins; nothing where they are copied.
JOINS: dict[str, tuple[Joining, list[int]]] = {
    "columns": (lambda i: (i.join(i.part(), i.part(3)),), [0, 12]),
    "narrow columns first": (lambda i: (i.join(i.part(3), i.part()),), [0, 8]),
    "rows": (lambda i: (i.join(i.part(), i.part(), axis=1),), []),
    "channels": (lambda i: (i.join(i.part(), i.part(), axis=3),), []),
    "a sum of parts": (lambda i: (i.add(Add(), i.part(), i.part()),), []),
    "the input": (lambda i: (i.join(i.image, i.part()),), []),
    "a part twice": (one_of_the_parts_again, []),
    "a part that is given out": (a_part_that_is_given_out, []),
    "a part that another reads": (a_part_that_another_reads, []),
    "a constant": (a_constant, []),
}


def column_views(image: Image, *outputs: Value) -> list[View]:
    program = share_columns(program_of(image.finish(*outputs)))
    views = [view for view in program.views.values() if view.role is ViewRole.COLUMNS]
    joins = [run for run in program.runs if isinstance(run.node.op, Concatenation)]
    assert not (views and joins)
    return views


@pytest.mark.parametrize("name", JOINS)
def test_columns_are_in_place_where_every_part_is_made_for_the_join_alone(name: str) -> None:
    make, offsets = JOINS[name]
    image = Image()
    views = column_views(image, *make(image))
    assert [view.offset_bytes for view in views] == offsets
    assert len({view.base for view in views}) == (1 if offsets else 0)


def test_columns_of_several_images_are_copied() -> None:
    image = Image(batch=2)
    assert column_views(image, image.join(image.part(), image.part())) == []
