"""`python -m glowmcu.ci` in a repository as users have it, against a service that remembers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from glowmcu.ci.page import Findings, mark, page
from tests.ci.conftest import FLOAT, INT8, UserRepository
from tests.ci.fake_service import SOMEBODY, FakeService

MARK = mark("models/model.tflite")


def only(service: FakeService) -> str:
    """The one comment."""
    (found,) = service.comments.values()
    return str(found["body"])


def row(body: str, name: str) -> list[str]:
    line = next(line for line in body.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.arm
def test_a_pull_request_is_told_what_it_changes(pull: UserRepository, service: FakeService) -> None:
    done = pull.job(verify_on="host,cortex-m", is_apart=True)
    assert done.returncode == 0, done.stdout + done.stderr
    body = only(service)
    assert body.startswith(MARK)
    folder = pull.path / pull.outputs["folder"]
    arenas = [
        json.loads((folder / side / "manifest.json").read_text())["arena_bytes"]
        for side in ("before", "after")
    ]
    assert arenas[0] < arenas[1]
    shown = [int(re.sub(r"\D", "", cell)) for cell in row(body, "arena")[1:3]]
    assert shown == arenas
    assert row(body, "cycles")[-1] == "measured"
    assert "Verified on host, cortex-m: every byte equal." in body
    assert "https://github.example/someone/firmware/actions/runs/5" in body
    assert pull.summary == body
    assert (pull.path / pull.outputs["comment-file"]).read_text() == body
    assert "<html" in (pull.path / pull.outputs["report"]).read_text()
    assert pull.outputs["exit-code"] == "0"
    assert service.tokens == {"Bearer secret"}
    assert pull.git("worktree", "list").count("\n") == 0, "the second work tree is gone"


def test_the_next_push_updates_the_comment_of_the_same_title_alone(
    pull: UserRepository, service: FakeService
) -> None:
    forged = service.add(f"{MARK}\nI am not it", author=SOMEBODY)
    for index in range(120):
        service.add(f"comment {index}")
    assert pull.job().returncode == 0
    assert pull.job(title="on another board").returncode == 0
    first = [n for n, item in service.comments.items() if "GlowMCU" in item["body"]]
    assert len(first) == 2
    pull.commit(models__model_tflite=INT8)
    assert pull.job().returncode == 0
    assert [n for n, item in service.comments.items() if "GlowMCU" in item["body"]] == first
    assert "No difference." in service.comments[first[0]]["body"]
    assert service.comments[forged]["body"].endswith("I am not it")
    assert ("PATCH", f"/repos/someone/firmware/issues/comments/{first[0]}") in service.calls


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_comment_that_is_refused_fails_nothing(
    status: int, pull: UserRepository, service: FakeService
) -> None:
    service.refuses_writing = status
    done = pull.job()
    assert done.returncode == 0
    assert "::warning title=GlowMCU::no comment was written" in done.stdout
    assert MARK in pull.summary


def test_without_a_token_or_a_service_the_summary_is_written(pull: UserRepository) -> None:
    done = pull.job(token="")
    assert (done.returncode, "no token was given" in done.stdout) == (0, True)
    pull.environment["GITHUB_API_URL"] = "http://127.0.0.1:9"
    done = pull.job()
    assert (done.returncode, "could not be asked" in done.stdout) == (0, True)
    assert pull.summary.count(MARK) == 2


def test_a_user_who_wants_no_comment_gets_none(pull: UserRepository, service: FakeService) -> None:
    assert pull.job(comment="false").returncode == 0
    assert not service.calls


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"options": "--arena-budget 1K"}, "error[GM4"),
        ({"max_growth": "flash=100% arena=0"}, "error[GM173]"),
        pytest.param({"max_cycles": "1K"}, "error[GM170]", marks=pytest.mark.arm),
    ],
)
def test_what_is_over_a_limit_ends_with_4_after_the_comment(
    settings: dict[str, str], said: str, pull: UserRepository, service: FakeService
) -> None:
    done = pull.job(**settings)
    assert done.returncode == 4, done.stdout + done.stderr
    assert said in only(service)
    assert "::error title=GlowMCU::" in done.stdout
    assert pull.outputs["exit-code"] == "4"


def test_a_model_that_does_not_compile_is_told(pull: UserRepository, service: FakeService) -> None:
    pull.commit(models__model_tflite="no model")
    done = pull.job()
    assert done.returncode not in (0, 70)
    assert "error[GM101]" in only(service)
    broken = pull.git("rev-parse", "HEAD")
    pull.commit(models__model_tflite=INT8)
    done = pull.job(base=broken, max_growth="5%")
    assert done.returncode == 0, "what mends a broken model has to pass"
    assert "does not compile, as the log says" in only(service)
    assert "The limits of growth were not checked." in only(service)


def test_the_first_commit_has_nothing_to_compare_with(pull: UserRepository) -> None:
    pull.git("checkout", "--quiet", "--orphan", "fresh")
    pull.commit()
    pull.event(before="0" * 40)
    done = pull.job(max_growth="5%")
    assert done.returncode == 0, done.stdout
    assert "Compared with nothing: this is the first commit." in pull.summary
    assert row(pull.summary, "arena")[1].endswith("B")


def test_a_new_model_has_nothing_to_compare_with(
    pull: UserRepository, service: FakeService
) -> None:
    pull.commit(models__other_tflite=INT8)
    assert pull.job(model="./models/other.tflite").returncode == 0
    assert "`models/other.tflite` is new" in only(service)


def test_a_renamed_model_is_followed(pull: UserRepository, service: FakeService) -> None:
    base = pull.git("rev-parse", "HEAD")
    pull.git("mv", "models/model.tflite", "models/kws.tflite")
    pull.commit()
    assert pull.job(model="models/kws.tflite", base=base).returncode == 0
    assert "Before it was called `models/model.tflite`." in only(service)
    assert "No difference." not in only(service), "the name of the model is in the bundle's files"
    done = pull.job(base=base, title="old name")
    assert done.returncode == 0, done.stdout
    assert "`models/model.tflite` is called `models/kws.tflite` now" in pull.summary


def test_a_model_that_is_deleted_is_said_to_be_gone(
    pull: UserRepository, service: FakeService
) -> None:
    pull.commit(models__model_tflite=None)
    done = pull.job()
    assert done.returncode == 0, done.stdout
    assert "It is gone in this revision" in only(service)
    pull.commit()
    done = pull.job(base="HEAD~1")
    assert done.returncode == 2
    assert "error[GM178]" in done.stdout


def test_a_shallow_clone_fetches_what_it_is_merged_into(
    pull: UserRepository, service: FakeService, tmp_path: Path
) -> None:
    """As actions/checkout leaves it: the merge of the pull request, one commit deep."""
    pull.git("checkout", "--quiet", "-b", "topic", "HEAD~1")
    pull.commit(readme_md="words")
    pull.git("checkout", "--quiet", "main")
    pull.git("merge", "--quiet", "--no-ff", "--no-edit", "topic")
    merged = pull.git("rev-parse", "HEAD")
    pull.git("clone", "--quiet", "--depth=1", pull.path.as_uri(), str(tmp_path / "clone"))
    pull.environment["GITHUB_SHA"] = merged
    pull.event(pull_request={"number": 3, "base": {"sha": "1" * 40}})
    done = pull.job(cwd=tmp_path / "clone")
    assert done.returncode == 0, done.stdout
    assert f"Compared with {pull.git('rev-parse', 'HEAD^1')[:12]}." in only(service)
    assert "No difference." in only(service)


def test_a_base_that_cannot_be_fetched_is_named(pull: UserRepository, service: FakeService) -> None:
    pull.event(pull_request={"number": 3, "base": {"sha": "1" * 40}})
    assert pull.job().returncode == 0
    assert "could not be fetched: " in only(service)
    assert ".." not in only(service)


@pytest.mark.parametrize("base", ["mian", "", "1" * 40])
def test_limits_of_growth_are_not_left_unchecked_for_a_base_that_is_not_found(
    base: str, pull: UserRepository
) -> None:
    pull.event(pull_request={"number": 3, "base": {"sha": "1" * 40}})
    done = pull.job(base=base, max_growth="arena=0")
    assert done.returncode == 2, done.stdout
    assert "error[GM179]" in done.stdout
    assert "'origin' does not appear to be a git repository" in done.stdout


def test_paths_and_options_are_those_of_the_folder_the_job_runs_in(
    pull: UserRepository, service: FakeService
) -> None:
    pull.commit(firmware__names_txt="\n".join("abcdefghij"), firmware__kws_tflite=INT8)
    base = pull.git("rev-parse", "HEAD")
    pull.commit(firmware__names_txt="\n".join("klmnopqrst"))
    done = pull.job(
        model="kws.tflite", options="--labels 'names.txt'", base=base, cwd=pull.path / "firmware"
    )
    assert done.returncode == 0, done.stdout
    folder = pull.path / "firmware" / pull.outputs["folder"]
    labels = [(folder / side / "kws.h").read_text() for side in ("before", "after")]
    assert labels[0] != labels[1], "the labels of before are those of the earlier commit"


def test_a_committed_bundle_is_compared_and_stays_as_it_is(
    pull: UserRepository, service: FakeService
) -> None:
    for model in (INT8, FLOAT):
        pull.git("rm", "-r", "--quiet", "--ignore-unmatch", "vendored")
        command = [
            "compile", str(model), "--board", "nrf52", "--name", "kws", "-o", "vendored"
        ]  # fmt: skip
        subprocess.run(
            [sys.executable, "-m", "glowmcu", *command], cwd=pull.path, env=pull.environment,
            capture_output=True, check=True,
        )  # fmt: skip
        pull.commit()
    done = pull.job(model="", bundle="vendored/", base="HEAD~1")
    assert done.returncode == 0, done.stdout
    assert row(only(service), "arena")[3].startswith("+")
    assert pull.git("status", "--porcelain", "--", "vendored") == ""


def test_names_of_models_command_nothing(pull: UserRepository) -> None:
    """Whatever a file says stands where GitHub takes no commands from the log."""
    pull.commit(models__model_tflite="::set-output name=x::y\n::add-mask::e\n")
    log = pull.job().stdout
    stopped = None
    for line in log.splitlines():
        if start := re.fullmatch(r"::stop-commands::([0-9a-f]{32})", line):
            stopped = start[1]
        elif stopped and line == f"::{stopped}::":
            stopped = None
        elif stopped is None and line.startswith("::"):
            assert re.match(r"::(group|endgroup|error title=GlowMCU|warning title=GlowMCU)::", line)
    found = Findings("a`-->b", failures=[("c", "```\n@everyone\x1b[31m")])
    text = page(found, "")
    assert re.fullmatch(r"<!-- glowmcu ci: [A-Za-z0-9_./ ]+ -->", text.splitlines()[0])
    assert text.count("```") == 2
    assert "\x1b" not in text


def test_gitlab_gets_a_note_that_is_updated(user: UserRepository, service: FakeService) -> None:
    service.is_app = False
    user.environment |= {
        "GITLAB_CI": "true", "CI_API_V4_URL": f"{service.url}/api/v4", "CI_PROJECT_ID": "9",
        "CI_MERGE_REQUEST_IID": "4", "CI_JOB_URL": "https://gitlab.example/-/jobs/1",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": user.git("rev-parse", "HEAD~1"),
        "CI_COMMIT_BEFORE_SHA": "0" * 40, "GLOWMCU_MODEL": "models/model.tflite",
        "GLOWMCU_TOKEN": "secret", "GLOWMCU_VERIFY_ON": "host",
    }  # fmt: skip
    assert user.job().returncode == 0
    assert user.job().returncode == 0
    assert "[Log and report](https://gitlab.example/-/jobs/1)" in only(service)
    notes = "/api/v4/projects/9/merge_requests/4/notes"
    (number,) = service.comments
    assert [call for call in service.calls if call[0] != "GET"] == [
        ("POST", notes), ("PUT", f"{notes}/{number}")
    ]  # fmt: skip
    assert service.tokens == {"secret"}


def test_outside_of_ci_it_compares_with_the_commit_before(user: UserRepository) -> None:
    done = user.job("--model", "models/model.tflite", "--verify-on", "host", is_apart=True)
    assert done.returncode == 0, done.stderr
    assert f"Compared with {user.git('rev-parse', 'HEAD~1')[:12]}." in done.stdout


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "name either the model or the bundle"),
        ({"model": "a", "bundle": "b"}, "name either the model or the bundle"),
        ({"model": "../a.tflite"}, "below the current folder"),
        ({"model": "a.tflite", "options": "--name 'x"}, "end within quotes"),
        ({"model": "a.tflite", "comment": "maybe"}, "comment is true or false"),
        ({"model": "a.tflite", "max_cycles": "lots"}, "max-cycles: expected cycles such as"),
        ({"model": "a.tflite", "max_stack": "2 kilo"}, "max-stack: expected bytes such as"),
        ({"model": "nowhere.tflite"}, "error[GM178]"),
    ],
)
def test_a_wrong_setting_says_what_is_expected(
    settings: dict[str, str], said: str, user: UserRepository
) -> None:
    done = user.job(**settings)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_folder_that_cannot_be_emptied_is_named(user: UserRepository) -> None:
    """Of another user, for all but root; here something else is in its place."""
    (user.path / "taken").write_text("a file")
    done = user.job(model="models/model.tflite", output="taken", verify_on="host")
    assert done.returncode == 2
    assert "error[GM198]" in done.stderr
    assert "--> taken" in done.stderr
    assert (user.path / "taken").read_text() == "a file"


def test_where_git_may_not_write_nobody_waits_for_the_rest(user: UserRepository) -> None:
    (user.path / ".git" / "worktrees").write_text("no folder, as on a file system to be read only")
    done = user.job(model="models/model.tflite", verify_on="host")
    assert done.returncode == 2
    assert "error[GM177]" in done.stderr
    assert "glowmcu compile" not in done.stdout


def test_outside_of_a_repository_it_says_so(user: UserRepository) -> None:
    done = user.job(model="a.tflite", cwd=user.runner)
    assert done.returncode == 2
    assert "error[GM176]" in done.stderr
