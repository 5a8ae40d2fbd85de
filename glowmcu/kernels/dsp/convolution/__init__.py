"""Convolutions with the DSP instructions."""
