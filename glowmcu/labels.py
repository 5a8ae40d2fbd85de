"""What classes are called: text from files of others, bounded before anything believes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from glowmcu import limits
from glowmcu.errors import GlowmcuError, error

_MOST_LABELS, _MOST_LABEL_BYTES = 1 << 16, 256
#: In place of a file: none, whatever the model says.
NONE = "none"
NO_LABELS_HINT = "give the labels with --labels FILE, or leave them out with --labels none"


def checked_labels(labels: Sequence[str], where: str) -> tuple[str, ...]:
    """The labels, if C can hold them. Raises GM125 for too many or too long ones, GM126 for what is
    no text.
    """
    if len(labels) > _MOST_LABELS:
        raise error(
            "GM125", f"{len(labels)} labels; at most {_MOST_LABELS} are taken", where,
            NO_LABELS_HINT,
        )  # fmt: skip
    for index, label in enumerate(labels):
        if not isinstance(label, str) or "\0" in label:
            raise error("GM126", f"label {index} is no text of C", where, NO_LABELS_HINT)
        try:
            size = len(label.encode("utf-8"))
        except UnicodeEncodeError as cause:
            raise error("GM126", f"label {index} is no Unicode", where, NO_LABELS_HINT) from cause
        if size > _MOST_LABEL_BYTES:
            most = f"at most {_MOST_LABEL_BYTES} are taken"
            raise error("GM125", f"label {index} has {size} bytes; {most}", where, NO_LABELS_HINT)
    return tuple(labels)


def labels_of_text(data: bytes, where: str) -> tuple[str, ...]:
    """One label a line, UTF-8; empty lines at the end count for nothing. Raises GM125, GM126."""
    if len(data) > limits.label_bytes():
        raise too_large(where)
    if data.startswith((b"\x93NUMPY", b"PK\x03\x04")):
        raise error(
            "GM126", "these are numbers of classes; expected their names, one a line", where,
            "the classes of samples are the array `labels` of the samples' .npz; `glowmcu tune "
            "--labels` takes them as .npy",
        )  # fmt: skip
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise error(
            "GM126", f"the labels are no UTF-8: byte {cause.start} cannot be read", where,
            "save the file as UTF-8, one label a line",
        ) from cause  # fmt: skip
    lines = [line.strip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return checked_labels(lines, where)


def too_large(where: str) -> GlowmcuError:
    """GM125 for a file of labels that is beyond the limit."""
    most = limits.size_text(limits.label_bytes())
    return error("GM125", f"the labels are larger than {most}", where, NO_LABELS_HINT)


def class_text(labels: Sequence[str], index: int) -> str:
    """For people: `seven (class 7)`, or `class 7` if it has no name."""
    if not 0 <= index < len(labels) or not labels[index]:
        return f"class {index}"
    return f"{shown_label(labels[index])} (class {index})"


def labels_text(labels: Sequence[str], most: int = 12) -> str:
    """All of them on one line, or the first and how many there are."""
    named = ", ".join(map(shown_label, labels[:most]))
    return named if len(labels) <= most else f"{named}, … ({len(labels)} in all)"


def shown_label(label: str) -> str:
    """On one line, whatever the file says."""
    return label if label.isprintable() else repr(label)


def read_labels(given: str | Path | Sequence[str] | None) -> tuple[str, ...] | None:
    """Labels as the user gives them: a file, the labels themselves, or NONE; None: the model's.

    Raises GM124 for a file that cannot be read, GM125, GM126.
    """
    if given is None or given == NONE:
        return None if given is None else ()
    if not isinstance(given, str | Path):
        return checked_labels(tuple(given), "labels")
    path = Path(given)
    try:
        with path.open("rb") as file:
            data = file.read(limits.label_bytes() + 1)
    except (OSError, ValueError) as cause:
        raise error(
            "GM124", f"cannot read the labels: {getattr(cause, 'strerror', cause)}", str(path),
            "give a text file with one label a line",
        ) from cause  # fmt: skip
    return labels_of_text(data, str(path))
