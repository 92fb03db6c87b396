"""Where recordings live: `.fitdoctor/<date>_<time>_<script>.rec` beside the user's work.

The parent creates the file and writes its first and last line; the recorder inside the
user's process and the sampler append to it in between.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import re
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from fitdoctor import __version__
from fitdoctor.contract.codec import encode
from fitdoctor.contract.errors import OutputError, RecordingError
from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.records import FORMAT, SCHEMA, Header, Machine, Script
from fitdoctor.contract.writer import append, record_of

FOLDER_NAME = ".fitdoctor"
# Recordings are a few megabytes each; twenty are enough to look back over a day's work.
KEPT_RECORDINGS = 20
_PATTERN = "????-??-??_??-??-??_*.rec"


def create_recording(
    script: str,
    *,
    now: datetime | None = None,
    folder: Path | None = None,
    keep: int = KEPT_RECORDINGS,
) -> Path:
    """Make a new, empty recording for a script or module and prune the oldest ones.

    Args:
        script: What is recorded; its name becomes part of the file's.
        now: The time in the file's name.
        folder: Where recordings live; `.fitdoctor` in the working directory if not given.
        keep: How many recordings stay.

    Raises:
        OutputError: The folder cannot be written.
    """
    folder = folder or Path.cwd() / FOLDER_NAME
    stamp = (now or datetime.now()).strftime("%Y-%m-%d_%H-%M-%S")
    try:
        make_folder(folder)
        path = _create_unique(folder, f"{stamp}_{_stem(script)}")
    except OSError as error:
        raise _not_recordable(folder, error) from error
    prune(folder, keep)
    return path


def begin(
    path: Path,
    script: Script,
    options: RunOptions,
    machine: Machine,
    launch: Mapping[str, int | str] | None = None,
) -> None:
    """Write the first lines of a recording: what is run, where and with what.

    Args:
        path: The recording.
        script: What is run.
        options: Of the recorder.
        machine: What it runs on.
        launch: The header's fields of a launch of several processes.

    Raises:
        OutputError: The disk does not take them.
    """
    header = Header(
        fitdoctor=__version__,
        script=script,
        cwd=os.getcwd(),
        python=platform.python_version(),
        started_unix_ns=time.time_ns(),
    )
    more = {"format": FORMAT, "schema": SCHEMA, "options": encode(options), **(launch or {})}
    try:
        append(path, record_of("header", header, **more))
        append(path, record_of("machine", machine))
    except OSError as error:
        raise _not_recordable(path.parent, error) from error


def _not_recordable(folder: Path, error: OSError) -> OutputError:
    return OutputError(
        f"cannot write a recording to {folder}: {error.strerror}",
        expected="a working directory in which fitdoctor may create .fitdoctor/",
        advice="change to a folder you may write to, and give the script's full path",
    )


def make_folder(folder: Path) -> None:
    """Make a folder for recordings, which no repository should hold."""
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")


def _stem(script: str) -> str:
    stem = Path(script).name.removesuffix(".py")
    return re.sub(r"[^\w.-]+", "-", stem).strip(".-")[:80] or "script"


def _create_unique(folder: Path, name: str) -> Path:
    for suffix in ("", *(f"-{number}" for number in range(2, 1000))):
        path = folder / f"{name}{suffix}.rec"
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except FileExistsError:
            continue
        return path
    raise FileExistsError(errno.EEXIST, "a thousand recordings were started in this second")


def recordings(folder: Path) -> list[Path]:
    """The recordings of a folder, the one written to last first."""
    aged: list[tuple[int, Path]] = []
    for path in folder.glob(_PATTERN):
        with contextlib.suppress(FileNotFoundError):  # another fitdoctor pruned it meanwhile
            aged.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(aged, reverse=True)]


def newest(folder: Path | None = None) -> Path:
    """The recording written to last in `.fitdoctor` of the working directory, or in a folder.

    Raises:
        RecordingError: There is none.
    """
    folder = folder or Path.cwd() / FOLDER_NAME
    found = recordings(folder)
    if not found:
        raise RecordingError(
            f"there is no recording in {folder}",
            expected="a folder in which `fitdoctor run` was used before",
            advice="fitdoctor run train.py",
        )
    return found[0]


def prune(folder: Path, keep: int = KEPT_RECORDINGS) -> None:
    """Delete all but the newest recordings."""
    for path in recordings(folder)[keep:]:
        # Housekeeping: a file that stays is not worth stopping a run for.
        with contextlib.suppress(OSError):
            path.unlink()


def append_on_own_line(path: Path, record: dict[str, Any]) -> None:
    """Append a record also where the script died half-way through another."""
    recorded = path.read_bytes()
    if recorded and not recorded.endswith(b"\n"):
        with open(path, "ab") as file:
            file.write(b"\n")
    append(path, record)


def append_exit(
    path: Path, code: int | None, signal: int | None = None, *, overstayed: bool = False
) -> None:
    """Append the last line."""
    record = {"k": "exit", "t": time.monotonic_ns(), "code": code, "signal": signal}
    if overstayed:
        record["overstayed"] = True
    append_on_own_line(path, record)


def record_in(line: bytes, *kinds: str) -> dict[str, Any]:
    """The record in a line; empty where it is none, or none of these kinds."""
    # The cheap test first: a recording has thousands of lines of other kinds.
    if kinds and not any(f'"{kind}"'.encode() in line for kind in kinds):
        return {}
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    if not isinstance(record, dict) or (kinds and record.get("k") not in kinds):
        return {}
    return record


class Tail:
    """Reads the complete lines that were appended to a recording since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""

    def lines(self) -> list[bytes]:
        """The lines completed since the last call."""
        with open(self._path, "rb") as file:
            file.seek(self._offset)
            new = file.read()
        self._offset += len(new)
        *complete, self._rest = (self._rest + new).split(b"\n")
        return complete
