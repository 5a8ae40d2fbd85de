"""A stream of invocations of a bundle: what goes into one and comes out of it, in numpy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from glowmcu.argument_types import arguments_checked
from glowmcu.column_names import by_input
from glowmcu.errors import error
from glowmcu.manifest import Manifest

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from glowmcu.verify.measurement import Array, Measurement
    from glowmcu.verify.measurement import Session as ExecutorSession


class Session:
    """One stream of a bundle's invocations, made by `Bundle.session`.

    >>> session = glowmcu.compile("digits_int8.tflite", output="build/digits").session()
    >>> (scores,) = session.run([np.load("seven.npy")])
    >>> session.reset()
    """

    def __init__(self, steps: ExecutorSession, manifest: Manifest) -> None:
        self._steps = steps
        self._manifest = manifest

    @arguments_checked
    def run(
        self, inputs: Sequence[ArrayLike] | Mapping[str, ArrayLike], real: bool = False
    ) -> list[Array]:
        """Outputs of the next invocation, in model order; arguments are as for `Bundle.run`.

        >>> session = glowmcu.load("build/digits").session()
        >>> [output.shape for output in session.run([np.load("seven.npy")])]
        [(1, 10)]
        """
        return list(self.measure(inputs, real).outputs)

    @arguments_checked
    def measure(
        self, inputs: Sequence[ArrayLike] | Mapping[str, ArrayLike], real: bool = False
    ) -> Measurement:
        """The next invocation with what it costs, where the executor can tell.

        >>> session = glowmcu.load("build/digits").session()
        >>> session.measure([np.load("seven.npy")]).cycles is None  # this computer is no MCU
        True
        """
        arrays = inputs_in_order(self._manifest, inputs)
        measured = self._steps.measure(stored_inputs(self._manifest, arrays, real))
        return real_outputs(self._manifest, measured, len(arrays), real)

    @arguments_checked
    def train(
        self,
        inputs: Sequence[ArrayLike] | Mapping[str, ArrayLike],
        label: int | ArrayLike,
        real: bool = False,
    ) -> float:
        """One inference and one step of learning; the loss before the step.

        `label` is a class, counted from 0; of a bundle that learns by squared error a target of
        the output's shape, float32. Raises GM604, GM630.

        >>> bundle = glowmcu.compile("digits_int8.tflite", train="last=1", output="build/learns")
        >>> session = bundle.session()
        >>> losses = [session.train([np.load("seven.npy")], 1) for _ in range(3)]  # not as before
        >>> losses[0] > losses[1] > losses[2]
        True
        """
        training = self._manifest.training
        asked = asked_to_learn(self._manifest, label)
        assert training is not None
        arrays = inputs_in_order(self._manifest, inputs)
        if not _infers(self._manifest, len(arrays)):
            own = [e.name for e in self._manifest.inputs if e.name not in training.tensors]
            raise error(
                "GM604",
                f"the model has {len(own)} inputs ({', '.join(own)}), got {len(arrays)}",
                self._manifest.name,
                "train([input, …], label): what is to be learnt is given by itself",
            )
        outputs = self.measure([*arrays, *asked], real).outputs
        names = [entry.name for entry in self._manifest.outputs]
        return float(outputs[names.index(training.loss)][0])

    def reset(self) -> None:
        """Begin a new stream: states are what they were at first.

        >>> session = glowmcu.load("build/digits").session()
        >>> session.reset()
        """
        self._steps.reset()


def _own_array(given: ArrayLike, name: str, manifest: Manifest) -> Array:
    """An array of numpy for an input; of strings their numbers, NaN for what is masked."""
    import numpy as np

    from glowmcu.string_categories import numbered

    if isinstance(given, np.ma.MaskedArray) and np.any(given.mask):
        given = np.where(given.mask, np.float32(np.nan), given.data)
    array = np.asarray(given)
    return numbered(array, manifest.categories) if name in manifest.string_inputs else array


def inputs_in_order(manifest: Manifest, inputs: Any) -> Any:  # noqa: ANN401 - what `run` takes
    """An array an input, in their order. A mapping and a table, a row of it or a batch where the
    model has one, have them by name; a table is all of a single input. Named tuples with the
    inputs' names, too; others as they are. Raises GM604 for names that are missing.
    """
    names = [entry.name for entry in manifest.inputs]
    if hasattr(inputs, "_fields"):
        fields = by_input(names, dict(zip(inputs._fields, inputs, strict=True)))
        return [fields[name] for name in names] if all(n in fields for n in names) else inputs
    if isinstance(inputs, Mapping):
        return _members(manifest, inputs)
    if not (hasattr(inputs, "columns") and hasattr(inputs, "to_numpy")):
        return inputs
    if len(names) == 1:
        return [inputs.to_numpy()]
    return _columns(manifest, {str(name): inputs[name] for name in inputs.columns})


def _members(manifest: Manifest, inputs: Mapping[str, ArrayLike]) -> list[ArrayLike]:
    """Those of a mapping that has no other names; what would be learnt from may be left out."""
    training = manifest.training
    asked = training.tensors if training is not None else ()
    names = [e.name for e in manifest.inputs if e.name in inputs or e.name not in asked]
    missing = [name for name in names if name not in inputs]
    unknown = [str(name) for name in inputs if name not in names]
    if missing or unknown:
        found = [f"is missing: {', '.join(map(repr, missing))}"] if missing else []
        found += [f"is not an input: {', '.join(map(repr, unknown))}"] if unknown else []
        raise error(
            "GM604",
            f"of the arrays by name {' and '.join(found)}",
            manifest.name,
            f"the model's inputs are {', '.join(map(repr, names))}",
        )
    return [inputs[name] for name in names]


def _columns(manifest: Manifest, table: Mapping[str, Any]) -> list[Array]:
    """Columns of a table in the shapes of the inputs of their names."""
    import numpy as np

    names = [entry.name for entry in manifest.inputs]
    columns = by_input(names, table)
    missing = [name for name in names if name not in columns]
    if missing:
        raise error(
            "GM604",
            f"the table has no column called {', '.join(map(repr, missing))}",
            manifest.name,
            "rename its columns, or give a list of arrays, one an input",
        )
    arrays = [np.asarray(columns[name].to_numpy()) for name in names]
    return [
        array.reshape(entry.shape) if array.size == math.prod(entry.shape) else array
        for array, entry in zip(arrays, manifest.inputs, strict=True)
    ]


def stored_inputs(manifest: Manifest, inputs: Sequence[ArrayLike], real: bool) -> list[Array]:
    """Stored values; what would be learnt from is filled in where only the model's own inputs are
    given. Raises GM604 for another number of inputs, GM628.
    """
    import numpy as np

    if isinstance(inputs, np.ndarray) and inputs.shape in [e.shape for e in manifest.inputs]:
        raise error(
            "GM604",
            f"expected a list of arrays, got one of shape {inputs.shape}",
            manifest.name,
            "a list has an array for each input: [x]",
        )
    if _infers(manifest, len(inputs)):
        asked = manifest.inputs[len(inputs) :]
        # No class, so that nothing is learnt; what stands for a target is not read then.
        inputs = [*inputs, *(np.full(e.shape, -1, np.dtype(e.dtype)) for e in asked)]
    names = [entry.name for entry in manifest.inputs]
    arrays = [
        _own_array(array, names[at] if at < len(names) else "", manifest)
        for at, array in enumerate(inputs)
    ]
    if not real:
        return arrays
    from glowmcu.real_units import stored_values
    from glowmcu.verify.host import check_inputs

    pairs = zip(manifest.inputs, arrays, strict=False)
    stored = [stored_values(entry, array, manifest.name) for entry, array in pairs]
    stored += arrays[len(stored) :]
    check_inputs(manifest, stored)
    return stored


def _infers(manifest: Manifest, given: int) -> bool:
    """Whether a bundle that learns is given its model's own inputs alone."""
    training = manifest.training
    if training is None:
        return False
    return given == sum(entry.name not in training.tensors for entry in manifest.inputs)


def asked_to_learn(manifest: Manifest, label: int | ArrayLike) -> list[Array]:
    """The inputs that say what is to be learnt. Raises GM630."""
    import numpy as np

    training = manifest.training
    if training is None:
        raise error(
            "GM630", "this bundle does not learn", manifest.name, "compile it with --train last=1"
        )
    try:
        given = np.asarray(label)
    except ValueError:  # rows of several lengths
        given = np.empty(0, object)
    entries = {entry.name: entry for entry in manifest.inputs}
    if training.target:
        shape = entries[training.target].shape
        if given.shape != shape or given.dtype.kind not in "fiu":
            raise error(
                "GM630",
                f"the target is float32[{'x'.join(map(str, shape))}], "
                f"got {given.dtype}[{'x'.join(map(str, given.shape))}]",
                manifest.name,
                "it has the shape of the output",
            )
        return [given.astype(np.float32), np.zeros(1, np.int32)]
    if given.size != 1 or given.dtype.kind not in "iu":
        raise error(
            "GM630", f"a label is one integer, got {label!r}", manifest.name, "labels are classes"
        )
    number = int(given.reshape(-1)[0])
    if not 0 <= number < training.classes:
        raise error(
            "GM630",
            f"label {number} is no class: there are {training.classes}",
            manifest.name,
            f"labels are from 0 to {training.classes - 1}",
        )
    return [np.full(1, number, np.int32)]


def with_label(manifest: Manifest, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The inputs of a run that learns, if the bundle does: of the first class."""
    import numpy as np

    training = manifest.training
    if training is None:
        return tuple(inputs)
    return tuple(
        np.zeros_like(array) if entry.name == training.argument else array
        for entry, array in zip(manifest.inputs, inputs, strict=True)
    )


def real_outputs(manifest: Manifest, measured: Measurement, given: int, real: bool) -> Measurement:
    """Outputs of a run with `given` inputs, as real numbers if that is asked for."""
    if _infers(manifest, given):
        measured = replace(measured, outputs=measured.outputs[:-1])
    if not real:
        return measured
    from glowmcu.real_units import real_values
    from glowmcu.verify.measurement import output_entries

    pairs = zip(output_entries(manifest, measured), measured.outputs, strict=True)
    return replace(measured, outputs=tuple(real_values(entry, array) for entry, array in pairs))
