"""Kernels of 16-bit activations, for any core."""
