"""Kernels of 16-bit activations with int8 weights, for cores with Helium."""
