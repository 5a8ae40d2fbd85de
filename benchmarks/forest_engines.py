"""Forests of scikit-learn as C by several compilers: what each makes, and how it is called.

Every engine gives the class alone. Features are pixels of 0 to 16 in the smallest type that the
engine takes: bytes (GlowMCU), int16 (emlearn), float (micromlgen), double (m2cgen).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.compilation import Options
from glowmcu.goals import Budgets
from glowmcu.pipeline import compile_model
from tests.support.check_model import write_bundle

Array = npt.NDArray[Any]
#: Deepest expression that m2cgen writes of a tree by recursion.
_RECURSION = 20_000
PIXELS = 64
CLASSES = 10


@dataclass(frozen=True)
class Source:
    """C of one forest. `entry` is called with the address of the features, or for a bundle with
    that of its arena, in which they lie at `arena_offset`; `answer` reads the class from what it
    returned, or from the arena.
    """

    files: tuple[Path, ...]
    include: tuple[Path, ...]
    entry: str
    dtype: str
    flags: tuple[str, ...] = ()
    arena_bytes: int = 0
    arena_offset: int = 0
    label_offset: int = 0


@dataclass(frozen=True)
class Engine:
    """Who makes the C: `make(forest, folder, core)`, of forests of `most_trees` at most."""

    name: str
    make: Callable[[Any, Path, str], Source]
    packages: tuple[str, ...] = ()
    most_trees: int = 100


def with_bytes(data: bytes) -> bytes:
    """The model with features of uint8 that are cast, and the class as its only output."""
    import onnx

    model = onnx.load_from_string(data)
    (x,) = model.graph.input
    x.type.tensor_type.elem_type = onnx.TensorProto.UINT8
    cast = onnx.helper.make_node("Cast", [x.name], ["real"], to=onnx.TensorProto.FLOAT)
    for node in model.graph.node:
        node.input[:] = ["real" if name == x.name else name for name in node.input]
    model.graph.node.insert(0, cast)
    del model.graph.output[1:]
    done: bytes = model.SerializeToString()
    return done


def exported(forest: Any) -> bytes:
    """The forest as skl2onnx writes it."""
    from skl2onnx import to_onnx

    sample = np.zeros((1, PIXELS), np.float32)
    opsets = {"": 17, "ai.onnx.ml": 3}
    model = to_onnx(forest, sample, options={"zipmap": False}, target_opset=opsets)
    data: bytes = model.SerializeToString()
    return data


def glowmcu(share: float) -> Callable[[Any, Path, str], Source]:
    """A bundle that may take `share` of the flash that it would take by itself."""

    def make(forest: Any, folder: Path, core: str) -> Source:
        data, options = with_bytes(exported(forest)), Options("forest", core=core)
        done = compile_model(data, "forest.onnx", options)
        if share < 1:
            flash = sum(
                cost.code_bytes + cost.layer_code_bytes + cost.flash_bytes
                for cost in (selection.cost for selection in done.selections.values())
            )
            budgets = Budgets(flash_bytes=int(share * flash))
            done = compile_model(data, "forest.onnx", replace(options, budgets=budgets))
        bundle = write_bundle(done, folder)
        manifest = done.manifest
        sources = (name for name in manifest.sources if not name.endswith("_model.c"))
        return Source(
            tuple(bundle / name for name in sources if name.endswith(".c")), (bundle,),
            manifest.entry_points[-1], "uint8", arena_bytes=manifest.arena_bytes,
            arena_offset=manifest.inputs[0].start, label_offset=manifest.outputs[0].start,
        )  # fmt: skip

    return make


def _emlearn(method: str, call: str) -> Callable[[Any, Path, str], Source]:
    def make(forest: Any, folder: Path, core: str) -> Source:
        import emlearn

        model = emlearn.convert(forest, method=method, dtype="int16_t")
        model.save(name="forest", format="c", inference=[method], file=str(folder / "forest.h"))
        text = f"""#include "forest.h"
int32_t bench(const int16_t *x);
int32_t bench(const int16_t *x)
{{
    return {call};
}}
"""
        (folder / "bench.c").write_text(text, encoding="utf-8")
        include = Path(emlearn.__file__).parent
        return Source((folder / "bench.c",), (folder, include), "bench", "int16")

    return make


def _m2cgen(forest: Any, folder: Path, core: str) -> Source:
    import m2cgen

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(_RECURSION)
    try:
        text = m2cgen.export_to_c(forest)
    finally:
        sys.setrecursionlimit(before)
    text += f"""
#include <stdint.h>
int32_t bench(double *x);
int32_t bench(double *x)
{{
    double scores[{CLASSES}];
    int32_t best = 0;
    score(x, scores);
    for (int32_t i = 1; i < {CLASSES}; ++i) {{
        best = (scores[i] > scores[best]) ? i : best;
    }}
    return best;
}}
"""
    (folder / "bench.c").write_text(text, encoding="utf-8")
    return Source((folder / "bench.c",), (folder,), "bench", "float64")


def _micromlgen(forest: Any, folder: Path, core: str) -> Source:
    import micromlgen

    (folder / "cstdarg").write_text("#include <stdarg.h>\n", encoding="utf-8")
    (folder / "forest.h").write_text(micromlgen.port(forest), encoding="utf-8")
    text = """#include <stdint.h>
#include "forest.h"
extern "C" int32_t bench(float *x)
{
    Eloquent::ML::Port::RandomForest forest;
    return forest.predict(x);
}
"""
    (folder / "bench.cpp").write_text(text, encoding="utf-8")
    flags = ("-fno-exceptions", "-fno-rtti")
    return Source((folder / "bench.cpp",), (folder,), "bench", "float32", flags)


ENGINES: Sequence[Engine] = (
    Engine("GlowMCU", glowmcu(1.0)),
    Engine("GlowMCU, less flash", glowmcu(0.8)),
    Engine("emlearn, inline", _emlearn("inline", f"forest_predict(x, {PIXELS})"), ("emlearn",)),
    Engine(
        "emlearn, table", _emlearn("loadable", f"eml_trees_predict(&forest, x, {PIXELS})"),
        ("emlearn",),
    ),
    # Of 100 trees it makes a function of 4.4 MB, whose branches reach too far for Thumb.
    Engine("m2cgen", _m2cgen, ("m2cgen",), most_trees=30),
    Engine("micromlgen", _micromlgen, ("micromlgen",)),
)  # fmt: skip
