"""Orders of instructions for cores that issue two of them in a cycle."""
