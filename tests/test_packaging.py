"""The wheel as a user gets it: built from the sdist, installed alone, used outside the checkout."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from glowmcu.examples import examples as known_examples
from glowmcu.version import __version__

pytestmark = pytest.mark.slow

REPO = Path(__file__).resolve().parents[1]
DIGITS = REPO / "examples" / "digits" / "digits_int8.tflite"
RESOURCES = ("boards", "libjit", "templates")


def run(*command: object, cwd: Path) -> str:
    """Runs `command` in `cwd` without any hint of the checkout; gives its standard output."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL"))}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Distributions:
    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """sdist of the checkout, and the wheel built from that sdist, not from the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, REPO, cwd=folder)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Distributions(wheel, sdist)


@pytest.fixture(scope="module")
def installed(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`bin` of an environment with the wheel and its plain dependencies, no extras."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", "venv", cwd=folder)
    programs = folder / "venv" / "bin"
    run(programs / "python", "-m", "pip", "install", "-q", distributions.wheel, cwd=folder)
    return programs


def committed_files() -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPO, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout: nothing says which files belong to it")
    return {name for name in listed.stdout.split("\0") if name and (REPO / name).is_file()}


def test_the_sdist_holds_every_committed_file(distributions: Distributions) -> None:
    with tarfile.open(distributions.sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert sorted(committed_files() - packed) == []


def test_the_wheel_holds_the_package_with_its_resources_and_nothing_else(
    distributions: Distributions,
) -> None:
    with zipfile.ZipFile(distributions.wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    wanted = {name for name in committed_files() if name.startswith("glowmcu/")}
    for kind in RESOURCES:
        files = {name for name in committed_files() if name.startswith(f"{kind}/")}
        assert files, f"no files in {kind}/"
        wanted |= {f"glowmcu/_resources/{name}" for name in files}
    examples = {"examples.toml", "LICENSES.txt"}
    for name, example in known_examples().items():
        examples |= {f"{name}/{file}" for file in example.files}
    wanted |= {f"glowmcu/_resources/examples/{name}" for name in examples}
    assert sorted(wanted - packed) == []
    shipped = {name for name in packed if name.startswith("glowmcu/_resources/examples/")}
    assert sorted(shipped - wanted) == []
    assert sorted(name for name in packed if not name.startswith("glowmcu/")) == []


def test_a_registry_would_take_both(distributions: Distributions, tmp_path: Path) -> None:
    pytest.importorskip("twine")
    command = [sys.executable, "-m", "twine", "check", "--strict"]
    run(*command, distributions.wheel, distributions.sdist, cwd=tmp_path)


def test_links_of_the_long_description_lead_somewhere_from_a_registry(
    distributions: Distributions,
) -> None:
    with zipfile.ZipFile(distributions.wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        text = archive.read(name).decode()
        licenses = {Path(name).name for name in archive.namelist() if "/licenses/" in name}
    assert licenses == {"LICENSE", "NOTICE", "LICENSES.txt"}
    fields = email.message_from_string(text)
    assert fields["Description-Content-Type"] == "text/markdown"
    links = re.findall(r"\]\(([^)]*)\)", fields.get_payload())
    start = f"https://github.com/glowmcu/glowmcu/blob/v{__version__}/"
    assert len(links) > 30
    for link in links:
        if link.startswith(start):
            file = link.removeprefix(start).partition("#")[0]
            assert (REPO / file).exists(), link
        else:
            assert link.startswith("https://"), link


def test_the_installed_command_says_its_version(installed: Path, tmp_path: Path) -> None:
    assert __version__ in run(installed / "glowmcu", "--version", cwd=tmp_path)


def test_the_installed_package_finds_its_own_resources(installed: Path, tmp_path: Path) -> None:
    code = (
        "from glowmcu.resources import resource_dir\n"
        f"for kind in {RESOURCES}: print(resource_dir(kind))"
    )
    folders = [Path(line) for line in run(installed / "python", "-c", code, cwd=tmp_path).split()]
    assert len(folders) == len(RESOURCES)
    for folder, kind in zip(folders, RESOURCES, strict=True):
        assert folder.is_relative_to(installed.parent)
        shipped = {path.name for path in folder.iterdir()}
        assert shipped >= {path.name for path in (REPO / kind).iterdir() if path.is_file()}


def test_the_installed_command_writes_the_examples(installed: Path, tmp_path: Path) -> None:
    for name, example in known_examples().items():
        run(installed / "glowmcu", "example", name, "-o", name, cwd=tmp_path)
        for file in example.files:
            written = (tmp_path / name / file).read_bytes()
            assert written == (REPO / "examples" / name / file).read_bytes(), file


def bundle_files(folder: Path) -> dict[str, bytes]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_the_installed_compiler_writes_the_same_bundle_as_the_checkout(
    installed: Path, tmp_path: Path
) -> None:
    options = ("compile", DIGITS, "--board", "nrf52", "--name", "digits", "-o")
    run(installed / "glowmcu", *options, tmp_path / "from_wheel", cwd=tmp_path)
    start = "import sys; from glowmcu.cli import main; sys.exit(main())"
    run(sys.executable, "-c", start, *options, tmp_path / "from_checkout", cwd=REPO)
    from_wheel = bundle_files(tmp_path / "from_wheel")
    assert {"digits.h", "digits.c", "manifest.json"} <= from_wheel.keys()
    assert from_wheel == bundle_files(tmp_path / "from_checkout")
