"""Kernels for cores with the DSP instructions: M4, M7, M33."""
