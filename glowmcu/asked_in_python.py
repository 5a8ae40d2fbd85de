"""Messages for who has no command line: arguments of Python in the place of options.

Errors are worded once, with the options of the commands; `in_python` says the same to a program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from glowmcu.lazy_dataclass import dataclass

#: Where a model in memory is said to be. No file is there: data beside it cannot be meant.
MEMORY = "<memory>"


def is_in_memory(where: str) -> bool:
    """Whether a place (`<memory>/model.onnx, input 'x'`) is of a model that is no file."""
    return where.startswith(f"{MEMORY}/")


def in_python(text: str) -> str:
    """`raise --arena-budget 9` becomes `raise arena_budget=9`. Whole commands stay as they are:
    they can be typed, whoever reads them. So do options of commands that Python has not.

    >>> from glowmcu.asked_in_python import in_python
    >>> in_python("fix it: --define N=1 --define T=1..9; `glowmcu compile --define N=1`")
    "fix it: define={'N': 1, 'T': (1, 9)}; `glowmcu compile --define N=1`"
    """
    return _command_or_options().sub(lambda found: found["command"] or _arguments(found[0]), text)


@dataclass(frozen=True)
class Argument:
    """`name` is the argument's, `value` the pattern of what an option may be followed by, `written`
    writes that as Python does. With `brackets` several values are one. A `choice` is a field of
    `Quantization`.
    """

    name: str
    value: str = r"(?!)"
    written: Callable[[str], str] = str
    brackets: str = ""
    choice: bool = False


def _word(text: str) -> str:
    """In quotes, unless it stands for a value (FILE) or is a number."""
    return text if text.isdigit() or text.isupper() else repr(text)


def _words(text: str) -> str:
    return ", ".join(map(_word, text.strip("'").split(",")))


def _pair(written: Callable[[str], str]) -> Callable[[str], str]:
    def item(text: str) -> str:
        name, _, value = text.strip("'").rpartition("=")
        return f"{name if name == 'NAME' else repr(name)}: {written(value)}"

    return item


def _sizes(text: str) -> str:
    """Of a shape, `1x4xT`."""
    sizes = [size if size.isdigit() else repr(size) for size in text.split("x")]
    return f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"


def _range(text: str) -> str:
    """Of a size, `1`, `1..9` or `2..8:2`."""
    ends = text.replace("..", ":").split(":")
    return ends[0] if len(ends) == 1 else f"({', '.join(ends)})"


def _state(text: str) -> str:
    return "" if text == "none" else _pair(_word)(text)


def _gibibytes(text: str) -> str:
    return f"{text.removesuffix('G')} << 30"


def _array(text: str) -> str:
    return text.removesuffix(".npy")


_PLACE = r"[A-Z]+\b"
_NUMBER = rf"\d+\b|{_PLACE}"
_FILE = rf"none\b|[^\s,;:)]+\.\w+|{_PLACE}"
_PAIR = r"'[^'=]+=[^']+'|[^\s=]+=[^\s,;)]+"
_LAYERS = r"(?:last=\w+|prototypes=\w+|neighbours=\w+|normal\b|bias\b|[a-z]+_\d+)"
# In quotes where a shell needs them: a name that a message merely quotes stays as it is.
_NAMES = r"'[^']*[^\w@%+=:,./'-][^']*'|[^\s,;:)']+(?:,[^\s,;:)']+)*"


def _mapping(name: str, written: Callable[[str], str] = _word) -> Argument:
    return Argument(name, _PAIR, _pair(written), "{}")


#: By option. A test compares the names with those of public functions.
ARGUMENTS: Mapping[str, Argument] = {
    "--bind": _mapping("bind", _array),
    "--custom": _mapping("custom", _word),
    "--camera": _mapping("camera"),
    "--define": _mapping("define", _range),
    "--input-layout": _mapping("input_layouts"),
    "--input-shape": _mapping("input_shapes", _sizes),
    "--place": _mapping("place"),
    "--slide": _mapping("slide"),
    "--state": Argument("states", rf"none\b|{_PAIR}", _state, "{}"),
    "--accelerator": Argument("accelerator", rf"ethos-u[\d-]+|{_FILE}", _word),
    "--board": Argument("board", rf"generic\b|[a-z][\w-]*\d[\w-]*|{_PLACE}", _word),
    "--core": Argument("core", rf"(?:cortex|rv32|hazard)[\w-]+|{_PLACE}", _word),
    "--format": Argument("format", r"(?:tflite|tflm|tosa|stablehlo)\b", _word),
    "--emit": Argument("emit", r"[a-z][a-z-]+", _word),
    "--io": Argument("io", r"u?int8\b|float\b", _word),
    "--rounding": Argument("rounding", r"double\b|single\b|litert\b", _word),
    "--name": Argument("name", r"\w+", _word),
    "--on": Argument("on", r"host\b|cortex-m\b|riscv\b|qemu\b|renode\b|serial:\w+", _word),
    "--optimize": Argument("optimize", r"(?:balanced|speed|size|ram|flash)\b", _word),
    "--weights": Argument("weights", r"(?:pointer|linked|4|8|mixed)\b", _word),
    "--wait-states": Argument("wait_states", rf"board\b|{_NUMBER}", _word),
    **{
        option: Argument(option[2:].replace("-", "_"), _NUMBER)
        for option in (
            "--arena-budget", "--cycle-budget", "--flash-budget", "--max-cycles", "--max-stack",
            "--cores",
        )
    },
    **{
        option: Argument(option.lstrip("-"), _FILE, _word)
        for option in (
            "--cache", "--hooks", "--kernels", "--labels", "--model", "--output", "--preprocess",
            "--profile", "--samples",
        )
    },
    "-o": Argument("output", _FILE, _word),
    "--dump-ir": Argument("dump_ir", _FILE, _word),
    "--keep-input": Argument("keep_inputs", rf"{_PLACE}", _words, "[]"),
    "--outside-input": Argument("outside_inputs", rf"{_PLACE}", _words, "[]"),
    "--stream-input": Argument("stream_inputs", rf"{_PLACE}", _words, "[]"),
    "--quantization": Argument("search", r"(?:automatic|plain)\b", _word),
    "--calibration": Argument(
        "calibration", r"(?:minmax|percentile|mse|entropy)\b", _word, choice=True
    ),
    "--require-agreement": Argument("require_agreement", r"\d+(?:\.\d+)?"),
    "--require-sqnr": Argument("require_sqnr", r"-?\d+(?:\.\d+)?"),
    "--int16": Argument("int16", _NAMES, _words, "[]", choice=True),
    "--keep-float": Argument("keep_float", _NAMES, _words, "[]", choice=True),
    "--dump-tensors": Argument("dump_tensors"),
    "--train": Argument("train", rf"{_LAYERS}(?:,{_LAYERS})*", _word),
    "--loss": Argument("loss", r"(?:squared-error|cross-entropy)\b", _word),
    "--learning-rate": Argument("learning_rate", r"\d+(?:\.\d+)?"),
    "--train-numbers": Argument("train_numbers", r"(?:fixed|float32)\b", _word),
    "--momentum": Argument("momentum", r"\d+(?:\.\d+)?"),
    "--force": Argument("force"),
    "--adaround": Argument("adaround=True", choice=True),
    "--equalize": Argument("equalize=True", choice=True),
    "--hot": Argument("hot"),
    "--input": Argument("array of inputs"),
    "--instrument": Argument("instrument"),
    "--max-memory": Argument("glowmcu.memory_limit", r"\d+G\b", _gibibytes, "()"),
    "--package": Argument("package"),
    "--prefetch": Argument("prefetch"),
    "--pareto": Argument("pareto"),
    "--steps": Argument("steps"),
}  # fmt: skip


@cache
def _command_or_options() -> re.Pattern[str]:
    """Made when there is something to say: it is as long as all options together."""
    option = "|".join(
        rf"{option}(?![\w-])(?: (?:{argument.value}))?" for option, argument in ARGUMENTS.items()
    )
    return re.compile(
        rf"(?P<command>`(?:glowmcu )?[a-z]+ [^`]*`|\bglowmcu [a-z]+ [^,;]*)"
        rf"|(?<![\w-])(?:{option})(?: (?:{option}))*"
    )


def _arguments(text: str) -> str:
    """Of options one behind the other."""
    values: dict[str, list[str]] = {}
    for option, value in re.findall(r"(?<!\S)(--?[a-z][\w-]*)(?: (?!-)('[^']*'|\S+))?", text):
        argument = ARGUMENTS[option]
        values.setdefault(option, []).extend([argument.written(value)] if value else [])
    choices, others = list[str](), list[str]()
    for option, given in values.items():
        written = _argument(ARGUMENTS[option], given)
        is_choice = ARGUMENTS[option].choice and "=" in written
        (choices if is_choice else others).append(written)
    if choices:
        others.append(f"quantization=glowmcu.Quantization({', '.join(choices)})")
    return ", ".join(others)


def _argument(argument: Argument, values: list[str]) -> str:
    if not values:
        return argument.name
    opening, closing = argument.brackets[:1], argument.brackets[1:]
    equals = "" if opening == "(" else "="  # a function is called
    return f"{argument.name}{equals}{opening}{', '.join(values)}{closing}"
