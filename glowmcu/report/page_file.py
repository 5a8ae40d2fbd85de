"""`glowmcu.report`: all that is known of a bundle as one HTML page, in memory or as a file."""

from __future__ import annotations

from pathlib import Path

from glowmcu.api.given_bundle import BundleGiven, loaded_bundle
from glowmcu.argument_types import arguments_checked
from glowmcu.errors import error
from glowmcu.file_writing import write_text_file
from glowmcu.lazy_dataclass import dataclass
from glowmcu.notebook import html
from glowmcu.report.page import report_page


@dataclass(frozen=True)
class ReportPage:
    """A page of the bundle `name`, which needs no network; `path` is where it was written.

    >>> bundle = glowmcu.compile("digits_int8.tflite", output="build/digits")
    >>> glowmcu.report(bundle).save("digits.html").path.name
    'digits.html'
    """

    name: str
    html: str
    path: Path | None = None

    def _repr_html_(self) -> str:
        return html("page.html.j2", name=self.name, page=self.html)

    @arguments_checked
    def save(self, path: str | Path) -> ReportPage:
        """Write it to a file. Raises GM718.

        >>> page = glowmcu.report("build/digits").save("digits.html")
        """
        file = Path(path)
        try:
            write_text_file(file, self.html)
        except OSError as cause:
            message = f"cannot write the report: {cause.strerror}"
            raise error("GM718", message, str(file), "choose another file with -o") from cause
        return ReportPage(self.name, self.html, file)


@arguments_checked
def report(
    bundle: BundleGiven, output: str | Path | None = None, *, board: str | None = None
) -> ReportPage:
    """All that compile, verify, bench and compare found out about `bundle` (or the one in that
    folder) as one HTML page: network, layers and their kernels, arena over time, verification.

    It is written to `output` if that is given. Raises GM601, GM671 for a folder that is damaged,
    GM718 for a file that cannot be written.

    >>> bundle = glowmcu.compile("digits_int8.tflite", output="build/digits")
    >>> page = glowmcu.report(bundle, "digits.html")
    >>> page.path.name, page.html.count("<script") <= 1
    ('digits.html', True)
    """
    loaded = loaded_bundle(bundle, board)
    page = ReportPage(loaded.manifest.name, report_page(loaded))
    return page if output is None else page.save(output)
