"""GlowMCU: ahead-of-time compiler from neural networks to plain C99 for microcontrollers.

bundle = glowmcu.compile("kws.tflite", board="nrf52", output="build/kws")
outputs = bundle.run([x])                       # the generated C on this computer
result = bundle.measure([x], on="cortex-m")     # .outputs .instructions .cycles .stack_bytes

A float model becomes int8 by a profile of samples:

glowmcu.profile("kws.onnx", samples="data/", output="kws.profile.json")
bundle = glowmcu.compile("kws.onnx", profile="kws.profile.json", board="nrf52")
"""

from typing import TYPE_CHECKING

from glowmcu.errors import ExitCode, GlowmcuError, Problem
from glowmcu.lazy import lazy_names
from glowmcu.limits import memory_limit
from glowmcu.version import __version__

if TYPE_CHECKING:
    from glowmcu.api import Profile, Quantization, compile, export, profile, tune, tune_kernels
    from glowmcu.bundle import Bundle, Report, load

__all__ = [
    "Bundle",
    "ExitCode",
    "GlowmcuError",
    "Problem",
    "Profile",
    "Quantization",
    "Report",
    "__version__",
    "compile",
    "export",
    "load",
    "memory_limit",
    "profile",
    "tune",
    "tune_kernels",
]

__getattr__ = lazy_names(
    __name__,
    dict.fromkeys(
        ("Profile", "Quantization", "compile", "export", "profile", "tune", "tune_kernels"),
        "glowmcu.api",
    )
    | dict.fromkeys(("Bundle", "Report", "load"), "glowmcu.bundle"),
)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
