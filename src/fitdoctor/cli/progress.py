"""Shows the person at the terminal what the recorder is doing now."""

from __future__ import annotations

import sys
from pathlib import Path

from fitdoctor.cli.following import Follower
from fitdoctor.cli.output import can_redraw, write
from fitdoctor.launch.recording_files import record_in
from fitdoctor.report.text import clean

PERIOD_S = 0.25
# Back to the start of the line and clear it: a progress bar of the script that was
# there is drawn again at its next step.
_CLEAR_LINE = "\r\x1b[K"


class Progress(Follower):
    """Prints the progress lines of a recording, each state once."""

    def __init__(self, recording: Path) -> None:
        """Prepare to follow a recording; `start()` begins."""
        super().__init__(recording, name="progress", period_s=PERIOD_S)
        self._last = ""

    def look(self, lines: list[bytes]) -> None:
        """Print states that are new."""
        for line in lines:
            text = clean(str(record_in(line, "progress").get("text", "")))
            if text and text != self._last:
                self._last = text
                clear = _CLEAR_LINE if can_redraw(sys.stderr) else ""
                write(sys.stderr, f"{clear}fitdoctor · {text}\n")
