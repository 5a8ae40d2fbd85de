"""Files of pipelines that are wrong, and stages that do not fit: what is said, and nothing made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.multirate.description import Description, read_description
from tests.support.pipelines import network
from tests.support.single_op import Tensor, ints, single_op_model

GOOD = """labels = ["a", "b"]
[input]
rate = 16000
[[stage]]
name = "one"
model = "one.tflite"
hop = 2
[[stage]]
name = "two"
model = "two.tflite"
[decision]
average = 3
threshold = 1
distance = 4
ignore = ["b"]
"""


def described(text: str, folder: Path) -> Description:
    (folder / "p.toml").write_text(text, encoding="utf-8")
    return read_description(folder / "p.toml")


def test_a_file_says_what_it_says(tmp_path: Path) -> None:
    found = described(GOOD, tmp_path)
    assert [stage.name for stage in found.stages] == ["one", "two"]
    assert [stage.hop for stage in found.stages] == [2, None]
    assert found.stages[0].model == tmp_path / "one.tflite"
    assert found.decision is not None
    assert (found.decision.average, found.decision.threshold) == (3, 1.0)
    assert (found.rate, found.labels) == (16000, ("a", "b"))


def test_a_mark_of_byte_order_is_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(GOOD.replace("\n", "\r\n"), encoding="utf-8-sig", newline="")
    assert len(read_description(tmp_path / "p.toml").stages) == 2


WRONG = {
    "no TOML": ("[[stage", "no TOML"),
    "no stage": ("[input]\nrate = 5", "0 [[stage]] tables"),
    "unknown key": (GOOD.replace("hop = 2", "hopp = 2"), "did you mean 'hop'?"),
    "unknown table": (GOOD + "[decison]\n", "decison is no key"),
    "no name": (GOOD.replace('name = "one"', ""), "stage[0].name is missing"),
    "no model": (GOOD.replace('model = "two.tflite"', ""), "stage[1].model is missing"),
    "a name of no C": (GOOD.replace('"one"', '"1st"'), "stage[0].name is '1st'"),
    "one name twice": (GOOD.replace('"two"', '"one"', 1), "'one' is what two stages are called"),
    "a name that is taken": (GOOD.replace('"two"', '"decision"', 1), "is what another stage"),
    "hop of 0": (GOOD.replace("hop = 2", "hop = 0"), "stage[0].hop is 0; it must be 1 to"),
    "hop of a half": (GOOD.replace("hop = 2", "hop = 0.5"), "it must be an integer"),
    "a hop that is true": (GOOD.replace("hop = 2", "hop = true"), "it must be an integer"),
    "a threshold of words": (GOOD.replace("= 1\n", '= "x"\n'), "it must be a number"),
    "ignoring a number with a point": (GOOD.replace('["b"]', "[1.5]"), "labels or numbers"),
    "labels of numbers": (GOOD.replace('["a", "b"]', "[1]"), "label 0 is no text"),
    "one bracket": (GOOD.replace("[[stage]]", "[stage]", 1).partition("[[")[0], "write [[stage]]"),
    "a camera behind": (GOOD.replace("[decision]", 'camera = "x"\n[decision]'), "only the first"),
    "a stage that is none": ("stage = [1]", "must be a [[stage]] table"),
    "an average of millions": (GOOD.replace("average = 3", "average = 9999999"), "average is"),
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG)
def test_mistakes_are_said(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError) as caught:
        described(text, tmp_path)
    assert said in str(caught.value)
    assert all(problem.where for problem in caught.value.problems)


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("hop = 2", "hop = 0").replace("average = 3", "avrage = 3")
    with pytest.raises(GlowmcuError) as caught:
        described(text, tmp_path)
    assert len(caught.value.problems) == 2


def test_a_file_that_is_not_there_or_no_file(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(GlowmcuError, match="GM150"):
            read_description(path)
    (tmp_path / "large.toml").write_bytes(b"#" * (1 << 21))
    with pytest.raises(GlowmcuError, match="at most"):
        read_description(tmp_path / "large.toml")


def two_stages(folder: Path, second: bytes, more: str = "", hop: int = 2) -> Path:
    (folder / "one.tflite").write_bytes(network(1, 4, 2).data)
    (folder / "two.tflite").write_bytes(second)
    text = f"""[[stage]]
name = "one"
model = "one.tflite"
hop = {hop}
[[stage]]
name = "two"
model = "two.tflite"
{more}
"""
    (folder / "p.toml").write_text(text, encoding="utf-8")
    return folder / "p.toml"


def refused(file: Path, said: str, **options: object) -> None:
    """GM15x with the words, a place and a remedy; nothing is written."""
    output = file.parent / "out"
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.compile(file, output=output, **options)  # type: ignore[arg-type]
    assert said in str(caught.value)
    assert all(problem.where and problem.hint for problem in caught.value.problems)
    assert not output.exists()


def test_rates_that_do_not_fit(tmp_path: Path) -> None:
    one = network(1, 4, 2)
    size = one.rows_out * one.channels_out
    wrong = network(2, size + 1, 1)
    refused(two_stages(tmp_path, wrong.data), "not a whole number of them")
    refused(two_stages(tmp_path, wrong.data, hop=5), "fewer than its hop of 5")


def test_number_formats_that_do_not_fit(tmp_path: Path) -> None:
    one = network(1, 4, 2)
    size = one.rows_out * one.channels_out
    plain = [Tensor((1, size), "int64", None), ints(1, size)]
    model = single_op_model("RESHAPE", plain, [Tensor((1, size), "int64", None)])
    refused(two_stages(tmp_path, model), "which cannot be made of it")


def test_a_model_of_two_inputs(tmp_path: Path) -> None:
    one = network(1, 4, 2)
    shape = (1, one.rows_out * one.channels_out)
    operands = [Tensor(shape, "int8", 0.1, 0), Tensor(shape, "int8", 0.1, 0)]
    model = single_op_model("ADD", operands, [Tensor(shape, "int8", 0.2, 0)])
    refused(two_stages(tmp_path, model), "the model has 2 inputs")


def test_names_of_inputs_and_outputs(tmp_path: Path) -> None:
    one = network(1, 4, 2)
    good = network(2, one.rows_out, one.channels_out)
    refused(two_stages(tmp_path, good.data, 'input = "none"'), "no input is named 'none'")
    refused(two_stages(tmp_path, good.data, 'output = "none"'), "no output is named 'none'")


def test_classes_that_are_none(tmp_path: Path) -> None:
    one = network(1, 4, 2)
    good = network(2, one.rows_out, one.channels_out)
    classes = good.rows_out * good.channels_out
    for ignore, said in (
        (str(classes), f"class {classes} of {classes}"),
        ('"cat"', "'cat' is no label"),
    ):
        more = f"[decision]\nignore = [{ignore}]"
        refused(two_stages(tmp_path, good.data, more), said)
    more = f"[decision]\nignore = ['l{good.rows_out * good.channels_out}']"
    file = two_stages(tmp_path, good.data, more)
    names = [f"l{number}" for number in range(good.rows_out * good.channels_out + 1)]
    file.write_text(f"labels = {names}\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    refused(file, "there are scores of")
    every = list(range(good.rows_out * good.channels_out))
    more = f"[decision]\nignore = {every}"
    refused(two_stages(tmp_path, good.data, more), "every class is ignored")


OPTIONS = {
    "io": "int8", "steps": True, "slide": {"x": 2}, "keep_inputs": ["x"], "states": {"a": "b"},
    "stream_inputs": ["x"], "outside_inputs": ["x"], "bind": {"x": np.zeros(1, np.float32)},
    "input_shapes": {"x": (1, 2)}, "define": {"n": 1}, "input_layouts": {"x": "nhwc"},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_one_model_stand_in_the_file(name: str, tmp_path: Path) -> None:
    one = network(1, 4, 2)
    good = network(2, one.rows_out, one.channels_out)
    file = two_stages(tmp_path, good.data)
    refused(file, f"a pipeline takes no {name}", **{name: OPTIONS[name]})


def test_choices_of_quantization_are_a_models_that_is_quantized_before(tmp_path: Path) -> None:
    """They asked for --samples, which a pipeline does not take either."""
    one = network(1, 4, 2)
    file = two_stages(tmp_path, network(2, one.rows_out, one.channels_out).data)
    for chosen in (glowmcu.Quantization(weights=4), glowmcu.Quantization(int16=["all"])):
        refused(file, "a pipeline takes no choices of quantization", quantization=chosen)
        refused(file, "glowmcu export MODEL", quantization=chosen)


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    file = two_stages(tmp_path, network(2, 1, 1).data)
    (tmp_path / "two.tflite").unlink()
    refused(file, "cannot read the model")
