"""Files of `--custom` that are damaged, do not come back, or have unusual ends of lines."""

from __future__ import annotations

from pathlib import Path

import pytest

import glowmcu
from glowmcu.cli.input_arguments import parse_custom
from glowmcu.custom_c import CustomFile, read_custom
from glowmcu.emit_c.custom_names import check_custom_names
from glowmcu.errors import GlowmcuError
from tests.custom.test_custom_c import CLIP, clip_model, save

BROKEN_C = {
    "does not compile": ("copy[c] = x", "copy[c] = z", "GM762", "undeclared"),
    "a warning": ("int32_t r = 0", "unsigned r = 0", "GM762", "comparison"),
    "other arguments": ("int32_t columns, float limit", "float limit", "GM762", "const float *"),
    "not static": ("static void clip_rows", "int calls;\nstatic void clip_rows", "GM762",
                   "everything in it has to be static"),
    "another header": ("static void clip_rows", '#include "own.h"\nstatic void clip_rows', "GM762",
                       "one file is all"),
    "a crash": ("most[r] = 0.0f;", "*(volatile float *)0 = 0.0f;\n        most[r] = 0.0f;",
                "GM763", "it ended the process"),
    "an exit": ("most[r] = 0.0f;", "extern void exit(int);\n        most[r] = 0.0f;\n"
                "        if (r == 1) { exit(0); }", "GM763", "with exit code 0"),
    "a loop without end": ("most[r] = 0.0f;", "for (volatile int again = 1; again;) { }\n"
                           "        most[r] = 0.0f;", "GM763", "did not return within 1 seconds"),
    "outside a result": ("most[r] = 0.0f;", "most[r + rows] = 0.0f;", "GM763", "outside"),
    "outside the scratch": ("copy[c] = x", "copy[c + 1] = x", "GM763", "outside"),
    "a result that is not written": ("most[r] = v > most[r] ? v : most[r];", "", "", ""),
    "scratch that is not written": ("const float v = copy[c];", "const float v = copy[c] + copy[0];"
                                    "\n            if (r < 0) { copy[c] = v; }", "", ""),
    "an operand": ("most[r] = 0.0f;", "most[r] = 0.0f;\n        ((float *)(intptr_t)x)[r] = 9.0f;",
                   "GM763", "writes to an operand"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN_C.values(), ids=BROKEN_C)
def test_c_that_is_wrong_is_found_before_a_bundle_is_written(
    case: tuple[str, str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "did not return" in case[3]:
        monkeypatch.setattr("glowmcu.trial_call.TIME_LIMIT_SECONDS", 1.0)
    old, new, code, said = case
    assert CLIP.count(old) == 1
    custom = {"AcmeClip": save(tmp_path, CLIP.replace(old, new))}
    if not code:
        glowmcu.compile(clip_model(tmp_path), custom=custom, output=tmp_path / "out")
        return
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.compile(clip_model(tmp_path), custom=custom, output=tmp_path / "out")
    assert caught.value.code == code
    assert said in str(caught.value)
    assert "op.c" in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("function", ["out_run", "k_0"])
def test_a_function_that_is_called_as_one_of_the_bundle_is_refused_before_there_is_one(
    function: str, tmp_path: Path
) -> None:
    custom = {"AcmeClip": save(tmp_path, CLIP.replace("clip_rows", function))}
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.compile(clip_model(tmp_path), custom=custom, name="out", output=tmp_path / "out")
    (problem,) = caught.value.problems
    assert (problem.code, problem.where) == ("GM762", "op.c")
    assert f"{function} is a function of this C and of the bundle 'out'" in problem.message
    assert not (tmp_path / "out").exists()


def test_only_a_name_that_is_taken_is_refused() -> None:
    custom = CustomFile("op.c", CLIP)
    own = {custom.header: CLIP, "m.c": "static void k_0(void)\n{\n    clip_rows(x, y);\n}\n"}
    check_custom_names(own, "m", [custom])
    kernels = {**own, "glowmcu_x.h": "static inline float *clip_rows(const float *x)\n"}
    for taken in (kernels, {**own, "m.h": "#define clip_rows(x) (x)\n"}):
        with pytest.raises(GlowmcuError, match="clip_rows is a function of this C and"):
            check_custom_names(taken, "m", [custom])


@pytest.mark.parametrize("end", ["\r\n", "\r"], ids=["CRLF", "CR"])
def test_files_with_other_ends_of_lines_verify(end: str, tmp_path: Path) -> None:
    path = tmp_path / "op.c"
    path.write_bytes(b"\xef\xbb\xbf" + CLIP.replace("\n", end).encode())
    assert read_custom({"AcmeClip": path})["AcmeClip"].text == CLIP
    bundle = glowmcu.compile(clip_model(tmp_path), custom={"AcmeClip": path}, output=tmp_path / "b")
    assert glowmcu.verify(bundle, ["host"]).passed


def test_a_file_that_is_far_too_long_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, CLIP + "\n" * 2**20)
    with pytest.raises(GlowmcuError, match="GM761") as caught:
        read_custom({"AcmeClip": path})
    assert "more than 1048576 bytes" in str(caught.value)


def test_folders_may_have_equals_signs_and_commas() -> None:
    assert parse_custom(("com.acme.Clip=run=3, new/o=p.c",)) == {
        "com.acme.Clip": "run=3, new/o=p.c"
    }
    for text in ("com.acme.Clip", "=op.c", "com.acme.Clip="):
        with pytest.raises(GlowmcuError, match="GM761"):
            parse_custom((text,))
