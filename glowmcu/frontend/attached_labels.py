"""Labels in text files of a zip archive behind a flatbuffer (TensorFlow Lite Metadata)."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Collection

from glowmcu import limits
from glowmcu.errors import error
from glowmcu.labels import NO_LABELS_HINT, labels_of_text, too_large

_MOST_FILES = 256
_ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError,
    ValueError, OverflowError, MemoryError, ImportError,
)  # fmt: skip


def labels_of_archive(data: bytes, file_name: str, sizes: Collection[int]) -> tuple[str, ...]:
    """Of several files the one with as many lines is meant; none where no archive is behind the
    model. Raises GM124 to GM127.
    """
    file = io.BytesIO(data)
    if not zipfile.is_zipfile(file):
        return ()
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if len(entries) > _MOST_FILES:
                raise error(
                    "GM125", f"{len(entries)} files are attached; {_MOST_FILES} are taken at most",
                    file_name, NO_LABELS_HINT,
                )  # fmt: skip
            texts = [entry for entry in entries if entry.filename.lower().endswith(".txt")]
            named = [entry for entry in texts if "label" in entry.filename.lower()]
            found = [_of_entry(archive, entry, file_name) for entry in named or texts]
    except _ZIP_ERRORS as cause:
        raise error(
            "GM124", f"the files attached to the model cannot be read: {cause}", file_name,
            NO_LABELS_HINT,
        ) from cause  # fmt: skip
    fitting = [labels for labels in found if len(labels) in sizes]
    if fitting:
        return fitting[0]
    return found[0] if named and found else ()


def _of_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, file_name: str) -> tuple[str, ...]:
    """No more is unpacked than is taken: what an archive says of sizes is not believed."""
    where = f"{file_name}, attached file {entry.filename[:80]!r}"
    most = limits.label_bytes()
    if entry.file_size > most:
        raise too_large(where)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # Others take memory by what the archive says: LZMA up to 4 GiB for its dictionary.
        raise error("GM124", "an attached file is packed in an unusual way", where, NO_LABELS_HINT)
    with archive.open(entry) as stream:
        data = stream.read(most + 1)
    return labels_of_text(data, where)
