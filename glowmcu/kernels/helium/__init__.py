"""Kernels for cores with Helium (M-profile Vector Extension)."""
