"""Robot files played with a recorded console in Renode's place."""

from __future__ import annotations

from pathlib import Path


def play(robot: Path, console: str, folder: Path, dry: bool = False, loop: int = 4000001) -> int:
    """Let Robot Framework run the file; its exit code. `dry` resolves keywords and arguments only.

    Commands to Renode are left in `commands.txt`, what Robot Framework shows in `robot.txt`.
    """
    from robot.api import TestSuite

    recorded = folder / "recorded.txt"
    recorded.write_text(console, encoding="utf-8")
    suite = TestSuite.from_file_system(robot)
    library = Path(__file__).with_name("fake_renode.py")
    arguments = [str(recorded), str(folder / "commands.txt"), str(loop)]
    suite.resource.imports.library(str(library), arguments)
    with (folder / "robot.txt").open("w") as shown:
        result = suite.run(output=None, log=None, report=None, dryrun=dry, stdout=shown)
    return int(result.return_code)
