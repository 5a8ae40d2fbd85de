"""What pages take for granted: files that a reader brings along, and what cannot be typed here."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.conftest import REPO

EXAMPLES = REPO / "examples"

#: Commands that are not run, and why: their words are compared with what exists all the same.
NOT_RUN = {
    r"pip install|python3? -m venv|source |\. \.venv": "test_quick_start.py does it, from nothing",
    r"(sudo )?apt-get": "installs packages; their names are compared with scripts/setup.sh",
    r"glowmcu .*serial:": "needs a board",
    r"glowmcu flash ": "needs a flash tool and a board",
    r"glowmcu (tune --kernels|compile .*--kernels)": "tests/tuning measures kernels, for long",
    r"glowmcu compile .*--accelerator ethos-u": "needs Vela: tests/delegation has it",
    r"glowmcu doctor": "ends with 2 where a tool is missing",
    r"make .*UART=": "needs the reader's own driver",
    r"qemu-system-\w+ .*-serial pty": "tests/verify/test_board_pages.py types it: it never ends",
    r"renode-test ": "needs Renode: the tests marked `renode`",
    r"make (demo|test|test-quick)\b|scripts/test": "is the test suite itself, or has a test",
    r"make (run|renode|MICROPHONE)|cmake -B|cd \w+_\w+$": "tests/firmware_examples does it",
    r"python -m (examples|benchmarks)\.": "trains or measures for minutes",
    r"python -m glowmcu\.ci": "needs a repository with a history: tests/ci has one",
    r"dask |glowmcu tune .*dask://": "a cluster never ends: tests start one of their own",
    r"eval .*zsh_source": "needs zsh",
    r"tosa-opt|iree-compile": "tests/frontend/test_tosa_export.py calls both",
}

#: Words added to a command that would take long.
SHORTER = {"glowmcu tune ": "--trials 2"}


@dataclass(frozen=True)
class Brought:
    """`files` are copied, or made by a function of the path; `before` is typed first; `names` is
    the Python that comes before a page's own; without the modules `needs` it is not read; lines
    `shown` come out.
    """

    files: Mapping[str, Path | Callable[[Path], None]] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    names: str = ""
    needs: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()

    def lay(self, folder: Path) -> None:
        for name, source in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not isinstance(source, Path):
                source(path)
            elif source.is_dir():
                shutil.copytree(source, path)
            else:
                shutil.copy(source, path)


def _onnx(path: Path, inputs: dict[str, tuple[int, list[int | str]]], op: str) -> None:
    """One node over the inputs (element type and shape), and a constant W where only one is."""
    onnx = __import__("onnx")
    helper = onnx.helper
    values = [helper.make_tensor_value_info(n, t, shape) for n, (t, shape) in inputs.items()]
    weights = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
    constants = [] if len(inputs) > 1 else [onnx.numpy_helper.from_array(weights, "W")]
    node = helper.make_node(op, [*inputs, *(c.name for c in constants)], ["y"])
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "model", values, [result], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def _reshaping(path: Path) -> None:
    _onnx(path, {"x": (1, [2, 12]), "shape": (7, [2])}, "Reshape")


def _open_sequence(path: Path) -> None:
    _onnx(path, {"x": (1, [1, "T", 8])}, "MatMul")


def _shape(path: Path) -> None:
    np.save(path, np.array([4, 6], np.int64))


def _own_board(path: Path) -> None:
    text = (REPO / "boards" / "nrf52.toml").read_text(encoding="utf-8")
    path.write_text(text.replace('name = "nrf52"', f'name = "{path.stem}"'), encoding="utf-8")


DIGITS = EXAMPLES / "digits"
KWS = Brought({"kws.tflite": DIGITS / "digits_int8.tflite"})
QUANTIZED = (
    "glowmcu profile digits.onnx --samples calibration.npz -o digits.profile.json",
    "glowmcu export digits.onnx --profile digits.profile.json --io float -o model.tflite",
)

BROUGHT = {
    "README.md": Brought(
        {
            "hello/kws.tflite": DIGITS / "digits_int8.tflite",
            "hello/model.onnx": DIGITS / "digits.onnx",
            "samples.npz": DIGITS / "calibration.npz",
        },
        names="import numpy as np\nx = np.zeros((1, 8, 8, 1), np.int8)\n"
        "x_train = np.load('samples.npz')['inputs']\n",
    ),
    "docs/border.md": Brought(
        {name: DIGITS / name for name in ("digits.onnx", "calibration.npz")}, QUANTIZED
    ),
    "docs/accelerators.md": KWS,
    "docs/boards/esp32.md": KWS,
    "docs/boards/index.md": Brought({**KWS.files, "mine.toml": _own_board}),
    "docs/boards/mps2.md": KWS,
    "docs/boards/nordic.md": KWS,
    "docs/boards/raspberry_pi_pico.md": KWS,
    "docs/boards/stm32.md": KWS,
    "docs/build_systems.md": KWS,
    "docs/from_keras.md": Brought(needs=("tensorflow",)),
    "docs/from_pytorch.md": Brought(needs=("torch", "onnxscript")),
    "docs/from_quantized_training.md": Brought(needs=("torch", "brevitas", "onnxoptimizer")),
    "docs/from_scikit_learn.md": Brought(needs=("sklearn", "skl2onnx")),
    "docs/limits.md": Brought({"large.tflite": DIGITS / "digits_int8.tflite"}),
    "docs/memory.md": Brought(
        dict.fromkeys(("digits.tflite", "ad_int8.tflite"), DIGITS / "digits_int8.tflite")
    ),
    "docs/onnx.md": Brought({"model.onnx": _reshaping, "shape.npy": _shape}),
    "docs/open_sizes.md": Brought({"model.onnx": _open_sequence}),
    "docs/oracles.md": Brought(
        {"model.onnx": DIGITS / "digits.onnx", "data.npz": DIGITS / "calibration.npz"},
        needs=("tflite_micro", "ai_edge_litert"),
    ),
    "docs/other_compilers.md": Brought({**KWS.files, "digits.onnx": DIGITS / "digits.onnx"}),
    "docs/portability.md": KWS,
    "docs/python.md": Brought(needs=("torch", "onnxscript")),
    "docs/renode.md": KWS,
    "docs/flash.md": Brought({"ad_int8.tflite": DIGITS / "digits_int8.tflite"}),
    "docs/report.md": KWS,
    "docs/states.md": Brought(
        names="import numpy as np\nwindows = np.zeros((5, 1, 480), np.int16)\n"
    ),
    "docs/two_cores.md": KWS,
    "docs/tutorial.md": Brought(
        shown=("  arena    1 216 B, lower bound 1 216 B, optimal", "  weights  6 124 B", "\n7\n")
    ),
    "docs/tuning.md": Brought(
        {
            "kws.onnx": EXAMPLES / "vowels" / "model.onnx",
            "data.npz": EXAMPLES / "vowels" / "test_samples.npz",
        },
        (
            "glowmcu profile kws.onnx --samples data.npz -o kws.profile.json",
            "glowmcu compile kws.onnx --profile kws.profile.json -o build/kws",
        ),
    ),
    **{
        f"examples/{folder.name}/README.md": Brought({f"examples/{folder.name}": folder})
        for folder in sorted(EXAMPLES.iterdir())
        if (folder / "README.md").exists()
    },
}
