"""Which line of the user's the script is at, a few times a second, for as long as it runs.

Cheap enough to be always on: a look takes some ten microseconds and happens twenty times a second,
less often in a long run. It tells where whole phases of a script go (a callback, a plot, making
data); parts of a step are too short for it, and are watched in a probe.
"""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType
from typing import Any

from fitdoctor.contract.codec import encode
from fitdoctor.contract.host_looks import HostPlace
from fitdoctor.inside.ledger.callsite import is_user_file
from fitdoctor.inside.ledger.recorder import Recorder

PERIOD_S = 0.05
GOLDEN = 0.6180339887
# After so many looks the next ones come half as often: a run of hours needs no more of them.
FEWER_AFTER = 4000
FLUSH_LOOKS = 40
STOP_S = 0.5


class HostLines:
    """Looks at the thread that runs the script, from a thread of its own."""

    def __init__(self, recorder: Recorder, period_s: float = PERIOD_S) -> None:
        self._recorder = recorder
        self._period = period_s
        self._watched = threading.main_thread().ident
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._places: dict[HostPlace, int] = {}
        self._times: list[int] = []
        self._indices: list[int] = []

    def start(self) -> None:
        """Begin, if that was not done before."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True, name="fitdoctor-host")
            self._thread.start()

    def stop(self) -> None:
        """Stop looking, and write what was seen last."""
        self._stop.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(STOP_S)
        self._flush()

    def _run(self) -> None:
        looks = 0
        while not self._stop.is_set():
            looks += 1
            # Never in step with what is watched.
            slower = 2 ** (looks // FEWER_AFTER)
            time.sleep(slower * self._period * (0.5 + looks * GOLDEN % 1.0))
            if not self._recorder.suspended:
                self._look()
            if len(self._times) >= FLUSH_LOOKS:
                self._flush()

    def _look(self) -> None:
        frame = sys._current_frames().get(self._watched or 0)
        place = place_of_stack(frame)
        if place is not None:
            self._times.append(self._recorder.clock())
            self._indices.append(self._places.setdefault(place, len(self._places)))

    def _flush(self) -> None:
        if not self._times:
            return
        record: dict[str, Any] = {
            "k": "lines",
            "places": [encode(place) for place in self._places],
            "t": self._times,
            "p": self._indices,
        }
        self._places, self._times, self._indices = {}, [], []
        self._recorder.writer.write(record)


def place_of_stack(frame: FrameType | None) -> HostPlace | None:
    """The innermost line of the user's, and the package that it called; None without a line."""
    package: str | None = None
    while frame is not None:
        code = frame.f_code
        if is_user_file(code.co_filename):
            return HostPlace(code.co_filename, frame.f_lineno, code.co_name, package)
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        frame = frame.f_back
    return None
