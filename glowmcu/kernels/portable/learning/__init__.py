"""Portable kernels of what learns in fixed point."""
