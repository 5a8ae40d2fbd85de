"""NNEF, the exchange format of the Khronos Group, for GlowMCU."""
