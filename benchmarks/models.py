"""What is measured: the models, the targets, and the figures of others to stand beside."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
SHARED = REPO.parent / "shared" / "models"


@dataclass(frozen=True)
class Model:
    """A model file; `equality_inputs` random inputs are compared with the oracle. `input_of_rows`
    has rows that can be pushed.
    """

    name: str
    path: Path
    what: str
    equality_inputs: int = 100
    input_of_rows: str = ""


MODELS = (
    Model("digits", REPO / "examples/digits/digits_int8.tflite", "this repository's digits",
          input_of_rows="pixels"),
    Model("kws", SHARED / "kws_int8.tflite", "MLPerf Tiny keyword spotting",
          input_of_rows="input_1"),
    Model("vww", SHARED / "vww_int8.tflite", "MLPerf Tiny visual wake words",
          input_of_rows="input_1_int8"),
    Model("ic", SHARED / "ic_int8.tflite", "MLPerf Tiny image classification",
          input_of_rows="input_1_int8"),
    Model("ad", SHARED / "ad_int8.tflite", "MLPerf Tiny anomaly detection"),
    Model("sww", SHARED / "sww_int8.tflite", "MLPerf Tiny streaming wake word",
          input_of_rows="serving_default_input_1:0"),
)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """A core, the board whose flags and limits are used, and the executor that measures it."""

    core: str
    board: str
    executor: str


TARGETS = (
    Target("cortex-m4", "nucleo-l4r5zi", "cortex-m"),
    Target("cortex-m0plus", "rp2040", "cortex-m"),
    Target("cortex-m3", "mps2-an385", "cortex-m"),
    Target("cortex-m7", "nucleo-h743zi", "cortex-m"),
    Target("cortex-m33", "nrf5340", "cortex-m"),
    Target("cortex-m55", "mps3-an547", "cortex-m"),
)

#: Measured too, and not compared with TensorFlow Lite Micro input by input.
MORE_TARGETS = (Target("hazard3", "rp2350-riscv", "riscv"),)

#: What else is measured on the first target: `--optimize` and whether to simplify.
GOALS = (
    ("balanced", True), ("speed", True), ("size", True), ("ram", True), ("balanced", False),
    ("speed", False),
)  # fmt: skip

#: Ways in which an input with rows comes that is not in the arena as a whole, and goals for them.
INPUT_WAYS = ("streamed", "outside")
OTHER_INPUT_GOALS = ("balanced", "ram")

#: TensorFlow Lite Micro with CMSIS-NN, arm-none-eabi-gcc 12.2, TFLM's own release flags, QEMU, one
#: warm Invoke: millions of instructions by core, and the arena in bytes as TFLM reports it.
TFLM_CMSIS_NN = {
    "kws": ({"cortex-m4": 7.699, "cortex-m7": 7.645, "cortex-m55": 1.815, "cortex-m3": 10.534,
             "cortex-m0plus": 29.002}, 22_820),
    "vww": ({"cortex-m4": 24.102, "cortex-m7": 24.026, "cortex-m55": 6.558, "cortex-m3": 31.959,
             "cortex-m0plus": 86.900}, 100_708),
    "ic": ({"cortex-m4": 29.864, "cortex-m7": 30.027, "cortex-m55": 4.911, "cortex-m3": 41.847,
            "cortex-m0plus": 97.554}, 54_996),
    "ad": ({"cortex-m4": 0.583, "cortex-m7": 0.583, "cortex-m55": 0.150, "cortex-m3": 0.956,
            "cortex-m0plus": 1.763}, 2_580),
    "sww": ({"cortex-m4": 2.227, "cortex-m7": 2.188, "cortex-m55": 0.407, "cortex-m3": 4.728,
             "cortex-m0plus": 9.544}, 16_596),
}  # fmt: skip
