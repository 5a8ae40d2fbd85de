"""The `renode` executor: a bundle on a board in Renode, driven by `renode-test`.

`Renode` builds and runs; `renode_files` gives the texts of the three files that stand beside the
firmware (`.repl` platform, `.resc` script, `.robot` test), for whoever wants to ship them.
"""

from glowmcu.verify.renode.executor import Renode
from glowmcu.verify.renode.files import RenodeFiles, renode_board, renode_files

__all__ = ["Renode", "RenodeFiles", "renode_board", "renode_files"]
