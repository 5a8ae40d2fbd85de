"""Float layers for kernels of cores with an FPU, by the variant that computes them."""

from __future__ import annotations

from tests.ops.test_convolution import Case

MATRICES = {
    "one channel": Case((1, 3, 3, 1), 1, (1, 1)),
    "three inputs, four outputs": Case((1, 1, 4, 3), 4, (1, 1)),
    "four inputs, five outputs, relu": Case((1, 2, 2, 4), 5, (1, 1), activation="RELU"),
    "five inputs, seven outputs": Case((1, 3, 1, 5), 7, (1, 1), activation="RELU6"),
    "eight outputs, odd pixels, relu": Case((1, 5, 3, 8), 8, (1, 1), activation="RELU"),
    "nine outputs": Case((1, 2, 3, 17), 9, (1, 1), activation="RELU_N1_TO_1"),
    "twelve outputs, batch of two": Case((2, 3, 3, 6), 12, (1, 1), activation="RELU6"),
    "seventeen outputs": Case((1, 1, 1, 31), 17, (1, 1)),
}
WINDOWS = {
    "3x3, same": Case((1, 5, 6, 3), 8, (3, 3), padding="SAME", activation="RELU"),
    "3x3, valid, even columns": Case((1, 4, 6, 4), 9, (3, 3)),
    "3x3, valid, one column": Case((1, 4, 3, 2), 3, (3, 3), activation="RELU6"),
    "wider than the image": Case((1, 3, 2, 3), 5, (5, 7), padding="SAME", activation="RELU"),
    "stride 2": Case((2, 7, 8, 5), 12, (3, 3), (2, 2), padding="SAME"),
    "stride 2, 1x1": Case((1, 7, 6, 5), 6, (1, 1), (2, 2), activation="RELU"),
    "10x4, stride 2": Case((1, 19, 10, 1), 16, (10, 4), (2, 2), padding="SAME"),
    "rows apart": Case((1, 9, 4, 3), 4, (3, 2), dilations=(2, 1), padding="SAME"),
    "one column of taps apart": Case((1, 9, 2, 3), 7, (3, 1), dilations=(3, 5), padding="SAME"),
}
FIVES = {
    "five pixels, two inputs": Case((1, 5, 1, 2), 4, (1, 1), activation="RELU"),
    "four pixels left, three inputs": Case((1, 3, 3, 3), 8, (1, 1)),
    "three left, four inputs, five outputs": Case((1, 4, 2, 4), 5, (1, 1), activation="RELU6"),
    "two left, five inputs, six outputs": Case((1, 4, 3, 5), 6, (1, 1), activation="RELU"),
    "one left, six inputs, seven outputs": Case((1, 4, 4, 6), 7, (1, 1), activation="RELU6"),
    "seven inputs, batch of two": Case((2, 3, 2, 7), 12, (1, 1), activation="RELU_N1_TO_1"),
    "eight inputs": Case((1, 2, 5, 8), 16, (1, 1), activation="RELU"),
    "many inputs": Case((1, 7, 1, 37), 9, (1, 1)),
    "sixteen inputs": Case((1, 3, 4, 16), 12, (1, 1), activation="RELU6"),
    "twelve inputs, nine outputs": Case((1, 4, 4, 12), 9, (1, 1), activation="RELU_N1_TO_1"),
    "twenty inputs": Case((2, 1, 5, 20), 4, (1, 1)),
}
FIVE_WINDOWS = {
    "3x3, same, three inputs": Case((1, 4, 9, 3), 8, (3, 3), padding="SAME", activation="RELU"),
    "3x3, valid, five outputs": Case((1, 4, 8, 4), 5, (3, 3), activation="RELU6"),
    "one input, row of two": Case((1, 3, 6, 1), 4, (2, 2), activation="RELU"),
    "stride 2": Case((2, 7, 15, 5), 12, (3, 3), (2, 2), padding="SAME"),
    "higher than the image": Case((1, 2, 9, 3), 7, (7, 3), padding="SAME", activation="RELU6"),
    "stride 2, 1x1": Case((1, 3, 13, 2), 6, (1, 1), (2, 2), activation="RELU"),
    "rows apart": Case((1, 9, 11, 3), 4, (3, 4), dilations=(2, 1), padding="SAME"),
    "one column of taps apart": Case((1, 9, 6, 3), 7, (3, 1), dilations=(3, 5), padding="SAME"),
}
FEW_INPUTS = {
    "one pixel, one output": Case((1, 1, 1, 8), 1, (1, 1), activation="RELU"),
    "three pixels, one input": Case((1, 1, 3, 1), 4, (1, 1)),
    "four pixels, eight inputs": Case((1, 2, 2, 8), 10, (1, 1), activation="RELU_N1_TO_1"),
    "five pixels, four inputs, odd outputs": Case((1, 5, 1, 4), 5, (1, 1), activation="RELU6"),
    "seven pixels, six inputs": Case((1, 7, 1, 6), 6, (1, 1), activation="RELU"),
    "two pixels, two inputs": Case((1, 2, 1, 2), 3, (1, 1), activation="RELU"),
    "eleven pixels, five inputs": Case((1, 1, 11, 5), 3, (1, 1), activation="RELU6"),
    "seven inputs, batch of two": Case((2, 5, 3, 7), 12, (1, 1), activation="RELU"),
    "two inputs, stride 2": Case((1, 5, 13, 2), 7, (1, 1), (2, 2)),
    "3x3, same": Case((1, 5, 12, 1), 8, (3, 3), padding="SAME", activation="RELU6"),
    "3x3, valid, batch of two": Case((2, 4, 9, 1), 3, (3, 3), activation="RELU"),
    "3x3, stride 2, same": Case((1, 8, 9, 1), 2, (3, 3), (2, 2), padding="SAME"),
    "wider than the image": Case((1, 3, 2, 1), 5, (3, 5), padding="SAME", activation="RELU6"),
    "row of three, three inputs": Case((1, 2, 8, 3), 4, (1, 3), padding="SAME", activation="RELU6"),
    "2x2, two inputs": Case((1, 6, 9, 2), 9, (2, 2), activation="RELU6"),
    "3x3, valid": Case((1, 5, 17, 1), 4, (3, 3), activation="RELU6"),
}
DEPTHWISE = {
    "four channels": Case((1, 5, 5, 4), 4, (3, 3), padding="SAME", activation="RELU"),
    "five channels": Case((1, 4, 6, 5), 5, (3, 3), padding="SAME"),
    "seven channels, one column": Case((1, 5, 1, 7), 7, (3, 1), activation="RELU6"),
    "eight channels, stride 2": Case((1, 7, 8, 8), 8, (3, 3), (2, 2), padding="SAME"),
    "nine channels": Case((2, 4, 5, 9), 9, (2, 3), padding="SAME", activation="RELU_N1_TO_1"),
    "sixteen channels, valid": Case((1, 5, 7, 16), 16, (3, 3), activation="RELU"),
    "twenty channels, apart": Case((1, 9, 8, 20), 20, (3, 3), dilations=(2, 3), padding="SAME"),
    "wider than the image": Case((1, 2, 3, 12), 12, (5, 7), padding="SAME", activation="RELU"),
}
VARIANTS = {
    "conv_2d.matrix_f32": ("CONV_2D", MATRICES),
    "conv_2d.packed_f32": ("CONV_2D", WINDOWS),
    "conv_2d.matrix_fives_f32": ("CONV_2D", FIVES),
    "conv_2d.packed_fives_f32": ("CONV_2D", FIVE_WINDOWS),
    "conv_2d.few_inputs_f32": ("CONV_2D", FEW_INPUTS),
    "conv_2d.matrix_w8_f32": ("CONV_2D", dict(list(MATRICES.items())[1:])),  # a weight is no grid
    "conv_2d.packed_w8_f32": ("CONV_2D", WINDOWS),
    "depthwise_conv_2d.packed_f32": ("DEPTHWISE_CONV_2D", DEPTHWISE),
    "depthwise_conv_2d.packed_w8_f32": ("DEPTHWISE_CONV_2D", DEPTHWISE),
}
#: For cores that compute floats one by one.
NO_VECTORS = (
    "conv_2d.matrix_fives_f32", "conv_2d.packed_fives_f32", "conv_2d.few_inputs_f32",
)  # fmt: skip
