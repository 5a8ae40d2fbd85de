"""Search for the quantization that is best on the user's data and fits the user's part."""
