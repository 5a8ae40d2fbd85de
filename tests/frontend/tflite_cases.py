"""One operator each that is imported, by family: what `tflite_damage.py` damages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.frontend.tflite_damage import Case, c, t, w
from tests.frontend.tflite_recurrent_cases import RECURRENT

F, I8, UI8, I16, I32, I64, BOOL = (
    "FLOAT32", "INT8", "UINT8", "INT16", "INT32", "INT64", "BOOL",
)  # fmt: skip
_COMPLEX = "COMPLEX64"
_IMAGE = (1, 5, 6, 4)
_DILATED = {"dilation_h_factor": 1, "dilation_w_factor": 1}
_CUBE = {f"{what}": 1 for axis in "dhw" for what in (f"stride_{axis}", f"dilation_{axis}_factor")}
_SQUARE = {"stride_h": 2, "stride_w": 1, "fused_activation_function": 1}


def _real(*shape: int) -> Any:
    return t(shape, F)


def _one(kind: str, element: str = I8, **options: Any) -> Case:
    """A function of one tensor."""
    return Case(kind, (t(kind=element),), (t(kind=element),), options or None)


def _two(kind: str, element: str = I8, out: str = "", **options: Any) -> Case:
    """A function of two that broadcast."""
    b = t((1, 3), element, 0.25 if element == I8 else None)
    return Case(kind, (t(kind=element), b), (t(kind=out or element),), options or None)


def _svdf(element: str, weights: str, bias: str) -> Case:
    is_real = element == F
    return Case(
        "SVDF",
        (
            t((1, 3), element), w((4, 3), dtype=element), w((4, 2), dtype=weights),
            c([5, 6], bias, () if is_real else (0.125,)),
            t((1, 8), weights, None if is_real else 0.5, variable=True),
        ),
        (t((1, 2), element),), {"rank": 2, "fused_activation_function": 1},
    )  # fmt: skip


def _detection(dtype: str, is_regular: bool, is_open: bool = False) -> Case:
    options = {
        "max_detections": 3, "max_classes_per_detection": 1, "num_classes": 2,
        "nms_score_threshold": 0.5, "nms_iou_threshold": 0.5, "use_regular_nms": is_regular,
        "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0,
        "detections_per_class": 4,
    }  # fmt: skip
    operands = t((1, 4, 4), dtype), t((1, 4, 3), dtype), c(np.ones((4, 4)), F)
    results = _real(1, 3, 4), _real(1, 3), _real(1, 3), _real(1)
    if is_open:
        results = tuple(_real() for _ in results)
    return Case("CUSTOM TFLite_Detection_PostProcess", operands, results, None, options)


def _custom(kind: str, operands: Any, results: Any, **options: float) -> Case:
    return Case(f"CUSTOM {kind}", operands, results, None, options)


def _samples(*shape: int) -> Any:
    return t(shape, I16, 0.0)


def _wide(*shape: int) -> Any:
    return t(shape, "UINT32")


def _decoded(
    encoded: list[int], shape: tuple[int, ...], *own: int, kind: int, values: list[int],
    channels: int = 1,
) -> Case:  # fmt: skip
    """int8 weights as a pair of DECODE's: 16 bytes of metadata go before their values."""
    metadata = [kind, 1, 0, 0, *own]
    ancillary = [*metadata, *[0] * (16 - len(metadata)), *(value % 256 for value in values)]
    result = replace(w(shape, channels), data=None)
    return _custom("TFLM_DECODE", (c(encoded, UI8), c(ancillary, UI8)), (result,))


#: Of Huffman codes 0, 10, 110 and 111: by two bits and, behind 11, by one; 16 bits an entry.
_TABLE = [5, 0x88, 5, 0x88, 0xFD, 0x90, 1, 0, 77, 0x88, 0x80, 0x88]
_BANK = [c([i + 1, i, 3], I16) for i in range(3)]
_COEFFICIENTS = {
    "smoothing": 409, "one_minus_smoothing": 15975, "alternate_smoothing": 983,
    "alternate_one_minus_smoothing": 15401, "min_signal_remaining": 819, "smoothing_bits": 10,
    "spectral_subtraction_bits": 14, "clamping": False,
}  # fmt: skip
_CAST = {"in_data_type": 0, "out_data_type": 0}
_POOL = {"filter_height": 2, "filter_width": 3, **_SQUARE}
_CONV = {"stride_h": 1, "stride_w": 2}

CASES: dict[str, tuple[Case, ...]] = {
    **RECURRENT,
    "activation": (
        _one("ABS"), _one("ELU", F), _one("RELU"), _one("RELU", F), _one("RELU_N1_TO_1", F),
        _one("RELU_N1_TO_1"), _one("RELU_0_TO_1", UI8), _one("RELU6"), _one("RELU6", F),
        _one("RELU6", UI8), _one("LEAKY_RELU", alpha=0.25), _one("GELU", F, approximate=True),
        _one("SQRT"), _one("SQRT", F),
    ),
    "add_n": (
        Case("ADD_N", (t(), t(), t()), (t(),)), Case("ADD_N", (_real(2), _real(2)), (_real(2),)),
    ),
    "angle": (_two("ATAN2", F),),
    "bitwise": (_two("BITWISE_XOR", I32), _two("RIGHT_SHIFT", I32)),
    "cast": (
        Case("CAST", (t(kind=I32),), (t(kind=F),)), Case("BITCAST", (t(kind=I32),), (t(kind=F),)),
    ),
    "circular_buffer": (
        Case(
            "CUSTOM CIRCULAR_BUFFER", (t((1, 1, 2, 3)),), (t((1, 4, 2, 3), variable=True),), None,
            {"cycles_max": 2},
        ),
        Case("CUSTOM CIRCULAR_BUFFER", (t((1, 1, 2, 96)),), (t((1, 5, 2, 96), variable=True),)),
        Case("CUSTOM CIRCULAR_BUFFER", (t((1, 1, 2, 3)),), (t((1, 6, 2, 3), variable=True),)),
    ),
    "bucketize": tuple(
        Case("BUCKETIZE", (t((2, 3), kind),), (t((2, 3), I32),), {"boundaries": [-1.0, 0.5, 2.0]})
        for kind in (F, I32)
    ),
    "comparison": (
        _two("EQUAL", out=BOOL), _two("LOGICAL_AND", BOOL), _one("LOGICAL_NOT", BOOL),
        Case("SELECT", (t(kind=BOOL), t(), t()), (t(),)),
        Case("SELECT", (t((3,), BOOL), t((3,)), t((3,))), (t((3,)),)),
        Case("SELECT_V2", (t((3,), BOOL), t(), t()), (t(),)),
    ),
    "complex_numbers": (
        Case("RFFT2D", (_real(2, 1, 8), c([1, 8])), (t((2, 1, 5), _COMPLEX),)),
        Case("COMPLEX_ABS", (t((2, 5), _COMPLEX),), (_real(2, 5),)),
        Case("REAL", (t((2, 5), _COMPLEX),), (_real(2, 5),)),
        Case("IMAG", (t((5,), _COMPLEX),), (_real(5),)),
        Case("RESHAPE", (t((2, 3), _COMPLEX), c([3, 2])), (t((3, 2), _COMPLEX),)),
        Case("SQUEEZE", (t((1, 3), _COMPLEX),), (t((3,), _COMPLEX),), {"squeeze_dims": [0]}),
    ),
    "convolution": (
        Case(
            "CONV_2D", (t(_IMAGE), w((3, 2, 3, 4), 3), c([1, 2, 3])), (t((1, 4, 2, 3)),),
            {"padding": 1, **_CONV, **_DILATED, "fused_activation_function": 3},
        ),
        Case(
            "CONV_2D", (_real(*_IMAGE), w((3, 2, 3, 4), dtype=F)), (_real(1, 5, 3, 3),),
            {"padding": 0, **_CONV, **_DILATED},
        ),
        Case(
            "CONV_2D", (t(_IMAGE, I16), w((3, 2, 3, 4), 3)), (t((1, 5, 3, 3), I16),),
            {"padding": 0, **_CONV, **_DILATED, "quantized_bias_type": 2},
        ),
        Case(
            "DEPTHWISE_CONV_2D", (t(_IMAGE), w((1, 2, 3, 8), 8, 3), None), (t((1, 3, 6, 8)),),
            {"padding": 0, **_SQUARE, "dilation_h_factor": 2, "dilation_w_factor": 1,
             "depth_multiplier": 2},
        ),
    ),
    "decode": (
        _decoded([0b00011011, 0b11100100], (2, 4), 1, 2, 4, kind=0, channels=2,
                 values=[1, 2, 3, -4, 5, 6, 7, -8]),
        _decoded([0b10100110], (2, 4), 1, kind=2, values=[1, 2, 3, -4]),
        _decoded([0b01011011, 0b10010000, 0, 0], (2, 3), 1, 0x10, kind=1, values=_TABLE),
        _custom("TFLM_DECODE", (c([0b10100000], UI8), c([2, 1, 0, 0, 1, *[0] * 11, 3, 4], UI8),
                c([0b11000000], UI8), c([2, 1, 0, 0, 1, *[0] * 11, 5, 6], UI8)),
                (t((3,), I8, 0.5, 0), t((2, 1), I8, 0.5, 9))),
    ),
    "detection": (_detection(F, is_regular=False), _detection(UI8, is_regular=True),
                  *(_detection(F, regular, is_open=True) for regular in (False, True))),
    "diagonal": (
        Case("MATRIX_DIAG", (t(),), (t((2, 3, 3)),)),
        Case("MATRIX_SET_DIAG", (_real(2, 3, 4), _real(2, 3)), (_real(2, 3, 4),)),
    ),
    "elementwise": (
        _two("ADD", fused_activation_function=1), _two("SUB", F), _two("MUL", I32), _two("DIV", F),
        _two("SQUARED_DIFFERENCE"), _two("MAXIMUM"), _two("PRELU"), _two("POW", F),
        _two("FLOOR_DIV", I32), _two("FLOOR_MOD", F), _two("STABLEHLO_MULTIPLY", F),
    ),
    "gather": (
        Case("GATHER", (t((2, 3, 4)), c([[2, 0], [1, 0]])), (t((2, 2, 4)),),
             {"axis": -2, "batch_dims": 1}),
        Case("GATHER", (t((2, 3)), c([1])), (t((1, 3)),), {"axis": 0}),
        Case("GATHER", (t((2, 3)), t((2,), I32)), (t((2, 2)),), {"axis": 1, "batch_dims": -1}),
        Case("GATHER_ND", (t((2, 3, 4)), c([[1, 2]])), (t((1, 4)),)),
        Case("EMBEDDING_LOOKUP", (t((2,), I32), w((5, 3))), (_real(2, 3),)),
        Case("EMBEDDING_LOOKUP", (c([4, 0]), w((5, 3), dtype=F)), (_real(2, 3),)),
        Case("EMBEDDING_LOOKUP", (t((2,), I32), w((5, 3), 5)), (_real(2, 3),)),
    ),
    "joining": (
        Case("CONCATENATION", (t(), t((2, 1))), (t((2, 4)),), {"axis": -1}),
        Case("PACK", (t(), t()), (t((2, 2, 3)),), {"axis": 1, "values_count": 2}),
    ),
    "matmul": (
        Case("FULLY_CONNECTED", (t((2, 6)), w((3, 6), 3), c([5, 6, 7])), (t((2, 3)),),
             {"fused_activation_function": 1, "keep_num_dims": False}),
        Case("FULLY_CONNECTED", (_real(2, 2, 3), w((3, 6), dtype=F)), (_real(2, 3),), {}),
        Case("FULLY_CONNECTED", (t((2, 2, 3), I16), w((5, 3))), (t((2, 2, 5), I16),),
             {"keep_num_dims": True, "quantized_bias_type": 4}),
        Case("FULLY_CONNECTED", (t((6,)), w((3, 6))), (t((3,)),), {"keep_num_dims": True}),
        Case("FULLY_CONNECTED", (t((2, 1)), w((3, 1))), (t((2, 3)),), {"keep_num_dims": True}),
        Case("BATCH_MATMUL", (t((2, 3)), t((4, 3))), (t((2, 4)),), {"adj_x": False, "adj_y": True}),
    ),
    "non_max_suppression": tuple(
        Case(f"NON_MAX_SUPPRESSION_V{version}",
             (_real(5, 4), _real(5), c(3), c(0.5, F), c(0.25, F), *sigma),
             (t((3,), I32), *scores, t((), I32)))
        for version, sigma, scores in ((4, (), ()), (5, (c(0, F),), (_real(3),)))
    ),
    "normalization": (
        Case("SOFTMAX", (t(),), (t((2, 3), I8, 1 / 256, -128),), {"beta": 1.5}),
        Case("LOG_SOFTMAX", (t(),), (t((2, 3), I8, 1 / 16, 127),)),
        Case("L2_NORMALIZATION", (t(),), (t((2, 3), I8, 1 / 128, 0),), {}),
        Case("LOCAL_RESPONSE_NORMALIZATION", (_real(1, 2, 2, 4),), (_real(1, 2, 2, 4),),
             {"radius": 2, "alpha": 1.5, "beta": 0.5, "bias": 2.5}),
    ),
    "padding": (
        Case("PAD", (t(), c([[0, 1], [2, 0]])), (t((3, 5)),)),
        Case("PAD", (_real(2, 3), c([[0, 1], [2, 0]])), (_real(3, 5),)),
        Case("PADV2", (t(), c([[0, 1], [2, 0]]), c([7], I8, (0.5,))), (t((3, 5), I8, 0.5, 0),)),
        Case("PADV2", (_real(2, 3), c([[0, 1], [2, 0]]), c([1], F)), (_real(3, 5),)),
        Case("MIRROR_PAD", (t(), c([[0, 1], [2, 0]])), (t((3, 5)),), {"mode": 1}),
    ),
    "pooling": (
        Case("AVERAGE_POOL_2D", (t(_IMAGE),), (t((1, 3, 6, 4)),), {"padding": 0, **_POOL}),
        Case("MAX_POOL_2D", (_real(*_IMAGE),), (_real(1, 2, 4, 4),), {"padding": 1, **_POOL}),
    ),
    "quantization": (
        Case("QUANTIZE", (_real(2, 3),), (t(),)), Case("QUANTIZE", (t(),), (t(kind=UI8),)),
        Case("DEQUANTIZE", (t(),), (_real(2, 3),)),
        Case("DEQUANTIZE", (w((2, 3)),), (_real(2, 3),)),
        *(Case("FAKE_QUANT", (x,), (_real(2, 3),),
               {"min": -1.0, "max": 2.0, "num_bits": bits, "narrow_range": False})
          for x, bits in ((_real(2, 3), 8), (_real(2, 3), 12), (w((2, 3), dtype=F), 4))),
    ),
    "reduction": (
        Case("MEAN", (t((2, 3, 4)), c([1, -1])), (t((2,)),), {"keep_dims": False}),
        Case("REDUCE_PROD", (t(), c([1])), (t((2,)),), {"keep_dims": False}),
        Case("REDUCE_ANY", (t((2, 3), BOOL), c([1])), (t((2, 1), BOOL),), {"keep_dims": True}),
    ),
    "resize": tuple(
        Case(kind, (t(_IMAGE), c([10, 3])), (t((1, 10, 3, 4)),),
             {"align_corners": False, "half_pixel_centers": True})
        for kind in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
    ),
    "scan": (
        Case("ARG_MAX", (t(), c([-1])), (t((2,), I32),)),
        Case("ARG_MIN", (t(), c(0)), (t((3,), I32),)),
        Case("TOPK_V2", (t(), c(2)), (t((2, 2)), t((2, 2), I32))),
        Case("CUMSUM", (t(), c(1)), (t(),), {"exclusive": False, "reverse": True}),
    ),
    "scatter": (
        Case("SCATTER_ND", (c([[1], [0]]), _real(2, 3), c([4, 3])), (_real(4, 3),)),
        Case("SCATTER_ND", (c([[0]]), _real(1, 1), c([1, 1])), (_real(1, 1),)),
        Case("SCATTER_ND", (t((2, 2), I32), t((2,), I32), c([4, 3])), (t((4, 3), I32),)),
        Case("ONE_HOT", (t((2,), I32), c(3), c(1, F), c(0, F)), (_real(2, 3),), {"axis": -1}),
        Case("ONE_HOT", (t((), I32), c(1), c(1, F), c(0, F)), (_real(1),), {"axis": 0}),
        Case("ONE_HOT", (t((2, 2), I64), c([3]), c([1], F), c([0], F)), (_real(2, 3, 2),),
             {"axis": 1}),
        Case("SPARSE_TO_DENSE", (c([[0, 1], [2, 2]]), c([3, 4]), _real(2), c(-1, F)),
             (_real(3, 4),)),
        Case("SPARSE_TO_DENSE", (t((2,), I64), c([4]), t((), I32), c(0)), (t((4,), I32),)),
    ),
    "segments": (
        Case("SEGMENT_SUM", (_real(3, 2), c([0, 0, 1])), (_real(2, 2),)),
        Case("UNSORTED_SEGMENT_MAX", (_real(3, 2), c([0, 2, 0]), c(3)), (_real(3, 2),)),
        Case("UNSORTED_SEGMENT_SUM", (t((2, 2), I32), t((2,), I64), c([2])), (t((2, 2), I32),)),
    ),
    "sequences": (
        Case("REVERSE_SEQUENCE", (t((2, 3, 4)), c([3, 1])), (t((2, 3, 4)),),
             {"seq_dim": 1, "batch_dim": 0}),
        Case("REVERSE_SEQUENCE", (t((2, 3, 4)), t((4,), I64)), (t((2, 3, 4)),),
             {"seq_dim": 1, "batch_dim": 2}),
    ),
    "shape": (
        Case("RESHAPE", (t((2, 6)), c([3, -1])), (t((3, 4)),)),
        Case("RESHAPE", (t((2, 6)),), (t((3, 4)),), {"new_shape": [3, 4]}),
        Case("SQUEEZE", (t((1, 2, 1, 3)),), (t((2, 1, 3)),), {"squeeze_dims": [0]}),
        Case("SQUEEZE", (t((1, 2, 1, 3)),), (t((1, 1, 4)),), {"squeeze_dims": [1]}),
        Case("SQUEEZE", (t((1, 2, 1, 3)),), (t((2, 4)),), {"squeeze_dims": [0]}),
        Case("EXPAND_DIMS", (t(), c(-2)), (t((2, 1, 3)),)),
        Case("SHAPE", (t(),), (t((2,), I32),)), Case("RANK", (t(),), (t((), I32),)),
        Case("ZEROS_LIKE", (t(),), (t(),)), Case("FILL", (c([2, 3]), t((), F)), (_real(2, 3),)),
        Case("FILL", (c([2, 3]), c([7])), (t((2, 3), I32),)),
        Case("RANGE", (c(5), c(-2), c(-3)), (t((3,), I32),)),
        Case("RANGE", (c([1.0], F), c([2.0], F), c([0.25], F)), (_real(4),)),
    ),
    "signal_fft": (
        _custom("SignalRfft", (_samples(1, 12),), (_samples(1, 18),), T=7, fft_length=16),
        _custom("SignalIrfft", (_real(18),), (_real(16),), T=0, fft_length=16),
    ),
    "signal_filter_bank": (
        _custom("SignalFilterBank", (_wide(12), c([1] * 9, I16), c([2] * 9, I16), *_BANK),
                (t((2,), "UINT64"),), num_channels=2),
        _custom("SignalFilterBankSquareRoot", (t((2,), "UINT64"), t((), I32)), (_wide(2),)),
        _custom("SignalFilterBankSpectralSubtraction", (_wide(3),), (_wide(3), _wide(3)),
                num_channels=3, **_COEFFICIENTS),
        _custom("SignalPCAN", (_wide(3), _wide(3), c(np.arange(125), I16)), (_wide(3),),
                snr_shift=6),
        _custom("SignalFilterBankLog", (_wide(3),), (_samples(3),), input_correction_bits=3,
                output_scale=64),
    ),
    "select_operators": (
        Case("CUSTOM FlexErf", (_real(2, 3),), (_real(2, 3),)),
        Case("CUSTOM FlexCumprod", (_real(2, 3), c(1)), (_real(2, 3),),
             attributes={"exclusive": True, "reverse": False}),
        Case("CUSTOM FlexBitwiseAnd", (t(kind=I32), t(kind=I32)), (t(kind=I32),)),
        Case("CUSTOM FlexAvgPool3D", (_real(1, 2, 4, 4, 2),), (_real(1, 1, 2, 2, 2),),
             attributes={"ksize": (1, 2, 2, 2, 1), "strides": (1, 2, 2, 2, 1),
                         "padding": "SAME", "data_format": "NDHWC"}),
    ),
    "signal_frame": (
        _custom("SignalWindow", (_samples(2, 3), c([1, 2, 3], I16)), (_samples(2, 3),), shift=12),
        _custom("SignalFftAutoScale", (_samples(4),), (_samples(4), t((), I32))),
        _custom("SignalEnergy", (_samples(10),), (_wide(5),), start_index=1, end_index=4),
        _custom("SignalOverlapAdd", (_samples(3, 4),), (_samples(9),), T=7, frame_step=3),
        _custom("SignalOverlapAdd", (_samples(3, 4),), (_samples(12),), T=7, frame_step=4),
        _custom("SignalOverlapAdd", (_samples(2, 3, 4),), (_samples(2, 12),), T=7, frame_step=4),
    ),
    "signal_queue": (
        _custom("SignalDelay", (_samples(2, 4),), (_samples(2, 4),), delay_length=2),
        _custom("SignalFramer", (_samples(4),), (_samples(2, 3), t((), BOOL)), frame_size=3,
                frame_step=2, prefill=True),
        _custom("SignalFramer", (_samples(2, 4),), (_samples(2, 2, 3), t((), BOOL)), frame_size=3,
                frame_step=2, prefill=False),
        _custom("SignalFramer", (_samples(2),), (_samples(2, 1), t((), BOOL)), frame_size=1,
                frame_step=1, prefill=False),
        _custom("SignalFramer", (_samples(2),), (_samples(1, 3), t((), BOOL)), frame_size=3,
                frame_step=2, prefill=True),
        _custom("SignalStacker", (_samples(3),), (_samples(3), t((), BOOL)), num_channels=3,
                stacker_left_context=0, stacker_right_context=0, stacker_step=1),
        _custom("SignalStacker", (_samples(3),), (_samples(12), t((), BOOL)), num_channels=3,
                stacker_left_context=2, stacker_right_context=1, stacker_step=2),
    ),
    "slicing": (
        Case("SLICE", (t((4, 6)), c([1, 2]), c([2, -1])), (t((2, 4)),)),
        Case("STRIDED_SLICE", (t((4, 6)), c([1, 0]), c([4, 6]), c([2, 1])), (t((2, 6)),),
             {"begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0,
              "shrink_axis_mask": 0, "offset": False}),
        Case("STRIDED_SLICE", (t((4, 6, 2)), c([1, 0, 0, -1]), c([3, 0, 0, 1]), c([1, 1, 1, 1])),
             (t((3, 1, 6)),),
             {"begin_mask": 2, "end_mask": 1, "ellipsis_mask": 4, "new_axis_mask": 2,
              "shrink_axis_mask": 8, "offset": False}),
        Case("SPLIT", (c(1), t((4, 6))), (t((4, 3)), t((4, 3))), {"num_splits": 2}),
        Case("SPLIT_V", (t((4, 6)), c([1, -1]), c(-1)), (t((4, 1)), t((4, 5))), {"num_splits": 2}),
        Case("UNPACK", (t(),), (t((3,)), t((3,))), {"axis": 0, "num": 2}),
    ),
    "space": (
        Case("SPACE_TO_DEPTH", (t((1, 4, 6, 2)),), (t((1, 2, 3, 8)),), {"block_size": 2}),
        Case("DEPTH_TO_SPACE", (t((1, 2, 3, 8)),), (t((1, 4, 6, 2)),), {"block_size": 2}),
        Case("SPACE_TO_BATCH_ND", (t((1, 3, 5, 2)), c([2, 3]), c([[1, 0], [0, 1]])),
             (t((6, 2, 2, 2)),)),
        Case("SPACE_TO_BATCH_ND", (_real(1, 3, 2), c([2]), c([[1, 0]])), (_real(2, 2, 2),)),
        Case("BATCH_TO_SPACE_ND", (t((6, 2, 2, 2)), c([2, 3]), c([[1, 0], [0, 1]])),
             (t((1, 3, 5, 2)),)),
    ),
    "svdf": (_svdf(I8, I16, I32), _svdf(I8, I8, I32), _svdf(F, F, F)),
    "tiling": (
        Case("TILE", (t(), c([2, 1])), (t((4, 3)),)),
        Case("BROADCAST_TO", (t((3,)), c([2, 3])), (t(),)),
        Case("BROADCAST_ARGS", (t((2,), I32), c([4, 2, 1])), (t((3,), I32),)),
        Case("BROADCAST_ARGS", (t((3,), I64), t((3,), I64)), (t((3,), I64),)),
        Case("BROADCAST_ARGS", (c([1, 3]), c([4, 3])), (t((2,), I32),)),
    ),
    "transpose": (
        Case("TRANSPOSE", (t((2, 3, 4)), c([2, 0, -2])), (t((4, 2, 3)),)),
        Case("REVERSE_V2", (t(), c([1])), (t(),)),
    ),
    "convolution_3d": (
        Case("CONV_3D", (_real(1, 4, 5, 6, 2), w((2, 3, 2, 2, 3), dtype=F), c(np.ones(3), F)),
             (_real(1, 3, 3, 5, 3),), {"padding": 1, **_CUBE}),
    ),
    "transpose_conv": (
        Case("TRANSPOSE_CONV", (c([1, 10, 6, 2]), w((2, 3, 2, 4), dtype=F), _real(*_IMAGE)),
             (_real(1, 10, 6, 2),), {"padding": 0, **_SQUARE}),
        Case("TRANSPOSE_CONV", (c([1, 10, 6, 2]), w((2, 3, 2, 4), 2), t(_IMAGE), c([1, 2])),
             (t((1, 10, 6, 2)),), {"padding": 0, **_SQUARE}),
    ),
    "transpose_conv_bias": (
        Case("CUSTOM Convolution2DTransposeBias",
             (_real(1, 4, 3, 2), w((2, 3, 2, 2), dtype=F), c(np.ones(2), F)), (_real(1, 8, 5, 2),),
             words=(1, 2, 2)),
    ),
    "update_slice": (
        Case("DYNAMIC_UPDATE_SLICE", (t((4, 6)), t((2, 3)), t((2,), I32)), (t((4, 6)),)),
    ),
}  # fmt: skip
