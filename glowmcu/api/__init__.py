"""The public Python API; `glowmcu` re-exports it."""

from typing import TYPE_CHECKING

from glowmcu.lazy import lazy_names

if TYPE_CHECKING:
    from glowmcu.api.compilation import compile
    from glowmcu.api.kernel_tuning import KernelProgress, KernelTuningResult, tune_kernels
    from glowmcu.api.quantization import export, profile
    from glowmcu.api.tuning import TuningProgress, TuningResult, tune
    from glowmcu.api.verification import VerificationReport, verify_bundle
    from glowmcu.planning_progress import PlanningProgress
    from glowmcu.quant.choices import Quantization
    from glowmcu.quant.profile import Profile
    from glowmcu.quant.profiling import Progress

__all__ = [
    "KernelProgress",
    "KernelTuningResult",
    "PlanningProgress",
    "Profile",
    "Progress",
    "Quantization",
    "TuningProgress",
    "TuningResult",
    "VerificationReport",
    "compile",
    "export",
    "profile",
    "tune",
    "tune_kernels",
    "verify_bundle",
]

__getattr__ = lazy_names(
    __name__,
    {
        "compile": "glowmcu.api.compilation",
        "KernelProgress": "glowmcu.api.kernel_tuning",
        "KernelTuningResult": "glowmcu.api.kernel_tuning",
        "tune_kernels": "glowmcu.api.kernel_tuning",
        "export": "glowmcu.api.quantization",
        "profile": "glowmcu.api.quantization",
        "TuningProgress": "glowmcu.api.tuning",
        "TuningResult": "glowmcu.api.tuning",
        "tune": "glowmcu.api.tuning",
        "VerificationReport": "glowmcu.api.verification",
        "verify_bundle": "glowmcu.api.verification",
        "PlanningProgress": "glowmcu.planning_progress",
        "Quantization": "glowmcu.quant.choices",
        "Profile": "glowmcu.quant.profile",
        "Progress": "glowmcu.quant.profiling",
    },
)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
