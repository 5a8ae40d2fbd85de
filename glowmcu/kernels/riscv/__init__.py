"""Kernels for 32-bit RISC-V with multiplication: no SIMD, but 31 registers and a high product."""
