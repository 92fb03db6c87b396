"""The recorder's state in the user's process: workloads, the calls now running, the writer."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from fitdoctor.contract.codec import encode
from fitdoctor.contract.records import EventDetail, WorkloadDetail
from fitdoctor.contract.writer import Writer
from fitdoctor.inside.ledger.callsite import Place
from fitdoctor.inside.ledger.cpu import CpuWatch
from fitdoctor.inside.ledger.workload import FLUSH_NS, Workload
from fitdoctor.inside.patches import Patches

if TYPE_CHECKING:
    from fitdoctor.inside.ledger.loop_watch import Loop
    from fitdoctor.inside.ledger.running_call import Call

Clock = Callable[[], int]

NO_DETAIL = EventDetail()
OTHERS_NS = 400_000_000  # between two looks at what other processes do


class Listener(Protocol):
    """Who decides when to examine; called between steps, never inside one."""

    def on_boundary(self, call: Call, arguments: tuple[Any, ...], result: Any) -> None:
        """A step of a Keras call has ended; called about twice a second."""

    def on_call_end(self, call: Call) -> None:
        """A Keras call has ended."""

    def on_loop_boundary(self, loop: Loop) -> None:
        """An iteration of a hand-written loop has ended; called about twice a second."""


class _Stack(threading.local):
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.loops: list[Loop] = []


class Recorder:
    """What the patches write through; one per process."""

    def __init__(self, writer: Writer, clock: Clock = time.perf_counter_ns) -> None:
        self.writer = writer
        self.clock = clock
        self.patches = Patches()
        self.listener: Listener | None = None
        # Gets what a call returned, where a run looks at results.
        self.on_result: Callable[[Call, Any], None] | None = None
        self.workloads: dict[tuple[str, str, int], Workload] = {}
        self.ends_script = False  # after its examination; set by who examines
        self.first_step_ns: int | None = None
        # When a call began or a step ended last; read by a thread that looks for hangs.
        self.alive_ns: int | None = None
        self.backend = "unknown"
        # Reads the input wait that TensorFlow's compiled step has accumulated since
        # the last read; set by the backend that has such a clock.
        self.read_graph_wait: Callable[[str], int | None] = lambda purpose: None
        # Stops that clock while probes run the same steps, and returns what starts it again.
        self.stop_graph_clock: Callable[[], Callable[[], None]] = lambda: lambda: None
        self._stack = _Stack()
        self._suspended = 0
        self._cpu = CpuWatch()
        self._others: float | None = None
        self._others_ns = 0
        # Numbers, since a new model may get the address of one that is gone.
        self._models: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        # The arguments of each model's last compile(), for copies of it.
        self.compiled_with: weakref.WeakKeyDictionary[Any, dict[str, Any]] = (
            weakref.WeakKeyDictionary()
        )
        self.described_models: set[int] = set()  # by number
        self._model_count = 0

    @property
    def suspended(self) -> bool:
        """Whether a probe runs now, so that what happens is not the user's training."""
        return self._suspended > 0

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """While probes run, nothing is recorded as training."""
        start_again = None if self._suspended else self.stop_graph_clock()
        self._suspended += 1
        try:
            yield
        finally:
            self._suspended -= 1
            if start_again is not None:
                start_again()

    def active_call(self) -> Call | None:
        """The innermost Keras call running in this thread."""
        calls = self._stack.calls
        return calls[-1] if calls and not self._suspended else None

    @property
    def calls(self) -> list[Call]:
        """The Keras calls running in this thread, outermost first."""
        return self._stack.calls

    @property
    def loops(self) -> list[Loop]:
        """The hand-written loops of this thread that are inside an iteration."""
        return self._stack.loops

    def workload(
        self, kind: str, place: Place | None, describe: Callable[[], WorkloadDetail]
    ) -> Workload:
        """The workload of this line, described and announced in the recording when it is new."""
        key = (kind, place.file, place.line) if place else (kind, "", 0)
        found = self.workloads.get(key)
        if found is None:
            found = Workload(len(self.workloads) + 1, kind, place, self.writer)
            self.workloads[key] = found
            found.announce(self.clock(), self._parent_number(), describe())
        return found

    def _parent_number(self) -> int | None:
        if self._stack.calls:
            return self._stack.calls[-1].workload.number
        if self._stack.loops:
            return self._stack.loops[-1].workload.number
        return None

    def event(self, event: str, t: int, dur: int, detail: EventDetail = NO_DETAIL) -> None:
        """Something that happened at a moment: a compile() call, a validation, an epoch."""
        call = self.active_call()
        record: dict[str, Any] = {"k": "event", "name": event, "t": t, "dur": dur}
        if call is not None:
            record.update(w=call.workload.number, c=call.number, step=call.steps)
        elif self._stack.loops:
            loop = self._stack.loops[-1]
            record.update(w=loop.workload.number, step=loop.workload.steps)
        record["detail"] = encode(detail)
        self.writer.write(record)

    def note(self, level: str, message: str, workload: int | None = None) -> None:
        """Something the reader of the report must know."""
        self.writer.write({"k": "note", "level": level, "message": message, "w": workload})

    def progress(self, phase: str, text: str) -> None:
        """What the person at the terminal reads while waiting."""
        self.writer.write({"k": "progress", "phase": phase, "text": text})

    def model_number(self, model: Any) -> int:
        """A number that stays with one model object for its life."""
        number = self._models.get(model)
        if number is None:
            self._model_count += 1
            number = self._models[model] = self._model_count
        return number

    def others_cores(self) -> float | None:
        """Cores that other processes took since the last time this was asked."""
        now = self.clock()
        # Reading it takes up to a millisecond, and short windows say nothing.
        if now - self._others_ns >= OTHERS_NS:
            use, self._cpu = self._cpu.stop(), CpuWatch()
            self._others_ns, self._others = now, use.disturbing_cores
        return self._others

    def due_after(self, now: int) -> int:
        """When the next flush and the next question to the listener are due."""
        return now + FLUSH_NS

    def flush(self) -> None:
        """Write everything held in memory; at exit and before the script is ended."""
        for call in self._stack.calls:
            call.flush()
        for workload in self.workloads.values():
            workload.flush_steps()
            workload.flush_calls()
