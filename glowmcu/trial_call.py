"""The first call of C that nobody knows, in a process of its own: it may crash, end the process, or
never come back, and a compiler must not do so with it.
"""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

#: A layer takes milliseconds here.
TIME_LIMIT_SECONDS = 30.0
#: Exit code of a process whose call came back; none that C of a user's ends with.
_CAME_BACK = 77
#: Needs nothing but Python itself. What is written behind a block by mistake hits its margin.
_PROGRAM = f"""
import base64, ctypes, json, os, sys
given = json.load(sys.stdin)
kept, values = [], []
for argument in given["arguments"]:
    if isinstance(argument, str):
        data = base64.b64decode(argument)
        memory = ctypes.create_string_buffer(len(data) + 192)
        place = ctypes.addressof(memory) + 64
        place += -place % 16
        ctypes.memmove(place, data, len(data))
        kept.append(memory)
        values.append(ctypes.c_void_p(place))
    else:
        values.append((ctypes.c_int32 if isinstance(argument, int) else ctypes.c_float)(argument))
function = getattr(ctypes.CDLL(given["library"]), given["function"])
function.restype = None
function(*values)
os._exit({_CAME_BACK})
"""


def trial_call(library: Path, function: str, arguments: Sequence[bytes | int | float]) -> str:
    """Call `function` with pointers to copies of bytes, int32 and float; what went wrong, or ""."""
    sent = [base64.b64encode(a).decode() if isinstance(a, bytes) else a for a in arguments]
    given = json.dumps({"library": str(library), "function": function, "arguments": sent})
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            input=given.encode(), check=False, timeout=TIME_LIMIT_SECONDS,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"it did not return within {TIME_LIMIT_SECONDS:g} seconds"
    code = done.returncode
    if code == _CAME_BACK:
        return ""
    if code < 0:
        names = {known.value: known.name for known in signal.Signals}
        return f"it ended the process: {names.get(-code, f'signal {-code}')}"
    return f"it ended the process with exit code {code}"
