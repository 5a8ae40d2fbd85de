"""Renode's keywords that a generated `.robot` file uses, played from a recorded console.

Names and argument names are those of Renode's own keyword providers, at renode/renode 06854d4d:
src/Renode/RobotFrameworkEngine/UartKeywords.cs and RenodeKeywords.cs. A keyword that Renode does
not have, or an argument it does not know, fails here as it would there.
"""

from __future__ import annotations

from pathlib import Path


class fake_renode:
    """Library for Robot Framework, which wants a class of the module's name."""

    ROBOT_LIBRARY_SCOPE = "SUITE"
    # What printing and painting cost between the two lines.
    OVERHEAD = 5321

    def __init__(self, console: str, log: str, loop: str = "4000001") -> None:
        self.lines = Path(console).read_text(encoding="utf-8").splitlines()
        self.log = Path(log)
        self.loop = int(loop)
        self.executed = 1000
        self.cost = 0
        self.tester = False
        self.paused = True
        self.failing: list[str] = []

    def execute_command(self, command: str, machine: str | None = None) -> str:
        with self.log.open("a", encoding="utf-8") as log:
            log.write(command + "\n")
        if command == "sysbus.cpu ExecutedInstructions":
            return f"0x{self.executed:016X}\n"
        return ""

    def start_emulation(self) -> None:
        with self.log.open("a", encoding="utf-8") as log:
            log.write("start\n")

    def create_terminal_tester(
        self, uart: str, timeout: float | None = None, machine: str | None = None
    ) -> int:
        assert uart.startswith("sysbus.")
        assert float(timeout or 0) > 0
        self.tester = True
        return 0

    def register_failing_uart_string(
        self,
        pattern: str,
        treatAsRegex: bool = False,
        testerId: int | None = None,
    ) -> None:
        self.failing.append(pattern)

    def wait_for_line_on_uart(
        self,
        content: str,
        timeout: float | None = None,
        testerId: int | None = None,
        treatAsRegex: bool = False,
        includeUnfinishedLine: bool = False,
        pauseEmulation: bool | None = None,
        matchNextLine: bool | None = None,
    ) -> str:
        assert self.tester, "there is no terminal tester yet"
        if not self.paused:
            # The board ran on meanwhile, perhaps to its end: failing lines are looked for first.
            for line in self.lines:
                self._check(line)
        self.paused = str(pauseEmulation).lower() == "true"
        while self.lines:
            line = self.lines.pop(0)
            self._check(line)
            self._execute(line)
            if content in line:
                return line
        raise AssertionError(f"Terminal tester failed! {content!r} has not been printed")

    def _check(self, line: str) -> None:
        if any(pattern in line for pattern in self.failing):
            raise AssertionError(f"Test failing entry has been found on UART: {line}")

    def _execute(self, line: str) -> None:
        """Between "run" and "done" lies what the call costs."""
        words = line.split()
        if words[:2] == ["glowmcu", "run"]:
            number = int(words[3])
            self.cost = {"empty": 1, "loop": self.loop}.get(words[2], 1000 + number)
        elif words[:2] == ["glowmcu", "done"]:
            self.executed += self.OVERHEAD + self.cost
