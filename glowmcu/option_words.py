"""The words that options of the Python API take, as types: a type checker finds a wrong one.

    from glowmcu.option_words import Optimize

    def best(goal: Optimize) -> None: ...

The enums of the stages decide what the words mean; a test compares them with these.
"""

from __future__ import annotations

from typing import Literal, NewType

#: What kernel selection and memory planning minimise first.
Optimize = Literal["balanced", "speed", "size", "ram", "flash"]
#: Whose numbers. double: TensorFlow Lite Micro; single: XNNPACK, which LiteRT uses by default;
#: litert: LiteRT's reference kernels.
RoundingWord = Literal["double", "single", "litert"]
#: What `export` writes: TensorFlow Lite's file, with weights that TensorFlow Lite Micro's DECODE
#: decompresses (tflm) or without, or MLIR's text of a dialect.
ExportWord = Literal["tflite", "tflm", "tosa", "stablehlo"]
#: Whether samples choose what is left open of a quantization.
SearchWord = Literal["automatic", "plain"]
#: How a range becomes integers.
SchemaWord = Literal[
    "asymmetric", "symmetric", "symmetric_with_uint8", "symmetric_with_power2_scale"
]
#: How a range is chosen. `percentile` takes a share of the values, in percent.
CalibrationWord = Literal[
    "minmax", "percentile", "percentile:99", "percentile:99.9", "percentile:99.99",
    "percentile:99.999", "mse", "entropy",
]  # fmt: skip
#: Any other share: `("percentile", 99.5)`.
Percentile = tuple[Literal["percentile"], float]
#: Type of a bundle's inputs and outputs.
IoWord = Literal["int8", "uint8", "float"]
#: The same where samples decide it: `glowmcu.tune`.
TunedIoWord = Literal["int8", "float"]
#: Whether code names its constants or reaches them through a pointer.
WeightsWord = Literal["linked", "pointer"]
#: Bits of a matrix product's weights; mixed: layer by layer, as the samples bear.
BitsWord = Literal[4, 8, "4", "8", "mixed"]
#: What learning on the device makes smaller.
LossWord = Literal["cross-entropy", "squared-error"]
#: What parameters and gradients are on the device.
TrainNumbersWord = Literal["fixed", "float32"]
#: Order of the axes of a picture.
Layout = Literal["nhwc", "nchw"]
#: Build systems that a bundle can be a package of.
PackageName = Literal[
    "arduino", "cmake", "cmsis-pack", "csolution", "esp-idf", "make", "platformio", "renode",
    "rust", "serial", "zephyr",
]  # fmt: skip
CoreName = Literal[
    "cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33",
    "cortex-m55", "cortex-m85", "rv32imc", "rv32imac", "hazard3", "generic",
]  # fmt: skip
#: What ships with the package to begin with.
ExampleName = Literal["digits", "vowels", "wake_word"]
#: Where a bundle runs, besides real boards.
ExecutorName = Literal["host", "cortex-m", "riscv", "qemu", "renode"]
#: Those that model the cycles of a core.
ModelName = Literal["cortex-m", "riscv"]
#: A board that is connected: `SerialPort("serial:/dev/ttyACM0")`, or `serial:COM3:921600`.
SerialPort = NewType("SerialPort", str)
#: An executor of an installed package, by its name: `PluginName("vx")`.
PluginName = NewType("PluginName", str)
#: Where a bundle runs.
Where = ExecutorName | SerialPort | PluginName
