"""The digests of the source files that a recording has places in.

A line number is worth something only as long as the file is the one that ran. The parent
takes the digests when the script has ended, so that training is not held up.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fitdoctor.launch.recording_files import append_on_own_line, record_in

_LARGEST_BYTES = 10_000_000  # no source file; perhaps a path that is something else


def append_sources(recording: Path) -> None:
    """Append one record with the digests of all source files that the recording names.

    Raises:
        OSError: The recording cannot be read or written.
    """
    lines = recording.read_bytes().split(b"\n")
    header = record_in(lines[0])
    started = int(header.get("started_unix_ns", 0))
    folder = str(header.get("cwd", os.getcwd()))
    # The cheap test first: most lines are steps and samples.
    named = {file for line in lines if b'"file"' in line for file in _files(record_in(line))}
    found = {
        path: digest_of(path, started)
        for path in sorted({os.path.join(folder, file) for file in named})
        if os.path.isfile(path)
    }
    append_on_own_line(recording, {"k": "sources", "sha256": found})


def digest_of(path: str, started_unix_ns: int) -> str | None:
    """A file's SHA-256; None where it changed after the script had started."""
    try:
        state = os.stat(path)
        if state.st_size > _LARGEST_BYTES or state.st_mtime_ns > started_unix_ns:
            return None
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return None


def _files(value: Any) -> Iterator[str]:
    """Every file that a record names, at any depth."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "file" and isinstance(item, str):
                yield item
            else:
                yield from _files(item)
    elif isinstance(value, list):
        # A place may be a list: file and line.
        if len(value) >= 2 and isinstance(value[0], str) and isinstance(value[1], int):
            if value[0].endswith(".py"):
                yield value[0]
        else:
            for item in value:
                yield from _files(item)
