"""Architectures that people put on microcontrollers, a few lines each. Needs PyTorch."""
