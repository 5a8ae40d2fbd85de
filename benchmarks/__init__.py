"""Everything that is claimed about cost, measured again by one command: `python -m benchmarks`."""
