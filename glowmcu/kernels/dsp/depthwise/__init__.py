"""Depthwise convolutions with the DSP instructions."""
