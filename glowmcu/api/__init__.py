"""The public Python API; `glowmcu` re-exports it."""

from glowmcu.api.compilation import compile
from glowmcu.api.verification import VerificationReport, verify_bundle

__all__ = ["VerificationReport", "compile", "verify_bundle"]
