"""Kernel selection: which C kernel computes a node, packed how, at what cost, for which target."""
