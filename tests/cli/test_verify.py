"""`glowmcu verify` is green only where everything that was named has run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import glowmcu
from glowmcu import installation
from glowmcu.errors import GlowmcuError
from tests.cli.conftest import Run

_WHICH = shutil.which


@pytest.fixture
def no_qemu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer without QEMU."""
    monkeypatch.setattr(
        shutil, "which", lambda name: None if name.startswith("qemu") else _WHICH(name)
    )


def test_an_executor_that_cannot_run_fails_and_says_what_to_install(
    glowmcu_cli: Run, bundle: str, no_qemu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for manager, typed in (
        ("apt", "apt install qemu-system-arm"),
        ("brew", "brew install qemu"),
        ("winget", "winget install SoftwareFreedomConservancy.QEMU"),
    ):
        monkeypatch.setattr(installation, "package_manager", lambda manager=manager: manager)
        ended = glowmcu_cli("verify", bundle, "--on", "host,qemu")
        assert ended.exit_code == 2
        assert "every byte equal" in ended.out, "what ran is still shown"
        assert ended.err == (
            "error[GM670]: the qemu executor could not run; --allow-missing passes without it\n"
            f"  hint: qemu-system-arm is not on PATH: {typed}\n"
        )


def test_allow_missing_passes_where_one_executor_ran_and_fails_where_none_did(
    glowmcu_cli: Run, bundle: str, no_qemu: None
) -> None:
    ended = glowmcu_cli("verify", bundle, "--on", "host,qemu", "--allow-missing")
    assert (ended.exit_code, ended.err) == (0, "")
    assert "could not run" in ended.out
    ended = glowmcu_cli("verify", bundle, "--on", "qemu", "--allow-missing")
    assert ended.exit_code == 2
    assert ended.err.startswith("error[GM670]: the qemu executor could not run\n")


def test_an_executor_without_the_core_could_not_run(glowmcu_cli: Run) -> None:
    made = glowmcu_cli("compile", "digits.tflite", "--board", "esp32c3", "-o", "out")
    assert made.exit_code == 0, made.err
    ended = glowmcu_cli("verify", "out", "--on", "host,cortex-m", "--json")
    assert ended.exit_code == 2
    body = json.loads(ended.out)
    assert body["passed"] is False
    assert [entry["executor"] for entry in body["skipped"]] == ["cortex-m"]
    assert "use --on riscv" in body["skipped"][0]["missing"]
    assert "rv32imc" in ended.err


def test_a_difference_outweighs_an_executor_that_could_not_run(
    glowmcu_cli: Run, bundle: str, no_qemu: None
) -> None:
    vectors = Path(bundle, "selftest", "golden.json")
    body = json.loads(vectors.read_text())
    first = body["vectors"][0]["outputs"]
    first[0] = "00" * (len(first[0]) // 2)
    vectors.write_text(json.dumps(body))
    for more in ((), ("--allow-missing",)):
        ended = glowmcu_cli("verify", bundle, "--on", "host,qemu", *more)
        assert ended.exit_code == 1, ended.err
        assert "differ" in ended.out


@pytest.mark.parametrize(
    ("command", "lacks"),
    [("run out --input pixels.npy --on qemu", "qemu"), ("bench out", "arm-none-eabi-gcc")],
)
def test_run_and_bench_say_what_to_install(
    command: str, lacks: str, glowmcu_cli: Run, bundle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "package_manager", lambda: "apt")
    monkeypatch.setattr(
        shutil, "which", lambda name: None if name.startswith(lacks) else _WHICH(name)
    )
    ended = glowmcu_cli(*command.split())
    assert ended.exit_code == 2
    assert ended.out == ""
    assert "executor does not work here" in ended.err
    assert f"hint: {lacks}" in ended.err
    assert "is not on PATH: apt install " in ended.err


@pytest.mark.parametrize(
    ("release", "manager"),
    [
        ({"ID": "debian"}, "apt"),
        ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, "apt"),
        ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, "dnf"),
        ({"ID": "manjaro", "ID_LIKE": "arch"}, "pacman"),
        ({"ID": "unheard-of"}, "apt"),
    ],
)
def test_a_distribution_has_its_package_manager(
    release: dict[str, str], manager: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation.sys, "platform", "linux")
    monkeypatch.setattr(installation.platform, "freedesktop_os_release", lambda: release)
    installation.package_manager.cache_clear()
    assert installation.package_manager() == manager
    installation.package_manager.cache_clear()
    for system, theirs in (("darwin", "brew"), ("win32", "winget")):
        monkeypatch.setattr(installation.sys, "platform", system)
        assert installation.package_manager() == theirs
        installation.package_manager.cache_clear()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--on", ""], "no executor is named"),
        (["--on", ","], "no executor is named"),
        (["--seed", "-1"], "--seed"),
        (["--plot", "x.svg"], "--plot has no meaning with --against reference"),
        (["--labels", "none.npy"], "--labels has no meaning with --against reference"),
        (["--profile", "none.json"], "--profile goes with --model"),
        (["--bind", "x=none.npy"], "--bind goes with --model"),
        (["--against", "float", "--on", "host"], "--on has no meaning with --against float"),
        (["--against", "a.tflite", "--plot", "x.svg"], "--plot has no meaning with --against FILE"),
    ],
    ids=" ".join,
)
def test_options_that_would_be_ignored_are_refused(
    options: list[str], said: str, glowmcu_cli: Run, bundle: str
) -> None:
    ended = glowmcu_cli("verify", bundle, *options)
    assert ended.exit_code == 2
    assert said in ended.err


def test_numbers_below_zero_are_refused_in_python(bundle: str) -> None:
    for given in ({"samples": -1}, {"seed": -1}):
        with pytest.raises(GlowmcuError, match="must be 0 or more"):
            glowmcu.verify(bundle, **given)
    with pytest.raises(GlowmcuError, match="no executor is named"):
        glowmcu.verify(bundle, on=[])


def test_an_edited_file_of_any_bytes_is_a_bundle_that_does_not_compile(
    glowmcu_cli: Run, bundle: str
) -> None:
    """The compiler quotes the line, whose bytes need not be UTF-8."""
    source = Path(bundle, "digits.c")
    source.write_bytes(source.read_bytes() + b"int x = gr\xfc\xdfe;\n")
    ended = glowmcu_cli("verify", bundle)
    assert ended.exit_code == 2
    assert "GM603" in ended.err
