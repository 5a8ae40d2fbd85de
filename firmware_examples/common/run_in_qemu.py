"""Runs a firmware in QEMU and shows its serial line until it says "done" or "fault".

Usage: run_in_qemu.py --machine MACHINE [--serial N] firmware.elf. Exit code 0 after "done".
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import threading


def main() -> int:
    """Parse, run, stop."""
    parser = argparse.ArgumentParser(description="run a firmware in QEMU until it says done")
    parser.add_argument("--machine", required=True, help="as in qemu-system-arm -machine help")
    parser.add_argument("--serial", type=int, default=0, help="which serial line is read")
    parser.add_argument("--seconds", type=float, default=120, help="give up after these")
    parser.add_argument("--shift", type=int, help="an instruction takes 2^SHIFT ns, not host time")
    parser.add_argument("firmware")
    arguments = parser.parse_args()
    if not arguments.machine:
        sys.exit("QEMU does not have this board: use `make renode`, or another BOARD")
    if shutil.which("qemu-system-arm") is None:
        sys.exit("qemu-system-arm is not installed (Debian: apt-get install qemu-system-arm)")
    qemu = command(arguments.machine, arguments.serial, arguments.firmware)
    return run(qemu + clock(arguments.shift), arguments.seconds)


def clock(shift: int | None) -> list[str]:
    """Timers that count instructions and skip what is slept: every run is the same."""
    return [] if shift is None else ["-icount", f"shift={shift},sleep=off"]


def command(machine: str, serial: int, firmware: str) -> list[str]:
    """QEMU with one serial line on standard output."""
    lines = ["-serial", "null"] * serial + ["-serial", "stdio"]
    quiet = ["-display", "none", "-monitor", "none", "-nic", "none"]
    return ["qemu-system-arm", "-machine", machine, *quiet, *lines, "-kernel", firmware]


def run(qemu: list[str], seconds: float) -> int:
    """Print lines as they come; 0 after "done"."""
    process = subprocess.Popen(
        qemu, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace"
    )
    watchdog = threading.Timer(seconds, process.kill)
    watchdog.start()
    assert process.stdout is not None
    try:
        for line in process.stdout:
            print(line.rstrip("\r\n"), flush=True)
            if line.strip() == "done":
                return 0
            if line.startswith("fault"):
                return 1
        print(f"no `done` within {seconds:g} s, or QEMU ended", file=sys.stderr)
        return 1
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
