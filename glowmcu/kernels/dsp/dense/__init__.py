"""Matrices times pixels with the DSP instructions: 1x1 convolutions and fully connected."""
