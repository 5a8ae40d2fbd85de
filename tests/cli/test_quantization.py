"""A float model becomes an int8 bundle in two commands: what they print, and what they refuse.

tests/golden/cli holds the full texts of refusals.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from tests.cli.conftest import Ended, Run
from tests.conftest import REPO

Golden = Callable[[str, str], None]
DIGITS = REPO / "examples" / "digits"
USAGE, UNSUPPORTED = 2, 3


@pytest.fixture
def cli(glowmcu_cli: Run, work: Path) -> Run:
    """The command line where samples for the float model lie: good ones, and such as are not."""
    with np.load(DIGITS / "calibration.npz") as stored:
        images = stored["inputs"].reshape(-1, 8, 8, 1)[:40]
    np.save(work / "samples.npy", images)
    np.savez(work / "labelled.npz", inputs=images, labels=np.arange(40))
    np.savez(work / "nameless.npz", pictures=images, masks=images)
    np.save(work / "wrong_shape.npy", np.zeros((40, 8, 9, 1), np.float32))
    np.save(work / "nothing.npy", images[:0])
    np.save(work / "constant.npy", np.full((4, 8, 8, 1), 0.5, np.float32))
    broken = images.copy()
    broken[3, 2, 1, 0] = np.nan
    np.save(work / "nan.npy", broken)
    (work / "empty_folder").mkdir()
    (work / "samples.json").write_text("[1, 2, 3]")
    (work / "sample.bin").write_bytes(b"\0" * 255)
    return glowmcu_cli


@pytest.fixture
def profile(cli: Run) -> str:
    """A profile of the float model."""
    ended = cli("profile", "float.tflite", "--samples", "samples.npy", "-o", "p.json")
    assert ended.exit_code == 0, ended.err
    return "p.json"


def body(ended: Ended) -> Any:
    assert ended.exit_code == 0, ended.err
    assert ended.err == ""
    return json.loads(ended.out)


def test_two_commands_make_an_int8_bundle(cli: Run) -> None:
    measured = cli("profile", "float.tflite", "--samples", "samples.npy")
    assert measured.exit_code == 0, measured.err
    assert "40 samples -> float.profile.json" in measured.out
    assert re.search(r"^ +0 +1 .* 1x8x8x1 +pixels", measured.out, re.MULTILINE)
    command = re.search(r"next +glowmcu (.*)", measured.out)
    assert command is not None
    compiled = cli(*command.group(1).split(), "-o", "out")
    assert compiled.exit_code == 0, compiled.err
    assert re.search(
        r"int8 +asymmetric, minmax, from 40 samples \(float.profile.json \w{12}\)", compiled.out
    )
    assert "note" not in compiled.out
    assert "_f32" not in compiled.out
    assert cli("verify", "out").exit_code == 0


def test_a_float_bundle_says_that_it_is_one_and_how_to_make_it_int8(cli: Run) -> None:
    ended = cli("compile", "float.tflite", "-o", "out")
    assert ended.exit_code == 0, ended.err
    assert "note     this model computes in float; for int8: glowmcu profile float.tflite" in (
        ended.out
    )
    (note,) = body(cli("compile", "float.tflite", "-o", "out", "--json"))["notes"]
    hinted = re.findall(r"glowmcu (profile \S+ --samples) DATA (-o \S+),", note)
    (words,) = hinted
    assert cli(*words[0].split(), "samples.npy", *words[1].split()).exit_code == 0


def test_an_int8_bundle_has_no_notes(cli: Run) -> None:
    assert body(cli("compile", "digits.tflite", "-o", "out", "--json"))["notes"] == []


def test_samples_at_once_give_the_bundle_that_their_profile_gives(cli: Run, profile: str) -> None:
    first = body(cli("compile", "float.tflite", "--profile", profile, "-o", "a", "--json"))
    second = body(cli("compile", "float.tflite", "--samples", "samples.npy", "-o", "b", "--json"))
    name, digest = first["options"]["profile"].split(":")
    assert name == profile
    assert second["options"]["profile"] == f"samples:{digest}"
    assert first["options"]["samples"] == second["options"]["samples"] == "40"
    for file in ("m_float.c", "m_float_weights.c"):
        assert Path("a", file).read_bytes() == Path("b", file).read_bytes()


def test_the_header_holds_every_choice(cli: Run, profile: str) -> None:
    choices = (
        "--schema symmetric --calibration percentile:99.5 --io float --keep-float softmax "
        "--no-bias-correction --equalize --per-tensor-weights"
    )
    ended = cli("compile", "float.tflite", "--profile", profile, "-o", "out", *choices.split())
    assert ended.exit_code == 0, ended.err
    assert "stays float: " in ended.out
    head = Path("out/m_float.h").read_text().partition("#ifndef")[0]
    for word in (
        "profile=p.json:", "samples=40", "schema=symmetric", "calibration=percentile:99.5",
        "io=float", "keep_float=softmax", "per_tensor_weights=yes", "bias_correction=no",
        "equalize=yes",
    ):  # fmt: skip
        assert re.search(rf"[ (]{re.escape(word)}", head), word
    again = ("verify", "out", "--model", "float.tflite", "--profile", profile)
    assert cli(*again).exit_code == 0


def test_the_reference_of_a_quantized_bundle_is_exact(cli: Run, profile: str) -> None:
    assert cli("compile", "float.tflite", "--profile", profile, "-o", "out").exit_code == 0
    result = body(cli("verify", "out", "--model", "float.tflite", "--profile", profile, "--json"))
    assert result["reference"] == "Python reference of the model"
    assert [check["exact"] for check in result["checks"]] == [True]


def test_limit_takes_samples_evenly_and_merge_adds_those_of_another_profile(
    cli: Run, profile: str
) -> None:
    few = body(
        cli(
            "profile", "float.tflite", "--samples", "samples.npy", "--limit", "7", "-o", "few.json",
            "--json",
        )
    )  # fmt: skip
    assert few["samples"] == 7
    both = body(
        cli(
            "profile", "float.tflite", "--samples", "labelled.npz", "--samples", "samples.npy",
            "--merge", "few.json", "-o", "both.json", "--json",
        )
    )  # fmt: skip
    assert both["samples"] == 87
    picked = np.load("samples.npy")[[index * 40 // 7 for index in range(7)]]
    measured = {tensor["name"]: tensor["mean"] for tensor in few["tensors"]}
    assert measured["pixels"] == pytest.approx(picked.mean(), rel=1e-5)


def test_export_writes_a_model_that_compiles_to_the_same_bytes(cli: Run, profile: str) -> None:
    written = body(cli("export", "float.tflite", "--profile", profile, "--json"))
    assert written["file"] == "float_int8.tflite"
    assert written["bytes"] == Path("float_int8.tflite").stat().st_size
    for model, more in (("float.tflite", ["--profile", profile]), ("float_int8.tflite", [])):
        assert cli("compile", model, "-o", Path(model).stem, *more).exit_code == 0
    rng = np.random.default_rng(0)
    x = rng.integers(-128, 128, (1, 8, 8, 1)).astype(np.int8)
    first, second = (glowmcu.load(name).run([x]) for name in ("float", "float_int8"))
    assert np.array_equal(first[0], second[0])


def test_adaptive_rounding_takes_the_samples_again(cli: Run, profile: str) -> None:
    arguments = ("compile", "float.tflite", "--profile", profile, "-o", "out", "--adaround")
    refused = cli(*arguments)
    assert refused.exit_code == USAGE
    assert refused.err.startswith("error[GM314]: adaptive rounding looks at samples")
    assert cli(*arguments, "--samples", "samples.npy").exit_code == 0
    assert cli("verify", "out").exit_code == 0
    unknown = cli("verify", "out", "--model", "float.tflite", "--profile", profile)
    assert unknown.exit_code == USAGE
    assert unknown.err.startswith("error[GM616]: samples went into the bundle's weights")


def test_weights_of_four_bits_are_rounded_to_suit_the_samples(cli: Run, profile: str) -> None:
    arguments = ("compile", "float.tflite", "--profile", profile, "--weights", "4", "-o", "out")
    alone = cli(*arguments)
    assert alone.exit_code == 0
    assert "four_bit_weights all" in alone.out
    assert "weights of four bits were rounded one by one" in alone.err + alone.out
    again = ("verify", "out", "--model", "float.tflite", "--profile", profile)
    assert cli(*again).exit_code == 0
    assert cli(*arguments, "--samples", "samples.npy").exit_code == 0
    assert "adaround" in json.loads(Path("out/manifest.json").read_text())["options"]
    assert cli(*again).err.startswith("error[GM616]: samples went into the bundle's weights")
    as_told = cli(*arguments, "--samples", "samples.npy", "--weights", "4,pointer")
    assert as_told.exit_code == 0
    options = json.loads(Path("out/manifest.json").read_text())["options"]
    assert options["weights"] == "pointer"
    assert options["four_bit_weights"] == "all"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("5", "'5' is not one of 4, 8, mixed, linked, pointer"),
        ("4,8", "4 and 8 exclude each other"),
        ("linked,pointer", "linked and pointer exclude each other"),
        ("4,", "'' is not one of"),
    ],
)
def test_words_of_weights_that_make_no_sense_are_refused(words: str, said: str, cli: Run) -> None:
    refused = cli("compile", "float.tflite", "--weights", words)
    assert refused.exit_code == USAGE
    assert said in refused.err


@pytest.mark.parametrize("command", ["compile", "export"])
def test_a_quantized_models_weights_keep_their_bits(command: str, cli: Run, profile: str) -> None:
    assert cli("export", "float.tflite", "--profile", profile).exit_code == 0
    refused = cli(command, "float_int8.tflite", "--weights", "4", "-o", "out")
    assert refused.exit_code == USAGE
    assert refused.err.startswith("error[GM349]: --weights chooses bits for a float model")
    assert "give the float model that it was made of" in refused.err


def test_mixed_weights_need_samples(cli: Run, profile: str) -> None:
    refused = cli("compile", "float.tflite", "--profile", profile, "--weights", "mixed")
    assert refused.exit_code == USAGE
    assert refused.err.startswith("error[GM351]: --weights mixed chooses layers by what samples")


@pytest.mark.parametrize(
    ("of_bundle", "to_verify", "said"),
    [
        ([], ["--profile", "p.json"], r"by none; got p\.json \(\w{12}\)"),
        (["--profile", "p.json"], [], r"by the profile p\.json \(\w{12}\); got none"),
    ],
)
def test_verify_with_a_model_wants_the_profile_of_the_bundle(
    of_bundle: list[str], to_verify: list[str], said: str, cli: Run, profile: str
) -> None:
    assert cli("compile", "float.tflite", "-o", "out", *of_bundle).exit_code == 0
    ended = cli("verify", "out", "--model", "float.tflite", *to_verify)
    assert ended.exit_code == USAGE
    assert re.match(rf"error\[GM615\]: the bundle was quantized {said}\n", ended.err), ended.err


@pytest.mark.parametrize("is_measured", [True, False])
def test_a_profile_that_is_no_file_has_no_name(is_measured: bool, cli: Run) -> None:
    measured = glowmcu.profile("float.tflite", "samples.npy") if is_measured else None
    samples = None if is_measured else "samples.npy"
    glowmcu.compile("float.tflite", profile=measured, samples=samples, output="out")
    ended = cli("verify", "out", "--model", "float.tflite")
    said = "a profile" if is_measured else "a profile of samples"
    assert re.match(rf"error\[GM615\]: the bundle was quantized by {said} \(\w+\); got", ended.err)


#: Title, exit code, arguments.
REFUSED: list[tuple[str, int, str]] = [
    ("samples of another shape", USAGE, "profile float.tflite --samples wrong_shape.npy"),
    ("samples that are not numbers", USAGE, "profile float.tflite --samples nan.npy"),
    ("samples that are none", USAGE, "profile float.tflite --samples nothing.npy"),
    ("samples that are constant", USAGE, "profile float.tflite --samples constant.npy"),
    ("samples from an empty folder", USAGE, "profile float.tflite --samples empty_folder"),
    ("samples that are not there", USAGE, "profile float.tflite --samples none.npy"),
    ("samples that are text", USAGE, "profile float.tflite --samples text.npy"),
    ("samples of an unknown kind", USAGE, "profile float.tflite --samples samples.json"),
    ("samples of other names", USAGE, "profile float.tflite --samples nameless.npz"),
    ("samples that are cut short", USAGE, "profile float.tflite --samples sample.bin"),
    ("preprocessing that is not there", USAGE,
     "profile float.tflite --samples samples.npy --preprocess none.toml"),
    ("profile of an int8 model", USAGE, "profile digits.tflite --samples samples.npy"),
    ("profile that cannot be written", USAGE,
     "profile float.tflite --samples samples.npy -o empty_folder"),
    ("merge with what is no profile", USAGE,
     "profile float.tflite --samples samples.npy --merge text.npy"),
    ("merge with another model", USAGE,
     "profile float.tflite --samples samples.npy --merge other.json"),
    ("compile by the profile of another model", USAGE, "compile float.tflite --profile other.json"),
    ("compile by what is no profile", USAGE, "compile float.tflite --profile text.npy"),
    ("compile an int8 model by a profile", USAGE, "compile digits.tflite --profile p.json"),
    ("compile by samples of another shape", USAGE,
     "compile float.tflite --samples wrong_shape.npy"),
    ("schema that is none", USAGE, "compile float.tflite --profile p.json --schema asymetric"),
    ("calibration that is none", USAGE,
     "compile float.tflite --profile p.json --calibration percentile:20"),
    ("interface that is none", USAGE, "compile float.tflite --profile p.json --io int4"),
    ("keep float what is not there", USAGE,
     "compile float.tflite --profile p.json --keep-float softmax,gelu,dense_9"),
    ("choices without a profile", USAGE, "compile float.tflite --schema symmetric"),
    ("exported model cannot be written", USAGE,
     "export float.tflite --profile p.json -o empty_folder"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("title", "exit_code", "command"), REFUSED, ids=[row[0] for row in REFUSED]
)
def test_what_is_wrong_with_a_quantization(
    title: str, exit_code: int, command: str, cli: Run, profile: str, golden: Golden, work: Path
) -> None:
    text = Path(profile).read_text()
    other = re.sub(r'("model_sha256": ")\w{8}', r"\g<1>00000000", text)
    Path("other.json").write_text(other)
    before = sorted(work.iterdir())
    ended = cli(*command.split())
    assert ended.exit_code == exit_code, ended.err
    assert ended.out == "", "an error goes to stderr alone"
    assert "Traceback" not in ended.err
    assert sorted(work.iterdir()) == before, "nothing may be written"
    golden(
        f"cli/{title.replace(' ', '_')}.txt",
        f"$ glowmcu {command}\n{ended.err}exit code {ended.exit_code}\n",
    )
