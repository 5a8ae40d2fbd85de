"""Emission: a planned program and its kernels become text. Templates read frozen views only."""
