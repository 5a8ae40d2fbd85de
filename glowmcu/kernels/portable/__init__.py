"""Kernels for any core."""
