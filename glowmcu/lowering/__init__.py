"""Lowering: a graph becomes a simpler one with the same meaning, one pass a file."""
