"""Emission: a planned program and its kernels become text files. Templates read frozen views only."""
