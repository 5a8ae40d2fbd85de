"""Parts of the compiler whose tests are put to the test: their files, and their own fast tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Area:
    """Patterns of files below glowmcu/ but those `without`, and arguments of pytest.

    What a test reaches is found out for all of `noted` at once: areas with the same tests share it.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    without: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()

    @property
    def sources(self) -> list[str]:
        """Paths below the repository, in order."""
        return _below_package(self.files, self.without)

    @property
    def noted_sources(self) -> list[str]:
        """The area's own, and those of areas that share its notes."""
        return _below_package(self.noted, ()) if self.noted else self.sources


def _below_package(patterns: tuple[str, ...], without: tuple[str, ...]) -> list[str]:
    package = REPO / "glowmcu"
    left_out = {path for pattern in without for path in package.glob(pattern)}
    found = {path for pattern in patterns for path in package.glob(pattern)} - left_out
    return [str(path.relative_to(REPO)) for path in sorted(found)]


#: What all operators of a front end share; each operator's own file has its own tests.
_TFLITE = (
    "activation_range", "axes", "container", "importer", "quantization", "reader", "unsigned",
)  # fmt: skip
_FRONT_ENDS = ("frontend/onnx/*.py", "frontend/tflite/*.py")
_ONNX = ("axes", "container", "fold_qdq", "importer", "quantization", "reader")


def _of_operators(is_onnx: bool) -> tuple[str, ...]:
    """Tests of the operators of one front end."""
    files = sorted((REPO / "tests" / "ops").glob("test_*.py"))
    return tuple(f"tests/ops/{file.name}" for file in files if ("onnx" in file.name) == is_onnx)


def _of_reading(is_onnx: bool) -> tuple[str, ...]:
    """Tests of one front end, and of what both share."""
    others = ("tosa", "stablehlo", "tflite" if is_onnx else "onnx")
    files = sorted((REPO / "tests" / "frontend").glob("test_*.py"))
    names = [file.name for file in files if not any(other in file.name for other in others)]
    return tuple(f"tests/frontend/{name}" for name in names)


AREAS = {
    "requantization": Area(
        ("kernels/requantization/*.py", "ops/fixed_point.py", "ops/quantization.py",
         "quant/*.py"),
        ("tests/kernels/test_requantization.py", "tests/kernels/test_requantization_narrow.py",
         "tests/kernels/test_requantization_sequences.py", "tests/kernels/test_narrow_limits.py",
         "tests/kernels/test_requantization_tasks.py",
         "tests/kernels/test_requantization_thresholds.py", "tests/kernels/test_line_constants.py",
         "tests/kernels/test_recorded_requantization.py", "tests/kernels/test_linear_sum.py",
         "tests/kernels/test_proved_elements.py", "tests/ops/test_quantization.py",
         "tests/ops/test_fixed_point.py", "tests/quant", "tests/tuning",
         "tests/cli/test_quantization.py", "tests/api/test_quality.py"),
    ),
    "planning": Area(
        ("memplan/*.py",),
        ("tests/memplan",),
        ("memplan/overlap.py", "memplan/execute*.py"),  # the latter are the tests' oracle
    ),
    "overlap": Area(
        ("memplan/overlap.py", "kernels/common/overlap.py",
         "kernels/selection/transposed_variants.py"),
        ("tests/kernels/test_overlap_distances.py", "tests/memplan/test_overlaps.py",
         "tests/memplan/test_cascades.py", "tests/kernels/test_transposed_variants.py",
         "tests/test_overlap_contract.py", "-k", "not on_a_core and not with_helium"),
    ),
    "channels": Area(
        ("lowering/channel_*.py", "lowering/remove_unread_channels.py",
         "lowering/fold_constant_channels.py"),
        ("tests/lowering/test_channels.py", "tests/lowering/test_channels_of_operators.py",
         "tests/lowering/test_channel_rules.py", "tests/lowering/test_simplify.py",
         "tests/lowering/test_simplification.py"),
    ),
    "tflite": Area(
        tuple(f"frontend/tflite/{name}.py" for name in _TFLITE),
        (*_of_reading(is_onnx=False), "tests/hostile", "tests/ops/test_activation.py",
         "tests/ops/test_tflite_complex.py", "tests/ops/test_uint8.py",
         "tests/ops/test_elementwise.py", "tests/ops/test_slicing.py",
         "tests/ops/test_real_layers.py"),
        noted=_FRONT_ENDS,
    ),
    "onnx": Area(
        tuple(f"frontend/onnx/{name}.py" for name in _ONNX),
        (*_of_reading(is_onnx=True), "tests/hostile/test_onnx_files.py",
         "tests/ops/test_onnx_quantization.py"),
        noted=_FRONT_ENDS,
    ),
    "tflite operators": Area(
        ("frontend/tflite/*.py",),
        (*_of_operators(is_onnx=False), *_of_reading(is_onnx=False), "tests/hostile"),
        ("frontend/tflite/writer*.py", "frontend/tflite/export*.py",
         *(f"frontend/tflite/{name}.py" for name in _TFLITE)),
        _FRONT_ENDS,
    ),
    "onnx operators": Area(
        ("frontend/onnx/*.py",),
        (*_of_operators(is_onnx=True), *_of_reading(is_onnx=True),
         "tests/hostile/test_onnx_files.py"),
        tuple(f"frontend/onnx/{name}.py" for name in _ONNX),
        _FRONT_ENDS,
    ),
}  # fmt: skip
