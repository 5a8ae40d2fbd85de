"""The report: one page of all that commands found out about a bundle."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import glowmcu
from glowmcu.bundle import Bundle
from glowmcu.cli import main
from glowmcu.errors import GlowmcuError
from glowmcu.facts.document import FILE_NAME, keep_facts, read_facts
from glowmcu.report.layer_views import why
from glowmcu.report.page import report_page

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits_int8.tflite"
VOID = {"meta", "br", "hr"}


class Balanced(HTMLParser):
    """Every tag that opens is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.targets: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._see(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._see(attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, self.getpos()

    def _see(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            assert name not in ("src", "srcset", "onclick"), name
            if name == "id":
                self.ids.append(str(value))
            if name == "href":
                assert str(value).startswith("#"), value
                self.targets.add(str(value)[1:])


@pytest.fixture
def digits(tmp_path: Path) -> Bundle:
    return glowmcu.compile(DIGITS, board="nrf52", output=tmp_path / "digits")


def test_the_page_is_whole_and_needs_no_network(digits: Bundle) -> None:
    page = report_page(digits)
    found = Balanced()
    found.feed(page)
    found.close()
    assert not found.open
    assert len(found.ids) == len(set(found.ids))
    assert found.targets <= set(found.ids)
    assert {f"layer-{layer.index}" for layer in digits.manifest.layers} <= found.targets
    assert set(re.findall(r"https?://[^\s\"<]*", page)) == {"http://www.w3.org/2000/svg"}
    assert len(page) < 1_500_000


def test_what_is_not_known_yet_says_how_to_find_it_out(digits: Bundle) -> None:
    page = report_page(digits)
    assert f"glowmcu verify {digits.path} --on host,cortex-m" in page
    assert "estimated by the kernels" in page
    assert "kernels.why" not in page
    assert "digits_int8_run(arena);" in page


def test_verify_and_bench_leave_facts_and_a_new_compilation_forgets_them(
    digits: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = str(digits.path), tmp_path / "digits.report.html"
    assert main(["verify", folder, "--on", "host"]) == 0
    assert main(["bench", folder, "--report", str(tmp_path / "bench.html")]) == 0
    assert main(["report", folder]) == 0
    assert str(file) in capsys.readouterr().out
    page = file.read_text(encoding="utf-8")
    assert (tmp_path / "bench.html").read_text(encoding="utf-8") == page
    cycles = f"{read_facts(digits.path)['bench']['cycles']:,}"
    assert cycles.replace(",", "\N{NARROW NO-BREAK SPACE}") + " cycles" in page
    assert "measured on the modelled cortex-m4" in page
    assert "every byte equal" in page
    again = glowmcu.compile(DIGITS, board="nrf52", optimize="speed", output=digits.path)
    assert {"bench", "verify"}.isdisjoint(read_facts(again.path))
    assert "every byte equal" not in report_page(again)


def test_facts_of_another_core_are_not_those_of_the_board(digits: Bundle) -> None:
    assert main(["bench", str(digits.path), "--core", "cortex-m0plus"]) == 0
    assert "bench" not in read_facts(digits.path)


def test_facts_do_not_tell_where_the_bundle_lies(digits: Bundle) -> None:
    text = (digits.path / FILE_NAME).read_text(encoding="utf-8")
    assert str(digits.path.parent) not in text


def test_a_bundle_without_facts_has_a_page_of_what_its_manifest_says(digits: Bundle) -> None:
    (digits.path / FILE_NAME).unlink()
    page = report_page(glowmcu.load(digits.path))
    assert "Not kept" in page
    assert "conv_2d" in page


@pytest.mark.parametrize(
    "facts", [{"bench": 3}, {"verify": {"checks": 1}}, {"graphs": {"model": []}}]
)
def test_facts_that_somebody_changed_are_an_error(digits: Bundle, facts: dict[str, object]) -> None:
    keep_facts(digits.path, **facts)
    with pytest.raises(GlowmcuError) as caught:
        report_page(digits)
    assert [problem.code for problem in caught.value.problems] == ["GM671"]


def test_a_file_of_facts_that_is_no_json_holds_none(digits: Bundle) -> None:
    (digits.path / FILE_NAME).write_text("[" * 100_000)
    assert read_facts(digits.path) == {}


def test_names_from_the_model_file_cannot_become_markup(digits: Bundle) -> None:
    evil = "</title><script>alert(1)</script>"
    manifest = digits.manifest
    layers = tuple(replace(layer, name=f"{evil}{layer.index}") for layer in manifest.layers)
    buffers = tuple(replace(item, name=evil) for item in manifest.buffers)
    facts = read_facts(digits.path)
    for graph in facts["graphs"].values():
        for node in graph["nodes"]:
            node["name"] = node["op"] = evil
    keep_facts(digits.path, graphs=facts["graphs"])
    page = report_page(
        replace(digits, manifest=replace(manifest, layers=layers, buffers=buffers, model_file=evil))
    )
    assert page.count("<script>") == 1
    assert "&lt;script&gt;alert(1)" in page


def test_a_browser_without_javascript_shows_all_of_it_and_says_so(digits: Bundle) -> None:
    page = report_page(digits)
    shown = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    (said,) = re.findall(r"<noscript>(.*?)</noscript>", shown)
    assert "no JavaScript" in said
    places = set(re.findall(r'id="([^"]+)"', shown))
    assert set(re.findall(r'href="#([^"]+)"', shown)) <= places
    for layer in digits.manifest.layers:
        assert f'<details id="layer-{layer.index}">' in shown
        assert layer.kernel in shown


def test_every_buffer_has_a_box_inside_the_picture_of_the_arena(digits: Bundle) -> None:
    page = report_page(digits)
    picture = page[page.index('aria-label="The arena over time"') :]
    root = ET.fromstring("<svg " + picture[: picture.index("</svg>")] + "</svg>")
    boxes = [item for item in root if "buffer" in item.get("class", "")]
    assert len(boxes) == len(digits.manifest.buffers)
    for box in boxes:
        x, y, width, height = (float(box.get(key, "-1")) for key in ("x", "y", "width", "height"))
        assert x >= 0
        assert y >= -0.1
        assert width > 0
        assert x + width <= float(root.get("width", "0"))
        assert y + height <= float(root.get("height", "0"))


def option(kernel: str, cycles: int, code: int = 0) -> dict[str, object]:
    return {
        "kernel": kernel, "cycles": cycles, "code_bytes": code, "flash_bytes": 0,
        "scratch_bytes": 0,
    }  # fmt: skip


def test_why_a_kernel_was_chosen() -> None:
    assert why("a", None, []) == "Not kept: the bundle was made by an earlier version."
    assert why("a", option("a", 10), []).startswith("It is the only kernel")
    assert why("a", option("a", 10), [option("b", 15)]) == (
        "It is the fastest; b takes 1.50 times its cycles."
    )
    assert why("a", option("a", 12), [option("b", 10, code=100), option("c", 40)]) == (
        "b is the fastest; a takes 1.20 times its cycles, and takes 100 B less code."
    )


MEASURE = """
<script>
window.addEventListener("load", function () {
  const wrapped = [...document.querySelectorAll(".n, b, .of")].filter(function (item) {
    const text = document.createRange();
    text.selectNodeContents(item);
    return new Set([...text.getClientRects()].map(function (line) { return line.top; })).size > 1;
  });
  const hidden = [...document.querySelectorAll(".layers summary > .n:nth-child(4)")].filter(
    function (item) {
      const box = item.getBoundingClientRect();
      return box.width === 0 || box.right > document.documentElement.clientWidth;
    });
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  location.hash = "#layer-1";
  setTimeout(function () {
    const row = document.getElementById("layer-1");
    document.title = JSON.stringify({
      wrapped: wrapped.map(function (item) { return item.outerHTML; }), wide: wide, open: row.open,
      here: document.querySelectorAll("svg a.here").length, errors: window.found,
      hidden: hidden.length,
    });
  }, 200);
});
</script>
"""
CATCH = """<script>window.found = [];
window.onerror = function (text) { window.found.push(String(text)); };</script>"""


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_a_browser_shows_it_without_errors_and_without_broken_numbers(
    digits: Bundle, tmp_path: Path, width: int
) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("NOT SHOWN IN A BROWSER: apt-get install chromium")
    assert main(["verify", str(digits.path), "--on", "host"]) == 0
    page = report_page(digits)
    file = tmp_path / "page.html"
    file.write_text(page.replace("<head>", "<head>" + CATCH) + MEASURE, encoding="utf-8")
    command = [
        browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000",
        f"--window-size={width},900", f"--user-data-dir={tmp_path / 'browser'}", "--dump-dom",
        file.as_uri(),
    ]  # fmt: skip
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    title = re.search(r"<title>(\{.*?\})</title>", ended.stdout)
    assert title is not None, ended.stdout[:500]
    seen = json.loads(title[1].replace("&quot;", '"'))
    assert seen["errors"] == []
    assert seen["wrapped"] == []
    assert seen["wide"] <= 0
    assert seen["hidden"] == 0, "cycles need no scrolling"
    assert seen["open"]
    assert seen["here"] >= 1


def test_scales_have_the_digits_of_float32_and_commands_can_be_pasted(tmp_path: Path) -> None:
    bundle = glowmcu.compile(DIGITS, board="nrf52", output=tmp_path / "it is $mine")
    page = report_page(bundle)
    assert "0.003921569<" in page
    assert "0.00392156885" not in page
    quoted = shlex.quote(str(bundle.path)).replace("'", "&#39;")
    assert f"glowmcu verify {quoted} --on host,cortex-m" in page
    assert f"glowmcu report {quoted}" in page
