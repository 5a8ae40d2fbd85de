"""Random networks: the layers of `random_layers.py`, wired to one another.

A layer's function asks for its inputs by shape and quantization. `_Network` gives it an earlier
tensor instead of a new input, cut, repeated, reshaped and requantized until it fits, so that
networks have the movement between layers that planners have to get right. A layer may be drawn
again with the same constants on other inputs. Outputs are the tensors that nothing reads, some that
are read as well, and now and then an input itself.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from benchmarks.random_draws import CHANNELS, Generator, pick, zero_point
from benchmarks.random_layers import FAMILIES
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_options import OptionValue
from glowmcu.frontend.tflite.writer_tables import TensorRef

#: A tensor is repeated at most this many times to be as large as a layer wants it.
_MOST_REPEATED = 8
_MOST_LAYERS = 12
#: Layers whose weights TensorFlow Lite Micro takes in four bits, drawn twice as often, and those
#: with weights of which it takes eight alone.
_FOUR_BIT_FAMILIES = ("conv_2d", "depthwise_conv_2d", "fully_connected")
_WITHOUT_FOUR_BITS = ("transpose_conv_2d",)


class _Network(ModelBuilder):
    """The builder that layers see: inputs come from earlier tensors, outputs stay inside."""

    def __init__(self, random: Generator) -> None:
        super().__init__()
        self.random = random
        self.model_inputs: list[TensorRef] = []
        self.values: list[TensorRef] = []
        self.unread: dict[int, TensorRef] = {}
        self._constants: dict[tuple[object, ...], TensorRef] = {}

    def input(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        scale: float | Sequence[float] | None = None,
        zero_point: int | Sequence[int] = 0,
        *,
        shape_signature: Sequence[int] = (),
    ) -> TensorRef:
        """An earlier tensor where one can be made to fit, else the model's next input."""
        wanted = self.tensor(name, shape, dtype, scale, zero_point)
        least = prod(shape) / _MOST_REPEATED
        fitting = [v for v in self.values if v.dtype == dtype and prod(v.shape) >= least]
        if fitting and self.random.random() < 0.85:
            recent = fitting[-4:] if self.random.random() < 0.7 else fitting
            self._fit(recent[int(self.random.integers(len(recent)))], wanted)
            return wanted
        self._inputs.append(wanted.index)
        self.model_inputs.append(wanted)
        self.values.append(wanted)
        return wanted

    def constant(
        self,
        name: str,
        values: npt.ArrayLike,
        scale: float | Sequence[float] | None = None,
        zero_point: int | Sequence[int] = 0,
        axis: int = 0,
        *,
        dtype: str = "",
    ) -> TensorRef:
        """Equal constants are one tensor, as converters write shared weights."""
        array = np.asarray(values)
        scales = tuple(np.atleast_1d(scale)) if scale is not None else None
        key = (array.tobytes(), array.shape, array.dtype.str, scales, str(zero_point), axis, dtype)
        if key not in self._constants:
            made = super().constant(name, values, scale, zero_point, axis, dtype=dtype)
            self._constants[key] = made
        return self._constants[key]

    def op(
        self,
        kind: str,
        inputs: Sequence[TensorRef | None],
        outputs: Sequence[TensorRef],
        options: Mapping[str, OptionValue] | None = None,
        *,
        version: int | None = None,
        intermediates: Sequence[TensorRef] = (),
    ) -> None:
        """Appends an operator and remembers what has been read."""
        for ref in inputs:
            if ref is not None:
                self.unread.pop(ref.index, None)
        super().op(kind, inputs, outputs, options, version=version)

    def output(self, ref: TensorRef) -> None:
        """A layer's result: others may read it."""
        self.values.append(ref)
        self.unread[ref.index] = ref

    def finish_network(self) -> bytes:
        """The file, with the outputs chosen."""
        outputs = dict(self.unread)
        for ref in self.values:
            chance = 0.02 if ref in self.model_inputs else 0.08
            if self.random.random() < chance:
                outputs[ref.index] = ref
        for ref in outputs.values():
            super().output(ref)
        return self.finish()

    def finish_carried(self) -> tuple[bytes, str, str]:
        """The file, and an input and an output of one type."""
        fitting = [ref for ref in self.model_inputs if ref.dtype == "int8"] or self.model_inputs
        x = fitting[int(self.random.integers(len(fitting)))]
        y = self.tensor(
            f"next_{x.name}", x.shape, x.dtype, _only(x.scale), int(_only(x.zero_point))
        )
        least = prod(x.shape) / _MOST_REPEATED
        known = [v for v in self.values if v.dtype == x.dtype and prod(v.shape) >= least]
        self._fit(known[int(self.random.integers(len(known)))], y)
        self.unread[y.index] = y
        return self.finish_network(), x.name, y.name

    def _fit(self, given: TensorRef, wanted: TensorRef) -> None:
        """Operators that make `wanted` of `given`."""
        steps = [*self._resized(given, prod(wanted.shape))] if given.shape != wanted.shape else []
        at = steps[-1] if steps else given
        numbers = at.scale, at.zero_point
        if numbers == (wanted.scale, wanted.zero_point) or wanted.dtype == "bool":
            self._reshape(at, wanted)
            return
        if at.shape != wanted.shape:
            shaped = self._like(given, wanted.shape, "shaped")
            self._reshape(at, shaped)
            at = shaped
        self.op("QUANTIZE", [at], [wanted])

    def _resized(self, given: TensorRef, count: int) -> Sequence[TensorRef]:
        """`given` in one row, repeated and cut to `count` elements."""
        have = prod(given.shape)
        if have == count:
            return []
        flat = self._like(given, (1, have), "flat")
        self._reshape(given, flat)
        steps = [flat]
        if have < count:
            times = -(-count // have)
            tiled = self._like(given, (1, times * have), "tiled")
            self.op("CONCATENATION", [flat] * times, [tiled], {"axis": 1})
            steps.append(tiled)
        if prod(steps[-1].shape) > count:
            start = int(self.random.integers(0, prod(steps[-1].shape) - count + 1))
            cut = self._like(given, (1, count), "cut")
            places = [np.array([0, start], np.int32), np.array([1, count], np.int32)]
            constants = [self.constant(f"at{cut.index}_{i}", p) for i, p in enumerate(places)]
            self.op("SLICE", [steps[-1], *constants], [cut], version=1)
            steps.append(cut)
        return steps

    def _reshape(self, given: TensorRef, wanted: TensorRef) -> None:
        shape = self.constant(f"shape{wanted.index}", np.array(wanted.shape, np.int32))
        self.op("RESHAPE", [given, shape], [wanted])

    def _like(self, given: TensorRef, shape: Sequence[int], what: str) -> TensorRef:
        scale = given.scale[0] if given.scale else None
        point = given.zero_point[0] if given.zero_point else 0
        return self.tensor(f"{what}{len(self._tensors)}", shape, given.dtype, scale, point)


class FourBitBuilder(ModelBuilder):
    """A builder of files whose weights, which are called w_…, lose their low four bits."""

    def constant(
        self,
        name: str,
        values: npt.ArrayLike,
        scale: float | Sequence[float] | None = None,
        zero_point: int | Sequence[int] = 0,
        axis: int = 0,
        *,
        dtype: str = "",
    ) -> TensorRef:
        """What a layer calls its weights."""
        array = np.asarray(values)
        if name.startswith("w_") and array.dtype == np.int8:
            factors = 16.0 * np.atleast_1d(np.asarray(scale, np.float64))
            wide = factors.tolist() if factors.size > 1 else float(factors[0])
            narrow = np.maximum(array // 16, self.draw_least())
            return super().constant(name, narrow, wide, zero_point, axis, dtype="int4")
        return super().constant(name, values, scale, zero_point, axis, dtype=dtype)

    def draw_least(self) -> int:
        """The least weight of a layer."""
        return -7


class _FourBitNetwork(FourBitBuilder, _Network):
    def draw_least(self) -> int:
        """Of most, as converters have it."""
        return -7 if self.random.random() < 0.8 else -8


def _only(given: Sequence[float] | None) -> float:
    return given[0] if given else 0


def random_network(seed: int) -> bytes:
    """A `.tflite` network of the seed: one to twelve layers, int8 but for some results."""
    random = np.random.default_rng([4711, seed])
    network = _Network(random)
    _add_layers(random, network, tuple(FAMILIES.values()))
    return network.finish_network()


def random_four_bit_network(seed: int) -> bytes:
    """The same with weights of four bits in the file, two to a byte, where the oracle has them."""
    random = np.random.default_rng([4713, seed])
    network = _FourBitNetwork(random)
    families = [add for name, add in FAMILIES.items() if name not in _WITHOUT_FOUR_BITS]
    _add_layers(random, network, (*families, *(FAMILIES[name] for name in _FOUR_BIT_FAMILIES)))
    return network.finish_network()


def random_carried_network(seed: int) -> tuple[bytes, str, str]:
    """The same with an output of the type of an input, which may be the input's next value; and
    the names of both.
    """
    random = np.random.default_rng([4714, seed])
    network = _Network(random)
    _add_layers(random, network, tuple(FAMILIES.values()))
    return (*network.finish_carried(),)


def _add_layers(
    random: Generator, network: _Network, families: tuple[Callable[..., None], ...]
) -> None:
    drawn: list[tuple[Callable[..., None], Generator]] = []
    for number in range(int(random.integers(1, _MOST_LAYERS + 1))):
        if drawn and random.random() < 0.12:
            add, again = drawn[int(random.integers(len(drawn)))]
            add(copy.deepcopy(again), network, f"_{number}")
            continue
        add = pick(random, (*families, shapes, shapes, shapes))
        layer_random = np.random.default_rng(random.integers(0, 2**32, 4))
        drawn.append((add, copy.deepcopy(layer_random)))
        add(layer_random, network, f"_{number}")


def shapes(random: Generator, model: ModelBuilder, suffix: str) -> None:
    """SPLIT, PACK, UNPACK, EXPAND_DIMS, SQUEEZE, ARG_MAX: layers that change rank or count."""
    shape = (1, *(int(n) for n in random.integers(1, 6, 2)), int(pick(random, CHANNELS[:12])))
    point, kind = zero_point(random), int(random.integers(6))

    def tensor(name: str, of_shape: Sequence[int]) -> TensorRef:
        return model.tensor(f"{name}{suffix}", of_shape, "int8", 0.05, point)

    if kind == 0:
        parts = int(random.integers(1, 4))
        x = model.input(f"x{suffix}", (*shape[:3], shape[3] * parts), "int8", 0.05, point)
        axis = model.constant(f"axis{suffix}", np.array(3, np.int32))
        results = [tensor(f"y{i}", shape) for i in range(parts)]
        model.op("SPLIT", [axis, x], results, {"num_splits": parts})
    elif kind == 1:
        operands = [
            model.input(f"x{i}{suffix}", shape[1:], "int8", 0.05, point)
            for i in range(int(random.integers(1, 4)))
        ]
        results = [tensor("y", (len(operands), *shape[1:]))]
        model.op("PACK", operands, results, {"values_count": len(operands), "axis": 0})
    elif kind == 2:
        x = model.input(f"x{suffix}", shape, "int8", 0.05, point)
        results = [tensor(f"y{i}", (shape[0], *shape[2:])) for i in range(shape[1])]
        model.op("UNPACK", [x], results, {"num": shape[1], "axis": 1})
    elif kind == 3:
        x = model.input(f"x{suffix}", shape[1:], "int8", 0.05, point)
        axis = model.constant(f"axis{suffix}", np.array(0, np.int32))
        results = [tensor("y", shape)]
        model.op("EXPAND_DIMS", [x, axis], results)
    elif kind == 4:
        x = model.input(f"x{suffix}", shape, "int8", 0.05, point)
        results = [tensor("y", shape[1:])]
        model.op("SQUEEZE", [x], results, {"squeeze_dims": [0]})
    else:
        x = model.input(f"x{suffix}", shape, "int8", 0.05, point)
        axis = model.constant(f"axis{suffix}", np.array(3, np.int32))
        results = [model.tensor(f"y{suffix}", shape[:3], "int32")]
        model.op("ARG_MAX", [x, axis], results, {"output_type": "INT32"})
    for result in results:
        model.output(result)
