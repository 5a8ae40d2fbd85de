"""Cheap requantization, and its proofs that every result is TensorFlow Lite's."""
