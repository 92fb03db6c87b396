"""Append-only recording: one JSON object per line, readable after any crash."""

from __future__ import annotations

import json
import os
from typing import Any


class Writer:
    """Appends records to a file that the parent process also appends to.

    Each record is one `os.write` on an O_APPEND descriptor, so lines of the two
    processes never mix, and a killed process loses nothing that was written.
    """

    def __init__(self, path: str) -> None:
        """Open the recording; the parent has already written the header."""
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._owner = os.getpid()

    def write(self, record: dict[str, Any]) -> None:
        """Append one record; a forked worker's records are not ours and are dropped."""
        if os.getpid() != self._owner:
            return
        line = json.dumps(record, separators=(",", ":"), default=str)
        os.write(self._descriptor, line.encode("utf-8", "backslashreplace") + b"\n")
