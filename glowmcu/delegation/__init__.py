"""Accelerators: which regions of a graph they compute, and what becomes of them."""
