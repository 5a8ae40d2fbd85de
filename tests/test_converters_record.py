"""What is recorded of others' converters: the page is of it, and nothing is left unexplained."""

from __future__ import annotations

from benchmarks import converters

#: Files that are refused, and why that is right.
REFUSED: dict[str, str] = {}
#: What TensorFlow Lite Micro computes otherwise, by the beginning of a file's name.
OF_TFLM = {
    "conv1d_causal.": "SPACE_TO_BATCH_ND: it takes the batch of the file, where it is open and 1",
    "conv2d_dil.": "the same",
    "aq_": "it reads one scale of weights that have one for each channel",
}
#: What LiteRT's reference kernels compute otherwise.
OF_LITERT = {
    "aq_": "they round activations to int8, and read no scales of blocks",
    "red_logsumexp.int8.": "x - x on a scale of 8e-9 leaves int32 there and is not 0",
}
#: Of integers they round once where TensorFlow Lite Micro rounds twice.
FEW = 0.45


def test_the_page_is_what_was_recorded() -> None:
    assert converters.PAGE.read_text(encoding="utf-8") == converters.page(converters.stored())


def test_nothing_is_refused_but_what_is_known() -> None:
    assert {row.file for row in converters.stored() if row.refusal} == set(REFUSED)


def test_every_converter_is_there() -> None:
    groups = {converters.group(row.file).partition(",")[0] for row in converters.stored()}
    assert groups == {"Keras", "LiteRT Torch", "AI Edge Quantizer"}
    assert len(converters.stored()) > 250


def test_what_tensorflow_lite_micro_computes_is_equal() -> None:
    differing = [
        row.file
        for row in converters.stored()
        if row.different.get("tflm") and not row.file.startswith(tuple(OF_TFLM))
    ]
    assert differing == []


def test_integers_of_a_quantizer_s_own_are_those_of_tensorflow_lite_micro() -> None:
    static = [row for row in converters.stored() if ".static_" in row.file]
    assert static
    assert [row.file for row in static if row.different.get("tflm")] == []


def test_what_litert_computes_otherwise_is_little() -> None:
    far = [
        row.file
        for row in converters.stored()
        if row.different.get("litert", 0) > max(1, FEW * row.elements)
        and not row.file.startswith(tuple(OF_LITERT))
    ]
    assert far == []
