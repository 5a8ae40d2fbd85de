"""Models that the converters of others write: TensorFlow's, LiteRT Torch, AI Edge Quantizer."""
