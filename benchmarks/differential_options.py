"""Which options of `glowmcu compile` the differential test draws, and why it does not draw others.

A test compares this with the command's options and with what is recorded, so that a new option is
not forgotten.
"""

from __future__ import annotations

#: Options with what the ledger calls them; of those that every bundle has, the kind of its counts.
DRAWN = {
    "--board": "board", "--optimize": "goal", "--name": "named", "--rounding": "rounding single",
    "--profile": "profile", "--samples": "quantized here", "--io": "io",
    "--quantization": "quantized here", "--schema": "schema", "--calibration": "calibration",
    "--equalize": "equalized", "--adaround": "adaround", "--bias-correction": "bias correction",
    "--weights": "weights by pointer", "--per-tensor-weights": "one scale of weights",
    "--keep-float": "kept float", "--int16": "int16", "--input-shape": "fixed shape",
    "--define": "open size", "--bind": "bound input", "--state": "carried state",
    "--input-layout": "channels last", "--camera": "camera", "--slide": "sliding window",
    "--arena-budget": "arena budget", "--flash-budget": "flash budget",
    "--place": "placed by name", "--stream-input": "streamed input",
    "--outside-input": "outside input", "--keep-input": "kept input", "--steps": "steps",
    "--cores": "two cores", "--accelerator": "accelerator", "--prefetch": "prefetch",
    "--instrument": "observed", "--dump-tensors": "tensors shown", "--train": "learns",
    "--loss": "squared error", "--learning-rate": "learning rate", "--momentum": "momentum",
    "--train-numbers": "learns in fixed", "--simplify": "no simplification",
    "--kernels": "kernels of a file",
}  # fmt: skip
#: Beside options: models that are no network of one rate, and weights of four bits of both kinds.
ALSO_DRAWN = ("pipeline", "weights of four bits", "four bits", "learns in float32", "prototypes",
              "neighbours", "normality", "rounding litert", "uint8 at the border")  # fmt: skip
_ELSEWHERE = "the C is the same: it says what else is written or shown"
_REFUSES = "the C is the same: it refuses, or lets through"
#: Options that are not drawn, with the reason.
NOT_DRAWN = {
    "--output": "the folder of the bundle",
    "--emit": _ELSEWHERE,
    "--package": _ELSEWHERE,
    "--json": _ELSEWHERE,
    "--explain": _ELSEWHERE,
    "--pareto": _ELSEWHERE,
    "--report": _ELSEWHERE,
    "--dump-ir": _ELSEWHERE,
    "--require-sqnr": _REFUSES,
    "--require-agreement": _REFUSES,
    "--max-memory": _REFUSES,
    "--preprocess": "makes samples of images; arrays are drawn in their place",
    "--custom": "the C is the user's own, or of a definition: tests/custom draws those",
    "--labels": "adds names of classes, which no run reads: tests/bundle compiles them",
}
