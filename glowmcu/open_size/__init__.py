"""Bundles of which a size is given at run time: `--define T=1..200`."""
