"""Which variant computes a node: searches, choices that were measured, kernels of rows."""
