"""Facts of every command are what the shipped schema says, and the schema says all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glowmcu.cli import main
from glowmcu.errors import GlowmcuError
from glowmcu.facts.document import FILE_NAME, FORMAT_VERSION, SCHEMA_FILE, keep_facts, read_facts
from tests.conftest import REPO

jsonschema = pytest.importorskip("jsonschema")

Json = dict[str, Any]
DIGITS = REPO / "examples" / "digits"
WAKE_WORD = REPO / "examples" / "wake_word" / "wake_word.toml"


def schema(strict: bool = False) -> Json:
    body: Json = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    if strict:
        close(body)
    return body


def close(part: object) -> None:
    """No field but those that are named."""
    if isinstance(part, dict):
        if "properties" in part and part.get("type") == "object":
            part.setdefault("additionalProperties", False)
        for inner in part.values():
            close(inner)
    elif isinstance(part, list):
        for inner in part:
            close(inner)


def document(folder: Path) -> Json:
    body: Json = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
    return body


def check(folder: Path, *sections: str) -> Json:
    """The facts in `folder`, which have these sections and are described to the last field."""
    body = document(folder)
    jsonschema.validate(body, schema(strict=True))
    assert set(sections) <= set(body["facts"])
    facts: Json = body["facts"]
    return facts


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("bundle")


def test_the_schema_is_one_and_names_the_version() -> None:
    body = schema()
    jsonschema.Draft202012Validator.check_schema(body)
    assert body["properties"]["format"]["const"] == FORMAT_VERSION
    used = json.dumps(body)
    assert all(f'"#/$defs/{name}"' in used for name in body["$defs"])


@pytest.mark.arm
def test_facts_of_an_int8_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(DIGITS / "digits_int8.tflite")
    assert main(["compile", model, "--board", "nrf52", "--pareto", "-o", str(folder)]) == 0
    assert main(["verify", str(folder), "--on", "host,cortex-m,renode", "--allow-missing"]) == 0
    assert main(["bench", str(folder), "--max-cycles", "1"]) == 4
    facts = check(folder, "compile", "code", "graphs", "verify", "bench")
    assert facts["compile"]["pareto"]
    assert facts["bench"]["limits"] == {"cycles": 1, "stack_bytes": None}
    capsys.readouterr()
    assert main(["bench", str(folder), "--json"]) == 0
    bench = {"$ref": "#/$defs/bench", "$defs": schema(strict=True)["$defs"]}
    jsonschema.validate(json.loads(capsys.readouterr().out), bench)


def test_facts_of_tuning_go_with_the_profile(folder: Path) -> None:
    model, samples = str(DIGITS / "digits.onnx"), str(DIGITS / "calibration.npz")
    with np.load(DIGITS / "calibration.npz") as found:
        np.save("few.npy", found["inputs"][:20])
    tune = ["tune", model, "--samples", samples, "--trials", "2", "-o", "t.profile.json"]
    assert main(tune) == 0
    compile_it = ["compile", model, "--board", "nrf52", "-o", str(folder), "--profile"]
    assert main([*compile_it, "t.profile.json"]) == 0
    assert main(["verify", str(folder), "--against", "float", "--samples", "few.npy", "--model",
                 model, "--profile", "t.profile.json"]) == 0  # fmt: skip
    facts = check(folder, "compile", "tune", "comparison")
    kept = json.loads(Path("t.profile.pareto.json").read_text())
    assert facts["tune"]["best"] == kept["best"]
    assert facts["tune"]["profile"] == "t.profile.json"
    Path("t.profile.json").write_text(Path("t.profile.json").read_text() + " ")
    compile_it[compile_it.index(str(folder))] = "other"
    assert main([*compile_it, "t.profile.json"]) == 0
    assert "tune" not in read_facts(Path("other")), "another profile than tuning wrote"


@pytest.mark.arm
def test_facts_of_a_pipeline(folder: Path) -> None:
    board = "stm32f746-discovery"
    given = ["compile", str(WAKE_WORD), "--board", board, "--place", "auto", "-o", str(folder)]
    assert main(given) == 0
    assert main(["bench", str(folder)]) == 0
    facts = check(folder, "compile", "bench")
    assert facts["bench"]["runs"]["cycles_per_second"] > 0
    assert facts["compile"]["placement"]


def test_another_format_is_refused_and_left_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(DIGITS / "digits_int8.tflite")
    assert main(["compile", model, "-o", str(folder)]) == 0
    body = {**document(folder), "format": FORMAT_VERSION + 1}
    (folder / FILE_NAME).write_text(json.dumps(body))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, schema())
    with pytest.raises(GlowmcuError) as caught:
        read_facts(folder)
    assert caught.value.code == "GM672"
    assert main(["report", str(folder)]) == 2
    assert "error[GM672]" in capsys.readouterr().err
    assert main(["verify", str(folder), "--on", "host"]) == 0
    assert document(folder) == body, "facts of a newer version are worth more than one section"
    keep_facts(folder)
    assert document(folder) == body
    assert main(["compile", model, "--optimize", "ram", "-o", str(folder)]) == 0
    assert document(folder)["format"] == FORMAT_VERSION
