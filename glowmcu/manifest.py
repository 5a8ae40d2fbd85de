"""`manifest.json`: what a bundle is, as data. Written once by `emit_c`, read by everything after
it.

Executors, `glowmcu run` and generic test runners know a bundle by this file alone, so a bundle made
on one machine can be verified on another without its model.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from glowmcu.delegated import DelegationEntry
from glowmcu.errors import error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.quality import QualityEntry
from glowmcu.simplified import SimplificationEntry
from glowmcu.size_forms import SizeEntry as SizeEntry  # noqa: PLC0414 - part of a manifest
from glowmcu.size_forms import SizeForm, shape_at
from glowmcu.training import TrainingEntry
from glowmcu.typed_json import typed

FORMAT_VERSION = 1
FILE_NAME = "manifest.json"
#: What a compilation into the bundle's folder works in.
STAGING = ".glowmcu-new"
#: What an arena may be in a manifest that is believed.
_MOST_BYTES = 1 << 32
_ALIGNS = tuple(1 << power for power in range(13))
_ELEMENT_BYTES = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4,
    "float32": 4, "int64": 8, "uint64": 8,
}  # fmt: skip


@dataclass(frozen=True)
class RowsEntry:
    """Of an input that the application pushes row by row: `count` rows of `bytes` each.

    `function` takes them; outputs are there after `read` rows, since the last may have no reader.
    """

    function: str
    count: int
    read: int
    bytes: int


@dataclass(frozen=True)
class TensorEntry:
    """An input or output: `bytes` at `offset` of the arena, C-ordered `shape` of numpy `dtype`.

    An input with `rows` is not in the arena: its `offset` is None. Nor is one with `outside_align`,
    which stays in memory of the application's, at a multiple of that.

    `symbol` is the suffix of its C accessor (`""` for `kws_input`, `"mfcc"` for `kws_input_mfcc`).
    `scale` and `zero_point` are None where the tensor is not quantized. `exact` tells of an output
    whether every byte is defined; one that is computed in float may differ in the last bits, and by
    `leeway` where larger numbers cancelled in it. `rounded` tells of an output of integers that
    such numbers became them, and may have become their neighbours. `kept` tells of an input that it
    is the same after a run. Where a run is given a size, `shape` and `bytes` are the largest, and
    `shape_forms` say the shape for each size.
    """

    name: str
    symbol: str
    shape: tuple[int, ...]
    dtype: str
    scale: float | None
    zero_point: int | None
    offset: int | None
    bytes: int
    exact: bool = True
    leeway: float = 0.0
    rounded: bool = False
    kept: bool = False
    rows: RowsEntry | None = None
    outside_align: int = 0
    shape_forms: tuple[SizeForm, ...] = ()

    @property
    def is_strict(self) -> bool:
        """Whether nothing is nearly an element: of classes and places even behind real numbers."""
        return self.exact or not (self.rounded or self.dtype.startswith("float"))

    def at(self, size: int) -> TensorEntry:
        """The entry for a size that is given at run time."""
        if not self.shape_forms:
            return self
        shape = shape_at(self.shape_forms, size)
        bytes_ = self.bytes // math.prod(self.shape) * math.prod(shape)
        return dataclasses.replace(self, shape=shape, bytes=bytes_, shape_forms=())

    @property
    def external(self) -> bool:
        """Whether the application has it in memory of its own."""
        return self.outside_align > 0

    @property
    def start(self) -> int:
        """`offset`, of a tensor that is in the arena."""
        assert self.offset is not None, f"{self.name!r} is not in the arena"
        return self.offset


@dataclass(frozen=True)
class ConstantsEntry:
    """Constants of one `kind` that a layer is the first to read: `bytes` in flash; by a `coding`
    other than "" they are decoded to `unpacked_bytes` of the arena while the layer runs.
    """

    kind: str
    coding: str
    bytes: int
    unpacked_bytes: int


@dataclass(frozen=True)
class LayerEntry:
    """One step of `<name>_run`: `index` is its turn and the number of its step marker in the C
    code. `constants` are what `weights_bytes` is the sum of. `device` is the accelerator that
    computes it, empty for the core. `weights_bits` and others: `glowmcu.ir.layer_weights`.
    """

    index: int
    name: str
    op: str
    kernel: str
    macs: int
    weights_bytes: int
    scratch_bytes: int
    constants: tuple[ConstantsEntry, ...] = ()
    device: str = ""
    weights_bits: int = 0
    weights_group: int = 0
    weights_packed: bool = False


@dataclass(frozen=True)
class BufferEntry:
    """A tensor's place in the arena: `bytes` at `offset`, alive from `first_step` to
    `last_step`.
    """

    name: str
    offset: int
    bytes: int
    first_step: int
    last_step: int


@dataclass(frozen=True)
class StateEntry:
    """Memory that outlives a run, `bytes` at `offset` of the arena, and of what it begins as."""

    name: str
    offset: int
    bytes: int
    shape: tuple[int, ...]
    dtype: str
    initial_bytes: int = 0


@dataclass(frozen=True)
class PlacementEntry:
    """`arena`, `weights` or `code` in a region of the board, for these layers.

    `section` is empty if the linker script puts such things there anyway; `bytes` is None for
    code, whose size a compiler decides. `image_region` holds what is copied there at start, empty
    where nothing is.
    """

    what: str
    region: str
    section: str
    bytes: int | None
    layers: tuple[int, ...]
    image_region: str = ""


@dataclass(frozen=True)
class CostEntry:
    """Known before a compiler sees the bundle. `stack_bytes`: at most, by C function, as
    `stack_found` says, or why it is not known. The others are estimates, None if there is none.
    """

    stack_bytes: dict[str, int] = field(default_factory=dict)
    stack_found: str = ""
    cycles_estimate: int | None = None
    code_bytes_estimate: int | None = None


@dataclass(frozen=True)
class StageEntry:
    """A stage of a pipeline: it computes in run `first_run` (0 is the first) and every `period`."""

    name: str
    first_run: int
    period: int


@dataclass(frozen=True)
class PipelineEntry:
    """Stages at rates of their own. `push_function` takes samples of `sample_elements` values, any
    number at a time; a run takes `hop` of them. `backlog` zeros seem to be there at the beginning
    of a stream, so that windows begin where its samples do.
    """

    push_function: str
    hop: int
    sample_elements: int
    backlog: int
    sample_rate: int | None
    stages: tuple[StageEntry, ...]


@dataclass(frozen=True)
class Manifest:
    """Everything that is known about a bundle without reading its C code. Sizes in bytes.

    `packages` names the build systems whose files lie in the bundle's folder.
    Of `macs`, `extra_macs` are computed again in the halos of strips. `files` are all files of the
    bundle but the manifest itself, by their path in it, with the SHA-256 of their content: what a
    later compilation may replace (bundles of 0.1.0 have none). `states` are what of the arena a
    run leaves for the next one; a stream begins with `reset_function`. `labels` name the classes in
    their order. Two `cores` may share a run; see `help_function`. `quality` says what quantization
    lost, of a pipeline by stage; empty if nothing was quantized or measured. `delegation` says what
    an accelerator computes.
    """

    name: str
    tool_version: str
    model_file: str
    model_sha256: str
    board: str
    options: dict[str, str]
    arena_bytes: int
    arena_lower_bound_bytes: int
    arena_optimal: bool
    arena_align: int
    weights_bytes: int
    macs: int
    inputs: tuple[TensorEntry, ...]
    outputs: tuple[TensorEntry, ...]
    layers: tuple[LayerEntry, ...]
    buffers: tuple[BufferEntry, ...]
    sources: tuple[str, ...]
    headers: tuple[str, ...]
    simplification: SimplificationEntry | None = None
    packages: tuple[str, ...] = ()
    placement: tuple[PlacementEntry, ...] = ()
    extra_macs: int = 0
    compiler: str = ""
    costs: CostEntry = field(default_factory=CostEntry)
    files: dict[str, str] = field(default_factory=dict)
    states: tuple[StateEntry, ...] = ()
    pipeline: PipelineEntry | None = None
    size: SizeEntry | None = None
    labels: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    string_inputs: tuple[str, ...] = ()
    cores: int = 1
    quality: tuple[QualityEntry, ...] = ()
    training: TrainingEntry | None = None
    delegation: DelegationEntry | None = None

    @property
    def identity(self) -> bytes:
        """Eight bytes that tell this bundle from others, whatever build systems it is for."""
        alone = dataclasses.replace(self, files={}, packages=(), quality=())
        return hashlib.sha256(alone.to_json().encode()).digest()[:8]

    def at(self, size: int) -> Manifest:
        """Its inputs and outputs where a run is given `size`."""
        inputs = tuple(entry.at(size) for entry in self.inputs)
        outputs = tuple(entry.at(size) for entry in self.outputs)
        return dataclasses.replace(self, inputs=inputs, outputs=outputs)

    def size_of(self, shapes: Sequence[tuple[int, ...]]) -> int:
        """The size at which inputs have these shapes; the largest if there is none."""
        assert self.size is not None, f"{self.name} has no size that is given at run time"
        for size in self.size.sizes:
            if [entry.at(size).shape for entry in self.inputs] == list(shapes):
                return size
        return self.size.largest

    @property
    def streamed_input(self) -> int | None:
        """The input whose rows are pushed, by number, if there is one."""
        found = [index for index, entry in enumerate(self.inputs) if entry.rows is not None]
        return found[0] if found else None

    @property
    def external(self) -> tuple[TensorEntry, ...]:
        """Inputs that the application has in memory of its own, arguments of the entry point."""
        return tuple(entry for entry in self.inputs if entry.external)

    @property
    def entry_points(self) -> tuple[str, ...]:
        """The C functions that make an inference, and learn if there is a label."""
        if self.training is not None:
            return (f"{self.name}_learn",)
        if self.streamed_input is None:
            return (f"{self.name}_run_from" if self.external else f"{self.name}_run",)
        rows = self.inputs[self.streamed_input].rows
        assert rows is not None
        return (f"{self.name}_start", rows.function)

    @property
    def reset_function(self) -> str:
        """The C function that begins a stream, empty if runs have nothing to do with others."""
        return f"{self.name}_reset" if self.states else ""

    @property
    def help_function(self) -> str:
        """The C function for a second core, empty if there is none."""
        return f"{self.name}_help" if self.cores > 1 else ""

    @property
    def functions(self) -> tuple[str, ...]:
        """The C functions that an application calls to compute."""
        return (*filter(None, [self.reset_function]), *self.entry_points)

    def to_json(self) -> str:
        """Stable text: keys in field order, two-space indent, final newline."""
        body = {"format": FORMAT_VERSION, **dataclasses.asdict(self)}
        if self.delegation is None:
            for layer in body["layers"]:
                del layer["device"]
        for name in ("quality", "training", "delegation"):
            if not body[name]:
                del body[name]
        return json.dumps(body, indent=2) + "\n"


def with_files(manifest: Manifest, digests: Mapping[str, str]) -> Manifest:
    """The manifest of a bundle that consists of files with these SHA-256, and of it."""
    listed = {name: digest for name, digest in sorted(digests.items()) if name != FILE_NAME}
    return dataclasses.replace(manifest, files=listed)


def read_manifest(bundle_dir: Path) -> Manifest:
    """The manifest of the bundle in `bundle_dir`. Raises GM601 when there is none or it is
    damaged.
    """
    path = bundle_dir / FILE_NAME
    hint = "pass the folder that `glowmcu compile -o` wrote, or compile the model again"
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(body, dict) or body.pop("format", None) != FORMAT_VERSION:
            raise ValueError(f"format must be {FORMAT_VERSION}")
        return _from_json(body)
    except (FileNotFoundError, NotADirectoryError) as cause:
        if (bundle_dir / STAGING).exists():
            hint = "a compilation into this folder was cut short: compile the model again"
        raise error(
            "GM601", f"{bundle_dir} is not a bundle: no manifest.json", hint=hint
        ) from cause
    except KeyError as cause:
        raise error("GM601", f"the manifest lacks the key {cause}", str(path), hint) from cause
    except (OSError, ValueError, RecursionError) as cause:
        what = f"cannot read the manifest: {getattr(cause, 'strerror', None) or cause}"
        raise error("GM601", what, str(path), hint) from cause


def _from_json(body: dict[str, Any]) -> Manifest:
    costs = body.get("costs")
    if isinstance(costs, dict):
        costs.pop("instructions_estimate", None)  # of a Cortex-M55, in bundles of 0.1
    manifest: Manifest = typed(body, Manifest, "")
    if f"{manifest.name}.h" not in manifest.headers:
        raise ValueError(f"headers lack {manifest.name}.h")
    if not 0 <= manifest.arena_bytes <= _MOST_BYTES or manifest.arena_align not in _ALIGNS:
        raise ValueError("arena_bytes or arena_align is beyond its limits")
    for key, entries in (("inputs", manifest.inputs), ("outputs", manifest.outputs)):
        for index, entry in enumerate(entries):
            _expect_consistent(entry, manifest.arena_bytes, f"{key}[{index}]")
    return manifest


def _expect_consistent(entry: TensorEntry, arena_bytes: int, where: str) -> None:
    """Raises ValueError for a type that there is not, another size, or a place that cannot be."""
    if entry.dtype not in _ELEMENT_BYTES:
        raise ValueError(f"{where}.dtype is {entry.dtype!r}")
    size = math.prod(entry.shape) * _ELEMENT_BYTES[entry.dtype]
    if min(entry.shape, default=1) < 1 or entry.bytes != size:
        raise ValueError(f"{where} has another shape than its bytes")
    if not 0 <= entry.outside_align <= _ALIGNS[-1]:
        raise ValueError(f"{where}.outside_align is {entry.outside_align}")
    is_elsewhere = entry.external or entry.rows is not None
    if is_elsewhere != (entry.offset is None):
        raise ValueError(f"{where}.offset is {entry.offset}")
    if entry.offset is not None and not 0 <= entry.offset <= arena_bytes - entry.bytes:
        raise ValueError(f"{where} is not in the arena")
