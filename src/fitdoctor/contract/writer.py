"""Append-only recording: one JSON object per line, readable after any crash."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from fitdoctor.contract.codec import encode


def record_of(kind: str, value: object, **more: Any) -> dict[str, Any]:
    """The record of a dataclass; `more` is what the record has beside its fields."""
    return {"k": kind, **encode(value), **more}


class Writer:
    """Appends records to a file that the other process also appends to.

    Each record is one `os.write` on an O_APPEND descriptor, so lines of the two
    processes never mix, and a killed process loses nothing that was written.
    """

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._owner = os.getpid()

    def write(self, record: dict[str, Any]) -> None:
        """Append one record; a forked worker's records are not ours and are dropped."""
        if os.getpid() == self._owner:
            line = json.dumps(record, separators=(",", ":"), default=str) + "\n"
            os.write(self._descriptor, line.encode("utf-8", "backslashreplace"))

    def close(self) -> None:
        os.close(self._descriptor)


def append(path: Path, record: dict[str, Any]) -> None:
    """Append one record to a recording that is not kept open."""
    with contextlib.closing(Writer(str(path))) as writer:
        writer.write(record)
