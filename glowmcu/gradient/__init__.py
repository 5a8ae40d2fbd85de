"""Reverse-mode differentiation of the graph IR: a rule for each operator, in existing operators."""
