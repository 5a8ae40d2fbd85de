"""What a page says to type is typed: every option exists, every block runs in a fresh folder."""

from __future__ import annotations

import importlib
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest

from glowmcu.cli.main import group
from tests.conftest import REPO
from tests.docs.blocks import PAGES, Typed, blocks, name_of, spoken_commands, typed_lines
from tests.docs.pages import BROUGHT, NOT_RUN, SHORTER, Brought
from tests.docs.shell import Part, read_in_order

TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
TEXTS = {name_of(page): page.read_text(encoding="utf-8") for page in PAGES}
LANGUAGES = {
    "bash", "c", "cmake", "console", "powershell", "python", "rust", "sh", "text", "toml", "yaml",
}  # fmt: skip


def is_run(command: str) -> bool:
    return not any(re.match(pattern, command) for pattern in NOT_RUN)


def commands(name: str) -> list[Typed]:
    return list(typed_lines(TEXTS[name]))


def markers(name: str) -> list[pytest.MarkDecorator]:
    run = "\n".join(one.text for one in commands(name) if is_run(one.text))
    wanted = {
        "arm": r"\bbench\b|cortex-m|qemu|make -C|--kernels",
        "qemu": r"\bqemu\b",
        "riscv": r"esp32c3 (?s:.*)\bqemu\b",
        "slow": r"glowmcu tune|make -C|bench|profile",
    }
    return [getattr(pytest.mark, mark) for mark, found in wanted.items() if re.search(found, run)]


def unknown(command: str) -> str:
    """What of a `glowmcu …` line does not exist; empty where all does."""
    words = shlex.split(command.replace("…", ""), comments=True)
    if words[1:2] in ([], ["--help"], ["--version"]):
        return ""
    found = group.get_command(click.Context(group), words[1])
    if found is None:
        return f"no command {words[1]!r}"
    # Options of help are made once, and are the group's: a context without them would spoil them.
    parent = click.Context(group, **group.context_settings)
    context = click.Context(found, info_name=words[1], parent=parent)
    try:
        values, _, _ = found.make_parser(context).parse_args(list(words[2:]))
        for parameter in found.params:
            value = values.get(parameter.name or "")
            given = isinstance(value, str | tuple | list) and value and "|" not in value
            if isinstance(parameter.type, click.Choice) and given:
                parameter.type_cast_value(context, value)
    except click.ClickException as cause:
        # A sentence names an option without its value, or a command without its arguments.
        if isinstance(cause, click.BadOptionUsage) and "requires an argument" in str(cause):
            return ""
        return cause.format_message()
    return ""


@pytest.mark.parametrize("name", TEXTS)
def test_every_fence_says_what_language_it_holds(name: str) -> None:
    bare = [block.line for block in blocks(TEXTS[name]) if block.language not in LANGUAGES]
    assert not bare, f"{name}: fences of unknown languages in lines {bare}"


@pytest.mark.parametrize("name", TEXTS)
def test_every_command_of_a_page_is_one_with_options_that_exist(name: str) -> None:
    text = TEXTS[name]
    said = [*commands(name), *spoken_commands(text)]
    lines = [one for one in said if one.text.startswith("glowmcu ")]
    wrong = [f"{name}:{one.line}: {one.text}: {why}" for one in lines if (why := unknown(one.text))]
    assert not wrong, "\n".join(wrong)


def test_a_command_that_does_not_exist_is_noticed() -> None:
    assert "no command" in unknown("glowmcu bake kws.tflite")
    assert "--speed" in unknown("glowmcu compile kws.tflite --speed")
    assert "fast" in unknown("glowmcu compile kws.tflite --optimize fast")
    assert not unknown("glowmcu compile kws.tflite --optimize size  # --speed")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=markers(name))
        for name in TEXTS
        if any(is_run(one.text) for one in commands(name)) or "```python\n" in TEXTS[name]
    ],
)
def test_a_page_typed_from_its_beginning_works_in_a_fresh_folder(name: str, tmp_path: Path) -> None:
    brought = BROUGHT.get(name, Brought())
    for module in brought.needs:
        pytest.importorskip(module, reason=f"the page needs {module}, which is not installed")
    brought.lay(tmp_path)
    printed = read_in_order(name, list(parts_of(name, brought)), tmp_path)
    assert all(line in printed for line in brought.shown)
    if name == "docs/memory.md":
        what_the_page_about_memory_shows_is_true(TEXTS[name], printed, tmp_path)


def parts_of(name: str, brought: Brought) -> Iterator[Part]:
    """What is typed, in the page's order, behind what the page takes for granted."""
    for line in brought.before:
        yield Part("sh", 0, line)
    yield Part("python", 0, f"import glowmcu\n{brought.names}")
    found = [Part("sh", one.line, one.text) for one in commands(name) if is_run(one.text)]
    found += [
        Part("python", block.line, block.text)
        for block in blocks(TEXTS[name])
        if block.language == "python"
    ]
    found += [
        Part(f"file {block.title}", block.line, block.text)
        for block in blocks(TEXTS[name])
        if block.title
    ]
    for part in sorted(found, key=lambda part: part.line):
        more = [words for pattern, words in SHORTER.items() if re.match(pattern, part.text)]
        yield replace(part, text=" ".join([part.text, *more]))


def what_the_page_about_memory_shows_is_true(text: str, printed: str, folder: Path) -> None:
    for line in re.findall(r"^  (?:fits|placed) .*$", text, re.MULTILINE):
        assert line in printed
    header = (folder / "build" / "placed" / "digits.h").read_text(encoding="utf-8")
    for macro, section in re.findall(r"^\| `(DIGITS_\w+)` \| `(\S+)` \|$", text, re.MULTILINE):
        assert f'#define {macro} GLOWMCU_SECTION("{section}")' in header
    kept = (folder / "build" / "kept" / "digits.h").read_text(encoding="utf-8")
    assert "#define DIGITS_INPUT_KEPT 1" in kept


@pytest.mark.parametrize("name", TEXTS)
def test_python_and_toml_blocks_can_be_read(name: str) -> None:
    for block in blocks(TEXTS[name]):
        if block.language == "python":
            compile(block.text.replace("…", "..."), f"{name}:{block.line}", "exec")
        elif block.language == "toml":
            TOML.loads(block.text)


def test_extras_that_pages_install_exist() -> None:
    extras = TOML.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    for name, text in TEXTS.items():
        for found in re.findall(r"pip install[^\n`]*?(?:glowmcu|\.)\[([\w,]+)\]", text):
            assert set(found.split(",")) <= set(extras), f"{name}: {found}"


def test_debian_packages_that_pages_install_are_those_of_the_set_up() -> None:
    known = set((REPO / "scripts" / "setup.sh").read_text(encoding="utf-8").split())
    elsewhere = {"espeak-ng", "python3-venv"}  # for training; part of every other Python
    for name in TEXTS:
        for one in commands(name):
            if found := re.match(r"(?:sudo )?apt-get install(.*)", one.text):
                words = shlex.split(found[1], comments=True)
                wanted = {word for word in words if not word.startswith("-")} - elsewhere
                assert wanted <= known, f"{name}:{one.line}: {wanted - known}"


def test_the_tables_name_only_what_is_there() -> None:
    assert set(BROUGHT) <= set(TEXTS)
    written = [one.text for name in TEXTS for one in commands(name)]
    for pattern in (*NOT_RUN, *SHORTER):
        assert any(re.match(pattern, line) for line in written), f"nobody types {pattern}"


def test_a_line_that_fails_is_named(tmp_path: Path) -> None:
    assert shutil.which("bash"), "pages are typed into bash (Debian package bash)"
    typed = ["mkdir in && cd in", "glowmcu compile nowhere.tflite", "true"]
    lines = [Part("sh", number, text) for number, text in enumerate(typed, 3)]
    with pytest.raises(AssertionError, match=r"page\.md:4: .*nowhere"):
        read_in_order("page.md", lines, tmp_path)
    python = [Part("python", 7, "x = 1"), lines[0], Part("python", 9, "import os; os.remove('x')")]
    with pytest.raises(AssertionError, match=r"page\.md:9: (?s:.*)FileNotFoundError"):
        read_in_order("page.md", python, tmp_path / "in")


def test_names_and_folders_stay_from_part_to_part(tmp_path: Path) -> None:
    python = "import os; assert os.path.basename(os.getcwd()) == 'in'; x += 1; print(x)"
    parts = [
        Part("python", 1, "x = 1"),
        Part("sh", 2, "mkdir in && cd in"),
        Part("python", 3, python),
    ]
    assert read_in_order("page.md", parts, tmp_path) == "2\n"
