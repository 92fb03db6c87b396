"""Threads that follow a recording while the script writes it."""

from __future__ import annotations

import threading
from pathlib import Path

from fitdoctor.launch.recording_files import Tail


class Follower(threading.Thread):
    """Looks at the new lines of a recording now and then; subclasses say what to do with them."""

    def __init__(self, recording: Path, *, name: str, period_s: float) -> None:
        """Prepare to follow a recording; `start()` begins."""
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
        """Look for new lines until stopped."""
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
