"""`python -m glowmcu`: the same as the console script."""

import sys

from glowmcu.cli import main

if __name__ == "__main__":
    sys.exit(main())
