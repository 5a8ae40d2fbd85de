"""GlowMCU: ahead-of-time compiler from neural networks to plain C99 for microcontrollers.

bundle = glowmcu.compile("kws.tflite", board="nrf52", output="build/kws")
outputs = bundle.run([x])                       # the generated C on this computer
result = bundle.measure([x], on="cortex-m")     # .outputs .instructions .cycles .stack_bytes

A float model becomes int8 by a profile of samples:

glowmcu.profile("kws.onnx", samples="data/", output="kws.profile.json")
bundle = glowmcu.compile("kws.onnx", profile="kws.profile.json", board="nrf52")
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from glowmcu.errors import ExitCode, GlowmcuError, Problem
from glowmcu.lazy import lazy_names
from glowmcu.limits import memory_limit
from glowmcu.option_words import SerialPort
from glowmcu.version import __version__

if TYPE_CHECKING:
    from glowmcu.api import (
        Benchmark,
        BundleDiff,
        FloatComparison,
        Inspection,
        KernelTuningResult,
        Profile,
        Quantization,
        RuntimeReport,
        TuningResult,
        VerificationReport,
        bench,
        compare,
        compile,
        diff,
        example,
        export,
        inspect,
        profile,
        tune,
        tune_kernels,
        verify,
        verify_against,
    )
    from glowmcu.bundle import Bundle, Report, load
    from glowmcu.report.page_file import ReportPage, report

__all__ = [
    "Benchmark",
    "Bundle",
    "BundleDiff",
    "ExitCode",
    "FloatComparison",
    "GlowmcuError",
    "Inspection",
    "KernelTuningResult",
    "Problem",
    "Profile",
    "Quantization",
    "Report",
    "ReportPage",
    "RuntimeReport",
    "SerialPort",
    "Session",
    "TuningResult",
    "VerificationReport",
    "__version__",
    "bench",
    "compare",
    "compile",
    "diff",
    "example",
    "export",
    "inspect",
    "load",
    "memory_limit",
    "profile",
    "report",
    "tune",
    "tune_kernels",
    "verify",
    "verify_against",
]

_ELSEWHERE = {
    **dict.fromkeys(("Bundle", "Report", "load"), "glowmcu.bundle"),
    "Session": "glowmcu.session",
    **dict.fromkeys(("ReportPage", "report"), "glowmcu.report.page_file"),
}
_HERE = ("ExitCode", "GlowmcuError", "Problem", "SerialPort", "__version__", "memory_limit")

if not TYPE_CHECKING:  # to a type checker it would mean that every name is there
    __getattr__ = lazy_names(
        __name__,
        {name: _ELSEWHERE.get(name, "glowmcu.api") for name in __all__ if name not in _HERE},
    )


def __dir__() -> list[str]:
    """What a program may use; a notebook completes these."""
    return list(__all__)


class _Namespace(ModuleType):
    """Two folders of the package are called like functions of its API, `verify` and `report`: who
    imports one of their modules must not take the function away. The function has the folder's
    modules as attributes, so that `import glowmcu.report.tables as t` finds them.
    """

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """By its name: what sends functions to other processes (joblib, Dask, Ray) knows modules by
        their exact type.
        """
        return import_module, (self.__name__,)

    def __setattr__(self, name: str, value: object) -> None:
        folder = sys.modules.get(f"{self.__name__}.{name}")
        if isinstance(value, ModuleType) and name in __all__:
            value.__class__ = _Folder
            return
        super().__setattr__(name, value)
        if isinstance(folder, _Folder):
            folder.show_modules()


class _Folder(ModuleType):
    """A folder that is called like a function."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if isinstance(value, ModuleType):
            self.show_modules()

    def show_modules(self) -> None:
        """Those that were imported so far, as attributes of the function, if that was, too."""
        parent, _, name = self.__name__.rpartition(".")
        function = vars(sys.modules[parent]).get(name)
        if function is None:
            return
        for child, value in vars(self).items():
            if getattr(value, "__name__", "") == f"{self.__name__}.{child}":
                setattr(function, child, value)


sys.modules[__name__].__class__ = _Namespace
