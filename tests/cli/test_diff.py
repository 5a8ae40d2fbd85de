"""`glowmcu diff`: what it says of equal and differing bundles, its limits, and damaged folders."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from glowmcu.cli.diff_command import growth_limit
from glowmcu.facts.bundle_diff import Quantity, diff_bundles
from glowmcu.facts.growth import GrowthLimit
from glowmcu.facts.kept_bundle import MOST_BYTES
from glowmcu.report.bundle_diff import MARK
from glowmcu.report.tables import count
from tests.cli.conftest import Run

Json = dict[str, Any]


@pytest.fixture
def other(glowmcu_cli: Run, bundle: str) -> str:
    """The same model with another goal, in the folder `small`."""
    ended = glowmcu_cli(
        "compile", "digits.tflite", "--board", "nrf52", "--optimize", "ram", "-o", "small"
    )
    assert ended.exit_code == 0, ended.err
    return "small"


@pytest.fixture
def copy(bundle: str) -> str:
    """The digits bundle again, in the folder `copy`."""
    shutil.copytree(bundle, "copy")
    return "copy"


def manifest(folder: str) -> Json:
    body: Json = json.loads((Path(folder) / "manifest.json").read_text())
    return body


def edit(folder: str, change: Callable[[Json], object]) -> None:
    """Change the manifest of the bundle in `folder`."""
    body = manifest(folder)
    change(body)
    (Path(folder) / "manifest.json").write_text(json.dumps(body))


def quantities(glowmcu_cli: Run, *folders: str) -> dict[str, Json]:
    ended = glowmcu_cli("diff", *folders, "--json")
    assert ended.exit_code == 0, ended.err
    return {row["name"]: row for row in json.loads(ended.out)["quantities"]}


def test_equal_bundles_do_not_differ(glowmcu_cli: Run, bundle: str, copy: str) -> None:
    ended = glowmcu_cli("diff", bundle, copy, "--exit-code", "--max-growth", "arena=0")
    assert ended.exit_code == 0, ended.err
    assert "every file is the same, byte for byte" in ended.out
    body = json.loads(glowmcu_cli("diff", bundle, copy, "--json").out)
    assert body["differs"] is False
    assert body["interface"] == body["compilation"] == []
    assert not any(layer["differs"] for layer in body["layers"])
    assert "No difference." in glowmcu_cli("diff", bundle, copy, "--markdown").out


def test_what_differs_is_what_the_manifests_say(glowmcu_cli: Run, bundle: str, other: str) -> None:
    before, after = manifest(bundle), manifest(other)
    assert before["arena_bytes"] != after["arena_bytes"], "the goals have to make a difference"
    rows = quantities(glowmcu_cli, bundle, other)
    arena = rows["arena"]
    assert (arena["before"], arena["after"]) == (before["arena_bytes"], after["arena_bytes"])
    assert arena["growth"] == after["arena_bytes"] - before["arena_bytes"]
    assert rows["cycles"]["how"] == "estimated"
    assert rows["cycles"]["after"] == after["costs"]["cycles_estimate"]
    body = json.loads(glowmcu_cli("diff", bundle, other, "--json").out)
    assert {"what": "option optimize", "before": "balanced", "after": "ram"} in body["compilation"]
    kernels = {layer["name"]: tuple(layer["kernels"]) for layer in body["layers"]}
    for old, new in zip(before["layers"], after["layers"], strict=True):
        assert kernels[new["name"]] == (old["kernel"], new["kernel"])
    assert glowmcu_cli("diff", bundle, other).exit_code == 0
    assert glowmcu_cli("diff", bundle, other, "--exit-code").exit_code == 1


@pytest.mark.arm
def test_measured_is_compared_with_measured_only(glowmcu_cli: Run, bundle: str, other: str) -> None:
    first = json.loads(glowmcu_cli("bench", bundle, "--json").out)
    rows = quantities(glowmcu_cli, bundle, other)
    assert rows["cycles"]["how"] == "estimated"
    assert "`glowmcu bench small`" in glowmcu_cli("diff", bundle, other).out
    second = json.loads(glowmcu_cli("bench", other, "--json").out)
    rows = quantities(glowmcu_cli, bundle, other)
    measured = first["cycles"], second["cycles"]
    assert (rows["cycles"]["before"], rows["cycles"]["after"]) == measured
    assert rows["cycles"]["how"] == "measured"
    body = json.loads(glowmcu_cli("diff", bundle, other, "--json").out)
    layers = [layer["cycles"] for layer in body["layers"]]
    assert [pair[1] for pair in layers] == [layer["cycles"] for layer in second["layers"]]
    assert count(second["cycles"]) in glowmcu_cli("diff", bundle, other).out
    glowmcu_cli("bench", other, "--wait-states", "3")
    ended = glowmcu_cli("diff", bundle, other)
    assert "other wait states" in ended.out


def test_a_limit_passes_exactly_and_not_by_one_more(
    glowmcu_cli: Run, bundle: str, copy: str
) -> None:
    edit(copy, lambda body: body.update(arena_bytes=body["arena_bytes"] + 100))
    call = ("diff", bundle, copy, "--max-growth")
    assert glowmcu_cli(*call, "arena=100").exit_code == 0
    ended = glowmcu_cli(*call, "arena=99", "--json")
    assert ended.exit_code == 4
    assert json.loads(ended.out)["differs"] is True, "what was found comes before the refusal"
    assert "error[GM173]: arena grew by 100 B" in ended.err
    assert "--max-growth arena=99" in ended.err
    assert glowmcu_cli("diff", copy, bundle, "--max-growth", "arena=0").exit_code == 0


@pytest.mark.arm
def test_a_limit_of_its_own_replaces_the_one_for_all(
    glowmcu_cli: Run, bundle: str, copy: str
) -> None:
    edit(copy, lambda body: body.update(arena_bytes=2 * body["arena_bytes"]))
    call = ("diff", bundle, copy, "--max-growth", "5%", "--max-growth")
    assert glowmcu_cli(*call, "weights=0").exit_code == 4
    assert glowmcu_cli(*call, "arena=100%").exit_code == 0
    assert glowmcu_cli(*call, "6%").exit_code == 2


def test_a_share_is_exact() -> None:
    limit = growth_limit("2.5%")
    assert limit == GrowthLimit("2.5%", "", Fraction(5, 2))
    assert limit.allowed(1000) == 25
    assert limit.allowed(0) == 0
    assert growth_limit("flash=2K").allowed(7) == 2048
    assert Quantity("arena", "B", None, 3).growth is None


def test_a_limit_that_cannot_be_checked_does_not_pass(
    glowmcu_cli: Run, bundle: str, copy: str
) -> None:
    edit(copy, lambda body: body["costs"].update(stack_bytes={}, cycles_estimate=None))
    for name in ("stack", "cycles"):
        ended = glowmcu_cli("diff", bundle, copy, "--max-growth", f"{name}=0")
        assert ended.exit_code == 2
        assert f"error[GM175]: {name} is not known of both" in ended.err
    assert glowmcu_cli("diff", bundle, copy, "--max-growth", "arena=0").exit_code == 0


def test_other_boards_are_shown_and_not_limited(glowmcu_cli: Run, bundle: str) -> None:
    glowmcu_cli("compile", "digits.tflite", "--board", "rp2040", "-o", "pico")
    ended = glowmcu_cli("diff", bundle, "pico")
    assert ended.exit_code == 0, ended.err
    assert "not comparable: nrf52 and rp2040 are different boards" in ended.out
    ended = glowmcu_cli("diff", bundle, "pico", "--max-growth", "arena=0")
    assert ended.exit_code == 2
    assert "error[GM174]" in ended.err


def test_another_model_and_its_interface_are_named(
    glowmcu_cli: Run, bundle: str, copy: str
) -> None:
    def change(body: Json) -> None:
        body["model_sha256"] = "0" * 64
        body["inputs"][0].update(scale=0.5, shape=[1, 4, 16, 1])
        body["layers"][0]["name"] = "brand_new"

    edit(copy, change)
    ended = glowmcu_cli("diff", bundle, copy)
    assert "the models differ: layers are matched by name" in ended.out
    assert "the interface changed" in ended.out
    body = json.loads(glowmcu_cli("diff", bundle, copy, "--json").out)
    changed = {row["what"]: row["after"] for row in body["interface"]}
    name = manifest(bundle)["inputs"][0]["name"]
    assert changed == {f"input {name}: scale": "0.5", f"input {name}: shape": "(1, 4, 16, 1)"}
    layers = {layer["name"]: layer["kernels"] for layer in body["layers"]}
    assert layers["brand_new"][0] is None
    assert layers[manifest(bundle)["layers"][0]["name"]][1] is None


def test_facts_of_another_compilation_are_left_out(
    glowmcu_cli: Run, bundle: str, copy: str
) -> None:
    edit(copy, lambda body: body.update(macs=body["macs"] + 1))
    assert (
        "facts.json is damaged or of another compilation" in glowmcu_cli("diff", bundle, copy).out
    )
    (Path(copy) / "facts.json").unlink()
    assert "facts.json is damaged" not in glowmcu_cli("diff", bundle, copy).out


def test_a_file_of_the_bundle_stands_for_its_folder(glowmcu_cli: Run, bundle: str) -> None:
    ended = glowmcu_cli("diff", f"{bundle}/manifest.json", f"{bundle}/facts.json")
    assert ended.exit_code == 0, ended.err
    assert "both are the same folder" in ended.out


def test_names_of_a_stranger_do_nothing_in_a_comment(
    glowmcu_cli: Run, bundle: str, copy: str
) -> None:
    bad = "a`|@everyone</details>\n# <img src=x>\x1b[31m[link](http://x)"
    edit(copy, lambda body: body["layers"][0].update(name=bad))
    text = glowmcu_cli("diff", bundle, copy, "--markdown").out
    assert text.startswith(MARK)
    assert "\x1b" not in text
    row = next(line for line in text.splitlines() if "@everyone" in line)
    assert row.startswith("| `a'\\|@everyone</details> # <img")
    assert row.count("`") == 4, "one code span for the name, one for the kernel"
    assert text.count("\n</details>") == 1
    assert "\x1b" not in glowmcu_cli("diff", bundle, copy).out


def _set(*path: str | int, to: object) -> Callable[[Json], None]:
    def change(body: Json) -> None:
        holder: Any = body
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_set("macs", to="many"), "macs"),
        (_set("arena_bytes", to=True), "arena_bytes"),
        (_set("arena_bytes", to=10**400), "arena_bytes"),
        (_set("inputs", 0, "scale", to=float("nan")), "inputs[0].scale"),
        (_set("inputs", 0, "shape", to=[1, None]), "inputs[0].shape[1]"),
        (_set("layers", 0, "name", to=[]), "layers[0].name"),
        (_set("options", to=["optimize"]), "options"),
        (_set("costs", "stack_bytes", to={"f": "much"}), "costs.stack_bytes.f"),
        (
            _set("size", to={"symbol": 1, "parameter": "", "smallest": 1, "largest": 2}),
            "size.symbol",
        ),
    ],
)
def test_a_value_of_a_wrong_type_is_named(
    change: Callable[[Json], None], said: str, glowmcu_cli: Run, bundle: str, copy: str
) -> None:
    edit(copy, change)
    for folders in ((bundle, copy), (copy, bundle)):
        ended = glowmcu_cli("diff", *folders)
        assert ended.exit_code == 2
        assert f"error[GM601]: cannot read the manifest: {said} is not of its type" in ended.err


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format": 1}', "[" * 100_000, '{"format": 1, "inputs": 7}']
)
def test_a_damaged_manifest_is_refused(text: str, glowmcu_cli: Run, bundle: str, copy: str) -> None:
    (Path(copy) / "manifest.json").write_text(text)
    ended = glowmcu_cli("diff", bundle, copy)
    assert ended.exit_code == 2
    assert "error[GM601]" in ended.err


@pytest.mark.parametrize(
    "facts",
    [
        {"bench": 7, "code": [], "compile": {"layers": {"a": 1}}, "verify": []},
        {"bench": {"cycles": "x", "layers": [1, {"index": "0"}]}, "code": {"": -1}},
        {"bench": {"cycles": 1e400, "core": []}, "comparison": {"output_sqnr_db": [1]}},
        {"compile": {"layers": [{"index": 0, "estimate": 3}, {"index": 10**30}]}},
    ],
)
def test_facts_of_wrong_types_are_as_if_unknown(
    facts: Json, glowmcu_cli: Run, bundle: str, copy: str
) -> None:
    for folder in (bundle, copy):
        file = Path(folder) / "facts.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "facts": facts}))
    for how in ((), ("--json",), ("--markdown",)):
        ended = glowmcu_cli("diff", bundle, copy, *how)
        assert ended.exit_code == 0, ended.err
    rows = {row.name: row for row in diff_bundles(Path(bundle), Path(copy)).quantities}
    assert {rows["cycles"].how, rows["code"].how} == {"estimated"}


def test_files_without_end_are_not_read(glowmcu_cli: Run, bundle: str, copy: str) -> None:
    os.truncate(Path(copy) / "facts.json", MOST_BYTES + 1)
    ended = glowmcu_cli("diff", bundle, copy)
    assert ended.exit_code == 2
    assert f"error[GM172]: facts.json has {MOST_BYTES + 1} bytes" in ended.err
    (Path(copy) / "facts.json").unlink()
    if hasattr(os, "mkfifo"):
        os.mkfifo(Path(copy) / "facts.json")
        assert "facts.json is not a file" in glowmcu_cli("diff", bundle, copy).err


@pytest.mark.parametrize(
    ("given", "code"),
    [(("out", "nowhere"), "GM601"), (("digits.tflite", "out"), "GM171"), (("out", "."), "GM601")],
)
def test_what_is_no_bundle_is_named(
    given: tuple[str, ...], code: str, glowmcu_cli: Run, bundle: str
) -> None:
    ended = glowmcu_cli("diff", *given)
    assert ended.exit_code == 2
    assert f"error[{code}]" in ended.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--max-growth", "5"), "expected 5%, arena=0"),
        (("--max-growth", "-5%"), "expected 5%"),
        (("--max-growth", "nan%"), "expected 5%"),
        (("--max-growth", "ram=5%"), "expected one of arena, stack"),
        (("--max-growth", "cycles=2KiB"), "expected cycles such as"),
        (("--max-growth", "arena=2,5%"), "expected bytes"),
        (("--json", "--markdown"), "do not go together"),
    ],
)
def test_a_wrong_option_says_what_is_expected(
    given: tuple[str, ...], said: str, glowmcu_cli: Run
) -> None:
    ended = glowmcu_cli("diff", "a", "b", *given)
    assert ended.exit_code == 2
    assert said in " ".join(ended.err.split())


def test_accuracy_is_what_verify_found(glowmcu_cli: Run, bundle: str, copy: str) -> None:
    for folder, sqnr in ((bundle, 31.25), (copy, 12.5)):
        file = Path(folder) / "facts.json"
        body = json.loads(file.read_text())
        body["facts"]["comparison"] = {"output_sqnr_db": sqnr, "samples": 9}
        body["facts"]["verify"] = {"passed": folder == bundle}
        file.write_text(json.dumps(body))
    rows = json.loads(glowmcu_cli("diff", bundle, copy, "--json").out)["accuracy"]
    said = {row["what"].split()[0]: (row["before"], row["after"]) for row in rows}
    assert said == {"verified": ("yes", "no"), "SQNR": ("31.25", "12.5"), "samples": ("9", "9")}
    assert "31.25" in glowmcu_cli("diff", bundle, copy).out
