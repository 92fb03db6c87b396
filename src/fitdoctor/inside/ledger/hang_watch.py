"""A training that stands still while its loader waits: says so while it hangs, and where.

Nothing else would: Keras waits for the next batch forever, and nobody can see whether that is slow
or over. Looks once a second; only a loader that stands at one place counts, since compiling, saving
and validation take minutes too.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NamedTuple

from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.inside.ledger.callsite import is_user_file
from fitdoctor.inside.ledger.recorder import Recorder

HANG_S = 60.0
PERIOD_S = 1.0
# So many looks in a row must meet the same place.
LOOKS = 5
STOP_S = 0.5

# Frames in these files mean that a thread loads data, or waits for it.
LOADERS = (
    f"{os.sep}keras{os.sep}src{os.sep}trainers{os.sep}data_adapters{os.sep}",
    f"{os.sep}tf_keras{os.sep}src{os.sep}utils{os.sep}data_utils.py",
    f"{os.sep}torch{os.sep}utils{os.sep}data{os.sep}",
    f"{os.sep}tensorflow{os.sep}python{os.sep}data{os.sep}ops{os.sep}from_generator_op.py",
)


class Standing(NamedTuple):
    """A thread inside a loader: the user's line that it is at, if any, and the call under it."""

    thread: int
    file: str | None
    line: int
    function: str
    inside: str


class HangWatch:
    """Notes a hang once, from a thread of its own."""

    def __init__(self, recorder: Recorder, limit_s: float = HANG_S) -> None:
        self._recorder = recorder
        self._limit_ns = round(limit_s * NS_PER_S)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._seen: frozenset[Standing] = frozenset()
        self._looks = 0
        self._told = False

    def start(self) -> None:
        """Begin, if that was not done before."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True, name="fitdoctor-hang")
            self._thread.start()

    def stop(self) -> None:
        """Stop looking."""
        self._stop.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(STOP_S)

    def _run(self) -> None:
        while not self._told and not self._stop.wait(PERIOD_S):
            self.look()

    def look(self) -> None:
        """Whether training stands still, and its loader with it."""
        if self._told:
            return
        recorder = self._recorder
        last = recorder.alive_ns
        if recorder.suspended:
            recorder.alive_ns = recorder.clock()
        if recorder.suspended or last is None or recorder.clock() - last < self._limit_ns:
            self._looks = 0
            return
        seen = frozenset(loading_threads())
        still = seen & self._seen
        self._looks, self._seen = (self._looks + 1 if still else 0), seen
        if self._looks >= LOOKS:
            self._told = True
            seconds = round((recorder.clock() - last) / NS_PER_S)
            text = f"no step for {seconds} s: {_words(still)}"
            recorder.progress("hang", text)
            recorder.note("warning", text)


def loading_threads() -> Iterator[Standing]:
    """The threads of this process that load data, or wait for it."""
    own = threading.get_ident()
    for thread, frame in sys._current_frames().items():
        if thread != own and (found := _inside_loader(thread, frame)) is not None:
            yield found


def _inside_loader(thread: int, innermost: FrameType) -> Standing | None:
    """Where it stands; None where no loader is on its stack."""
    user: FrameType | None = None
    frame: FrameType | None = innermost
    while frame is not None:
        file = frame.f_code.co_filename
        if any(loader in file for loader in LOADERS):
            called = "" if innermost is user else innermost.f_code.co_name
            if user is not None:
                code = user.f_code
                return Standing(thread, code.co_filename, user.f_lineno, code.co_name, called)
            waits = Standing(thread, None, 0, frame.f_code.co_name, called)
            return waits if _is_consumer(frame) else None
        if user is None and is_user_file(file):
            user = frame
        frame = frame.f_back
    return None


def _is_consumer(frame: FrameType | None) -> bool:
    """Whether training asked for the batch: a loader's own threads may wait for ever."""
    while frame is not None:
        file = frame.f_code.co_filename
        if is_user_file(file) or LOADERS[-1] in file:
            return True
        frame = frame.f_back
    return False


def _words(standing: frozenset[Standing]) -> str:
    """The user's line, or the processes that are waited for."""
    at_lines = sorted((one for one in standing if one.file is not None), key=lambda one: one[1:])
    if at_lines:
        first = at_lines[0]
        inside = f", inside {first.inside}()" if first.inside else ""
        place = f"{os.path.basename(first.file or '')}:{first.line}"
        return (
            f"the loader stands at {place} in {first.function}(){inside}. If it never comes back, "
            "give what it waits for a timeout"
        )
    workers = _worker_processes()
    if workers:
        return (
            f"training waits for {len(workers)} worker processes (often because a lock was held "
            f"while they were forked). fitdoctor attach {workers[0]} shows where one stands; "
            "use_multiprocessing=False (torch: num_workers=0) does without them"
        )
    return "training waits for its loader, and no line of yours runs there"


def _worker_processes() -> list[int]:
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None:
        return []
    return sorted(one.pid for one in multiprocessing.active_children() if one.pid is not None)
