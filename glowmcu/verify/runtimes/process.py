"""A script: runs a `.tflite` file in one runtime. `process.py RUNTIME MODEL INPUTS.npz OUTPUTS.npz`

Exit code `REFUSED` is an orderly refusal; what the runtime said is on standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = Sequence[npt.NDArray[Any]]
Run = Callable[[Arrays], list[npt.NDArray[Any]]]

REFUSED = 3
_FIRST_ARENA_BYTES = 1 << 20
_LARGEST_ARENA_BYTES = 1 << 30


def save(path: Path, sets: Sequence[Arrays]) -> None:
    """Arrays by number of set and place."""
    named = {f"{s}_{i}": array for s, arrays in enumerate(sets) for i, array in enumerate(arrays)}
    np.savez(path, **named)  # type: ignore[arg-type]  # names are no keyword arguments


def load(path: Path) -> list[tuple[npt.NDArray[Any], ...]]:
    """What `save` wrote."""
    with np.load(path) as stored:
        places = sorted(tuple(map(int, name.split("_"))) for name in stored.files)
        sets: dict[int, list[npt.NDArray[Any]]] = {}
        for number, place in places:
            sets.setdefault(number, []).append(stored[f"{number}_{place}"])
    return [tuple(sets[number]) for number in sorted(sets)]


def _tflm(model: bytes, _: Arrays) -> Run:
    import tflite
    from tflite_micro.python.tflite_micro import runtime

    count = int(tflite.Model.GetRootAs(model).Subgraphs(0).OutputsLength())
    arena_bytes, interpreter = _FIRST_ARENA_BYTES, None
    while interpreter is None:
        # "Too small" and "refused" are told alike.
        try:
            interpreter = runtime.Interpreter.from_bytes(model, arena_size=arena_bytes)
        except (RuntimeError, ValueError):
            if arena_bytes >= _LARGEST_ARENA_BYTES:
                raise
            arena_bytes *= 8

    def run(inputs: Arrays) -> list[npt.NDArray[Any]]:
        for index, array in enumerate(inputs):
            interpreter.set_input(np.asarray(array, order="C"), index)
        interpreter.invoke()
        return [np.array(interpreter.get_output(index)) for index in range(count)]

    return run


def _litert(model: bytes, first: Arrays, resolver: str) -> Run:
    """Inputs get the sizes of the `first` ones, where the file leaves theirs open."""
    from ai_edge_litert import interpreter as litert

    interpreter = litert.Interpreter(
        model_content=model,
        experimental_op_resolver_type=litert.OpResolverType[resolver],
        num_threads=1,
    )
    for details, array in zip(interpreter.get_input_details(), first, strict=True):
        if tuple(details["shape"]) != array.shape:
            interpreter.resize_tensor_input(details["index"], array.shape)
    interpreter.allocate_tensors()

    def run(inputs: Arrays) -> list[npt.NDArray[Any]]:
        for details, array in zip(interpreter.get_input_details(), inputs, strict=True):
            interpreter.set_tensor(details["index"], np.asarray(array, order="C"))
        interpreter.invoke()
        return [
            np.array(interpreter.get_tensor(details["index"]))
            for details in interpreter.get_output_details()
        ]

    return run


_OPENERS: dict[str, Callable[[bytes, Arrays], Run]] = {
    "tflm": _tflm,
    "litert": lambda model, first: _litert(model, first, "AUTO"),
    "litert-reference": lambda model, first: _litert(model, first, "BUILTIN_REF"),
}


def main(name: str, model: str, given: str, made: str) -> int:
    """Runs all input sets, one after the other, without a reset."""
    try:
        sets = load(Path(given))
        run = _OPENERS[name](Path(model).read_bytes(), sets[0])
        outputs = [run(arrays) for arrays in sets]
    except (RuntimeError, ValueError) as refusal:
        sys.stderr.write(f"{refusal}".strip().replace("\n", "; "))
        return REFUSED
    save(Path(made), outputs)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
