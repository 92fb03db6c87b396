"""Tells the person in front of the terminal what the recorder is doing now."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

from fitdoctor.cli.output import write
from fitdoctor.launch.recording_files import Tail
from fitdoctor.report.text import clean

PERIOD_S = 0.25
# Back to the start of the line and clear it: a progress bar of the script that stands
# there is drawn again at its next step.
_CLEAR_LINE = "\r\x1b[K"


class Progress(threading.Thread):
    """Follows the recording and prints its progress lines, each state once."""

    def __init__(self, recording: Path, *, period_s: float = PERIOD_S) -> None:
        """Prepare to follow a recording; `start()` begins."""
        super().__init__(name="fitdoctor-progress", daemon=True)
        self._tail = Tail(recording)
        self._period_s = period_s
        self._stopped = threading.Event()
        self._last = ""

    def stop(self) -> None:
        """Print what is left and end the thread."""
        self._stopped.set()
        if self.is_alive():
            self.join()

    def run(self) -> None:
        """Look for new lines until stopped; a closed stderr ends it quietly."""
        try:
            while not self._stopped.wait(self._period_s):
                self._print_new()
            self._print_new()
        except OSError:  # nobody reads stderr any more, or the recording was deleted
            return

    def _print_new(self) -> None:
        for line in self._tail.lines():
            text = progress_text(line)
            if text and text != self._last:
                self._last = text
                clear = _CLEAR_LINE if _is_live_terminal() else ""
                write(sys.stderr, f"{clear}fitdoctor · {text}\n")


def progress_text(line: bytes) -> str:
    """The text of a progress record, empty for any other line."""
    # The cheap test first: a recording has thousands of lines of other kinds.
    if b'"progress"' not in line:
        return ""
    try:
        record = json.loads(line)
    except ValueError:
        return ""
    if not isinstance(record, dict) or record.get("k") != "progress":
        return ""
    return clean(str(record.get("text", "")))


def _is_live_terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
