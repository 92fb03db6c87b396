"""Threads that follow a recording while the script writes it."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from fitdoctor.cli.output import can_redraw, write
from fitdoctor.launch.recording_files import Tail, record_in
from fitdoctor.report.text import clean

# Back to the start of the line and clear it: a progress bar of the script that was
# there is drawn again at its next step.
_CLEAR_LINE = "\r\x1b[K"


class Follower(threading.Thread):
    """Looks at the new lines of a recording now and then; subclasses say what to do with them."""

    def __init__(self, recording: Path, *, name: str, period_s: float) -> None:
        super().__init__(name=f"fitdoctor-{name}", daemon=True)
        self.period_s = period_s
        self._tail = Tail(recording)
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Look once more, and end the thread."""
        self._stopped.set()
        if self.is_alive():
            self.join()

    def run(self) -> None:
        try:
            while not self._stopped.wait(self.period_s):
                self.look(self._tail.lines())
            self.look(self._tail.lines())
        except OSError:  # nobody reads stderr any more, or the recording was deleted
            return
        finally:
            self.close()

    def look(self, lines: list[bytes]) -> None:
        """Show what these lines say."""
        raise NotImplementedError

    def close(self) -> None:
        """Give back what was drawn."""


class Progress(Follower):
    """Prints what the recorder is doing now, each state once."""

    def __init__(self, recording: Path) -> None:
        super().__init__(recording, name="progress", period_s=0.25)
        self._last = ""

    def look(self, lines: list[bytes]) -> None:
        for line in lines:
            text = clean(str(record_in(line, "progress").get("text", "")))
            if text and text != self._last:
                self._last = text
                clear = _CLEAR_LINE if can_redraw(sys.stderr) else ""
                write(sys.stderr, f"{clear}fitdoctor · {text}\n")
