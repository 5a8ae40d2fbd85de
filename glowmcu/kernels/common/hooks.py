"""Operators that an accelerator's functions can compute, and the kernels whose parameters they get.

A hook `PREFIX_OPERATOR` has the arguments of the portable kernel, and its struct of parameters: so
nothing is stored twice, and the kernel stands in for it.
"""

from __future__ import annotations

from glowmcu.ir.operation import Operation
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D

#: Variants by operator.
HOOKED: dict[type[Operation], str] = {
    Add: "elementwise.shared",
    AveragePool2D: "average_pool_2d.portable",
    Conv2D: "conv_2d.portable",
    DepthwiseConv2D: "depthwise_conv_2d.portable",
    FullyConnected: "fully_connected.portable",
    MaxPool2D: "max_pool_2d.portable",
    Mul: "elementwise.shared",
    Softmax: "softmax.portable",
    Sub: "elementwise.shared",
}
