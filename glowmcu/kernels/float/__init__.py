"""Kernels of float32 on cores with an FPU, and what streams rows of float32 anywhere."""
