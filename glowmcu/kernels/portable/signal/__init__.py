"""Kernels of sound: Fourier transforms, filter banks, frames; for any core."""
