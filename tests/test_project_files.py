"""Files about the project: what services and registries read, and that they agree."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from glowmcu.version import __version__
from scripts.release_notes import release_notes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPO = Path(__file__).resolve().parents[1]
SCHEMAS = {
    "citation-file-format": ["CITATION.cff"],
    "github-issue-config": [".github/ISSUE_TEMPLATE/config.yml"],
    "github-issue-forms": [".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/model.yml"],
    "github-workflows": [".github/workflows/ci.yml", ".github/workflows/release.yml"],
}
CITATION = "cff-version: 1.2.0\nversion: 1.2.3\n"
CHANGES = (
    "# Changelog\n\n## Unreleased\n\n## 1.2.3 (today)\n\n- This.\n- That.\n\n## 1.2.2\n\n- Old.\n"
)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_services_would_read_the_files(schema: str) -> None:
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run(
        [*command, *SCHEMAS[schema]], cwd=REPO, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_repository_has_one_address() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = project["urls"]["Repository"]
    listed = subprocess.run(
        ["git", "grep", "-hoIiE", r"(github|githubusercontent)\.com/[a-z-]*/glowmcu\b"],
        cwd=REPO, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode > 1:
        pytest.skip("not a git checkout: nothing says which files belong to it")
    named = {line.partition("/")[2] for line in listed.stdout.split()}
    assert named == {address.partition("github.com/")[2]}


def test_the_citation_names_the_version() -> None:
    assert f"\nversion: {__version__}\n" in (REPO / "CITATION.cff").read_text(encoding="utf-8")


def test_hooks_call_what_there_is() -> None:
    text = (REPO / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    files = re.findall(r"tests/\w+\.py", text)
    assert files
    assert all((REPO / name).is_file() for name in files)


def test_notes_are_those_of_the_version_alone() -> None:
    assert release_notes("v1.2.3", CHANGES, "1.2.3", CITATION) == "- This.\n- That.\n"


@pytest.mark.parametrize(
    ("tag", "changes", "version", "citation", "said"),
    [
        ("v1.2.4", CHANGES, "1.2.3", CITATION, "version.py says 1.2.3"),
        ("1.2.3", CHANGES, "1.2.3", CITATION, "the tag is 1.2.3"),
        ("v1.2.3", CHANGES, "1.2.3", "version: 1.2.2\n", "CITATION.cff"),
        ("v1.2.3", CHANGES.replace("d\n\n##", "d\n\n- New.\n\n##", 1), "1.2.3", CITATION,
         "under Unreleased"),
        ("v1.2.5", CHANGES, "1.2.5", "version: 1.2.5\n", "nothing under ## 1.2.5"),
    ],
)  # fmt: skip
def test_a_release_that_does_not_agree_is_refused(
    tag: str, changes: str, version: str, citation: str, said: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        release_notes(tag, changes, version, citation)
