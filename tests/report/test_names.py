"""What layers are called on the page."""

from __future__ import annotations

from glowmcu.report.short_names import layer_names


def test_a_fused_layer_has_the_name_that_keras_gave_it() -> None:
    layers = [
        "m/act/Relu;m/bn/FusedBatchNormV3;m/depthwise_conv2d/depthwise;m/conv2d/Conv2D1",
        "m/act_1/Relu;m/bn_1/FusedBatchNormV3;m/depthwise_conv2d/depthwise",
        "m/act_2/Relu;m/depthwise_conv2d_1/depthwise;m/conv2d_1/Conv2D1",
        "m/dense/MatMul;m/dense/BiasAdd",
        "Identity",
    ]
    names = ["conv2d", "depthwise_conv2d", "conv2d_1", "dense", "Identity"]
    assert layer_names(layers) == names


def test_layers_that_share_a_part_are_named_by_another() -> None:
    layers = ["net/block/add;net/first/sum", "net/block/add;net/second/sum"]
    assert layer_names(layers) == ["first", "second"]


def test_names_that_nothing_tells_apart_stay_whole() -> None:
    layers = ["net/block/add;net/x", "net/block/add;net/x"]
    assert layer_names(layers) == ["net/block/add;net/x"] * 2


def test_short_names_stay_as_they_are() -> None:
    assert layer_names(["/stem/Conv", ""]) == ["/stem/Conv", ""]
