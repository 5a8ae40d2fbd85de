"""The public Python API; `glowmcu` re-exports it."""

from typing import TYPE_CHECKING

from glowmcu.lazy import lazy_names

if TYPE_CHECKING:
    from glowmcu.api.benchmark import Benchmark, bench
    from glowmcu.api.bundle_diff import diff
    from glowmcu.api.compilation import compile
    from glowmcu.api.examples import example
    from glowmcu.api.float_comparison import FloatComparison, compare
    from glowmcu.api.inspection import Inspection, inspect
    from glowmcu.api.kernel_tuning import KernelProgress, KernelTuningResult, tune_kernels
    from glowmcu.api.quantization import export, profile
    from glowmcu.api.runtime_comparison import RuntimeReport, verify_against
    from glowmcu.api.tuning import TuningProgress, TuningResult, tune
    from glowmcu.api.verification import VerificationReport, verify, verify_bundle
    from glowmcu.facts.bundle_diff import BundleDiff
    from glowmcu.planning_progress import PlanningProgress
    from glowmcu.quant.choices import Quantization
    from glowmcu.quant.profile import Profile
    from glowmcu.quant.profiling import Progress

__all__ = [
    "Benchmark",
    "BundleDiff",
    "FloatComparison",
    "Inspection",
    "KernelProgress",
    "KernelTuningResult",
    "PlanningProgress",
    "Profile",
    "Progress",
    "Quantization",
    "RuntimeReport",
    "TuningProgress",
    "TuningResult",
    "VerificationReport",
    "bench",
    "compare",
    "compile",
    "diff",
    "example",
    "export",
    "inspect",
    "profile",
    "tune",
    "tune_kernels",
    "verify",
    "verify_against",
    "verify_bundle",
]

__getattr__ = lazy_names(
    __name__,
    {
        "Benchmark": "glowmcu.api.benchmark",
        "bench": "glowmcu.api.benchmark",
        "diff": "glowmcu.api.bundle_diff",
        "compile": "glowmcu.api.compilation",
        "example": "glowmcu.api.examples",
        "FloatComparison": "glowmcu.api.float_comparison",
        "compare": "glowmcu.api.float_comparison",
        "Inspection": "glowmcu.api.inspection",
        "inspect": "glowmcu.api.inspection",
        "KernelProgress": "glowmcu.api.kernel_tuning",
        "KernelTuningResult": "glowmcu.api.kernel_tuning",
        "tune_kernels": "glowmcu.api.kernel_tuning",
        "export": "glowmcu.api.quantization",
        "profile": "glowmcu.api.quantization",
        "RuntimeReport": "glowmcu.api.runtime_comparison",
        "verify_against": "glowmcu.api.runtime_comparison",
        "TuningProgress": "glowmcu.api.tuning",
        "TuningResult": "glowmcu.api.tuning",
        "tune": "glowmcu.api.tuning",
        "VerificationReport": "glowmcu.api.verification",
        "verify": "glowmcu.api.verification",
        "verify_bundle": "glowmcu.api.verification",
        "BundleDiff": "glowmcu.facts.bundle_diff",
        "PlanningProgress": "glowmcu.planning_progress",
        "Quantization": "glowmcu.quant.choices",
        "Profile": "glowmcu.quant.profile",
        "Progress": "glowmcu.quant.profiling",
    },
)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
