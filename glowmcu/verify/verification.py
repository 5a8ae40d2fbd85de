"""`glowmcu verify`: does a bundle compute the same bytes everywhere?

The golden vectors in the bundle come from the Python reference when it was compiled. Random inputs
are compared with the model's reference execution where the model file is given, else with `host`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from glowmcu.errors import error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest, TensorEntry
from glowmcu.test_vectors import FLOAT_TOLERANCE, Digest, Expected, Sample, pattern_tensor
from glowmcu.verify.comparison import difference
from glowmcu.verify.measurement import Array, Executor


@runtime_checkable
class FallibleExecutor(Protocol):
    """An executor whose emulator is known to be wrong about some bundles."""

    def mismatch_hint(self, manifest: Manifest) -> str:
        """What may be behind wrong outputs when the bundle is right; or nothing."""


@dataclass(frozen=True)
class Vector:
    """Inputs and the outputs that they must give; `leeway` is by how much real ones may be off."""

    name: str
    inputs: tuple[Array, ...]
    expected: tuple[Expected, ...]
    leeway: tuple[float, ...]


@dataclass(frozen=True)
class Check:
    """One executor's result: vectors run, vectors wrong, and the first difference in words.

    `exact` says that every byte was compared; outputs computed in float have a tolerance, and are
    named in `tolerant` where others have none. `hint` says what else than the bundle may be behind
    wrong outputs there.
    """

    executor: str
    vectors: int
    wrong_vectors: int
    first_difference: str
    exact: bool = True
    hint: str = ""
    tolerant: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.wrong_vectors == 0

    @property
    def equality(self) -> str:
        """How equal outputs are that passed."""
        if self.exact:
            return "every byte equal"
        within = f"equal within {FLOAT_TOLERANCE:g}"
        return f"every byte equal, {', '.join(self.tolerant)} {within}" if self.tolerant else within


def golden_vectors(bundle_dir: Path, manifest: Manifest) -> list[Vector]:
    """The vectors stored in the bundle. Raises GM607 when they are missing or damaged."""
    path = bundle_dir / "selftest" / "golden.json"
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["vectors"]
        return [_golden_vector(row, manifest) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise error(
            "GM607",
            f"cannot read the golden vectors: {cause}",
            str(path),
            "compile the model again",
        ) from cause


def _golden_vector(row: dict[str, Any], manifest: Manifest) -> Vector:
    seed, texts = row["seed"], row["outputs"]
    if not isinstance(seed, int) or not isinstance(texts, list):
        raise ValueError("a vector needs a seed and outputs")
    size = row.get("size")
    if isinstance(size, int):
        manifest = manifest.at(size)
    inputs = seeded_inputs(manifest, seed)
    expected = [
        _golden_output(item, entry) for item, entry in zip(texts, manifest.outputs, strict=True)
    ]
    leeway = [float(item) for item in row.get("leeway", [0.0] * len(expected))]
    return Vector(f"golden {seed}", inputs, tuple(expected), tuple(leeway))


def _golden_output(item: str | dict[str, Any], entry: TensorEntry) -> Expected:
    """All of an output, or what is stored of a large one."""
    if isinstance(item, str):
        return np.frombuffer(bytes.fromhex(item), entry.dtype).reshape(entry.shape)
    if "crc32" in item:
        return Digest(int(item["crc32"]))
    return Sample(int(item["every"]), np.frombuffer(bytes.fromhex(item["elements"]), entry.dtype))


def seeded_inputs(manifest: Manifest, seed: int) -> tuple[Array, ...]:
    """Inputs as the self test makes them."""
    return tuple(
        pattern_tensor(entry.shape, entry.dtype, seed + number)
        for number, entry in enumerate(manifest.inputs)
    )


def random_inputs(manifest: Manifest, count: int, seed: int) -> list[tuple[Array, ...]]:
    """`count` input sets, uniform over the stored range of each input.

    Where a run is given a size, the smallest and the largest come first.
    """
    generator = np.random.default_rng(seed)
    found = []
    for index in range(count):
        sized = manifest if manifest.size is None else manifest.at(_size(manifest, index, seed))
        found.append(tuple(_random_tensor(entry, generator) for entry in sized.inputs))
    return found


def _size(manifest: Manifest, index: int, seed: int) -> int:
    """Of the random input set `index`."""
    assert manifest.size is not None
    ends = manifest.size.smallest, manifest.size.largest
    if index < len(ends):
        return ends[index]
    sizes = manifest.size.sizes
    return sizes[int(np.random.default_rng((seed, index)).integers(len(sizes)))]


def _random_tensor(entry: TensorEntry, generator: np.random.Generator) -> Array:
    if entry.dtype == "float32":
        return generator.normal(0.0, 2.0, entry.shape).astype(np.float32)
    if entry.dtype == "bool":
        return generator.integers(0, 2, entry.shape).astype(np.bool_)
    if entry.dtype in ("int32", "int64"):
        return generator.integers(0, 16, entry.shape).astype(entry.dtype)
    limits = np.iinfo(np.dtype(entry.dtype).name)
    if entry.dtype == "uint64":
        return generator.integers(0, limits.max, entry.shape, np.uint64, endpoint=True)
    return generator.integers(limits.min, limits.max + 1, entry.shape).astype(entry.dtype)


def check_executor(
    executor: Executor, bundle_dir: Path, manifest: Manifest, vectors: Sequence[Vector]
) -> Check:
    """Run all vectors and compare every output, see `comparison.py`."""
    results = executor.run(bundle_dir, [vector.inputs for vector in vectors])
    wrong, first = 0, ""
    for vector, result in zip(vectors, results, strict=True):
        differences = [
            difference(got, want, entry, leeway)
            for got, want, entry, leeway in zip(
                result.outputs, vector.expected, manifest.outputs, vector.leeway, strict=True
            )
        ]
        found = next((text for text in differences if text), "")
        wrong += bool(found)
        first = first or (found and f"{vector.name}: {found}")
    inexact = tuple(entry.name for entry in manifest.outputs if not entry.exact)
    doubts = executor if wrong and isinstance(executor, FallibleExecutor) else None
    hint = doubts.mismatch_hint(manifest) if doubts else ""
    tolerant = inexact if len(inexact) < len(manifest.outputs) else ()
    return Check(executor.name, len(vectors), wrong, first, not inexact, hint, tolerant)
