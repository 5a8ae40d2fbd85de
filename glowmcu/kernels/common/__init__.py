"""What kernels share: bounds of sums, broadcasting, overlaps, elements in C, fields of structs."""
