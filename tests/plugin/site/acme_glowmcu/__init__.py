"""What a chip maker adds to GlowMCU from a package of its own.

An operator, the pass that introduces it, a kernel with its C header, and a board.
"""

from pathlib import Path

BOARDS = Path(__file__).parent / "boards"
LIBJIT = Path(__file__).parent / "libjit"
