"""Prints samples.h: held-out digits as C arrays. Usage: make_samples.py NPZ COUNT."""

from __future__ import annotations

import sys

import numpy as np


def main() -> None:
    """Print the header."""
    samples = np.load(sys.argv[1])
    count = int(sys.argv[2])
    images = samples["inputs"][:count].reshape(count, -1)
    rows = ",\n".join("    { " + ", ".join(map(str, image)) + " }" for image in images)
    labels = ", ".join(map(str, samples["labels"][:count]))
    print("/* samples.h: held-out digits, written by make_samples.py. */")
    print("#include <stdint.h>\n")
    print(f"#define SAMPLE_COUNT {count}\n")
    print(f"static const int8_t sample_pixels[SAMPLE_COUNT][{images.shape[1]}] = {{\n{rows}\n}};")
    print(f"static const int8_t sample_labels[SAMPLE_COUNT] = {{ {labels} }};")


if __name__ == "__main__":
    main()
