"""The public Python API; `glowmcu` re-exports it."""

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
