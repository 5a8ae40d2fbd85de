"""One step of RNN, GRU and LSTM on real numbers, and the functions that their gates go through."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, Operation, Rounding, Signature
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass

States = tuple[Array, ...]


@dataclass(frozen=True)
class CellFunction:
    """`scale_out * operation(scale_in * x) + offset`; without an operation x itself."""

    operation: Operation | None
    scale_in: float = 1.0
    scale_out: float = 1.0
    offset: float = 0.0

    def apply(self, x: Array) -> Array:
        """Of float32, in float32."""
        if self.scale_in != 1.0 or self.operation is None:
            x = np.asarray(x * np.float32(self.scale_in), np.float32)
        if self.operation is not None:
            type_ = TensorType(x.shape, ElementType.F32)
            signature = Signature((type_,), (type_,))
            (x,) = self.operation.evaluate((x,), signature, Rounding.DOUBLE)
        if (self.scale_out, self.offset) == (1.0, 0.0):
            return x
        return np.asarray(x * np.float32(self.scale_out) + np.float32(self.offset), np.float32)


class RealCell(ABC):
    """A cell of one direction. `parts` are its weights (G H, I), recurrent weights (G H, H) and
    biases (G H,), and the peepholes (3 H,) by name.
    """

    gates: ClassVar[int]
    functions: ClassVar[int]

    def __init__(
        self,
        parts: Mapping[str, Array],
        functions: Sequence[CellFunction],
        clip: float,
        resets_after: bool,
        couples_gates: bool,
    ) -> None:
        self.parts = parts
        self._functions = functions
        self._clip = np.float32(clip)
        self.resets_after = resets_after
        self.couples_gates = couples_gates
        self.recurrent = np.ascontiguousarray(parts["recurrent"].T)

    def activate(self, index: int, x: Array) -> Array:
        """Function `index` of x, which is clipped before."""
        if self._clip > 0:
            x = np.clip(x, -self._clip, self._clip)
        return self.show(index, x)

    def show(self, index: int, x: Array) -> Array:
        """Function `index` of x as it is."""
        return self._functions[index].apply(x)

    @abstractmethod
    def step(self, products: Array, states: States) -> States:
        """The states after a step; `products` (B, G H) are W x + b."""


class RnnCell(RealCell):
    """h' = f(W x + R h + b)."""

    gates, functions = 1, 1

    def step(self, products: Array, states: States) -> States:
        return (self.activate(0, products + states[0] @ self.recurrent),)


class GruCell(RealCell):
    """h' = n + z * (h - n)."""

    gates, functions = 3, 2

    def step(self, products: Array, states: States) -> States:
        (h,) = states
        size = h.shape[1]
        if self.resets_after:
            kept = h @ self.recurrent + self.parts["recurrent_bias"]
            opened = self.activate(0, products[:, : 2 * size] + kept[:, : 2 * size])
            update, reset = opened[:, :size], opened[:, size:]
            new = self.activate(1, products[:, 2 * size :] + reset * kept[:, 2 * size :])
        else:
            gates, fresh = self.recurrent[:, : 2 * size], self.recurrent[:, 2 * size :]
            opened = self.activate(0, products[:, : 2 * size] + h @ gates)
            update, reset = opened[:, :size], opened[:, size:]
            new = self.activate(1, products[:, 2 * size :] + (reset * h) @ fresh)
        return (new + update * (h - new),)


class LstmCell(RealCell):
    """c' = f * c + i * g, h' = o * h(c')."""

    gates, functions = 4, 3

    def step(self, products: Array, states: States) -> States:
        h, c = states
        i, o, f, g = np.split(products + h @ self.recurrent, 4, axis=1)
        peepholes = self.parts.get("peepholes")
        none = np.zeros((3, 1), np.float32)
        p_i, p_o, p_f = none if peepholes is None else np.split(peepholes, 3)
        opened = self.activate(0, i + p_i * c)
        kept = 1 - opened if self.couples_gates else self.activate(0, f + p_f * c)
        cell = kept * c + opened * self.activate(1, g)
        shown = self.activate(0, o + p_o * cell)
        return shown * self.show(2, cell), cell


CELLS: dict[str, type[RealCell]] = {"rnn": RnnCell, "gru": GruCell, "lstm": LstmCell}


class RealLayer:
    """One direction of a layer on real numbers."""

    def __init__(self, cell: RealCell) -> None:
        self._cell = cell

    def input_products(self, x: Array) -> Array:
        """W x + b of (n, B, I)."""
        products: Array = x @ self._cell.parts["weights"].T + self._cell.parts["bias"]
        return products

    def step(self, products: Array, states: States) -> States:
        """The states after a step."""
        with np.errstate(all="ignore"):
            return self._cell.step(products, states)

    def show(self, hidden: Array) -> Array:
        """The hidden state as results have it."""
        return hidden
