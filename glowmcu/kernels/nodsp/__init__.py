"""Kernels for Thumb cores without the DSP instructions: M0, M0+, M3."""
