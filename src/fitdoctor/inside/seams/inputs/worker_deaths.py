"""Worker processes of a loader that were killed: Python's pools say nothing, and torch not why.

A pool starts another worker in the dead one's place, but the batch that it was making never comes.
`multiprocessing` learns how a process ended in `Popen.poll`, for fork and for spawn.
"""

from __future__ import annotations

import functools
import signal
from collections.abc import Callable
from types import ModuleType
from typing import Any

from fitdoctor.inside.ledger.recorder import Recorder

MODULE = "multiprocessing.popen_fork"
# SIGTERM is how pools and loaders end their workers themselves.
_KILL, _BUS = "SIGKILL", "SIGBUS"
DEADLY = frozenset({_KILL, _BUS, "SIGSEGV", "SIGABRT", "SIGILL", "SIGFPE"})
# What usually lies behind it, and what repairs it.
REPAIRS = {
    _KILL: "often out of memory: use fewer workers or smaller batches, or ask for more memory",
    _BUS: "the shared memory is full: docker run --shm-size 8g, or fewer workers",
}
CRASH = "native code crashed: load the data with 0 workers to see where"


def watch_worker_deaths(recorder: Recorder, module: ModuleType) -> None:
    """Note every child of `multiprocessing` that a signal ended, once."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def poll(process: Any, *args: Any, **kwargs: Any) -> Any:
            was_running = process.returncode is None
            code = original(process, *args, **kwargs)
            if was_running and isinstance(code, int) and code < 0 and not recorder.suspended:
                _note(recorder, process, -code)
            return code

        return poll

    recorder.patches.replace(module.Popen, "poll", make)


def _note(recorder: Recorder, process: Any, number: int) -> None:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return
    if name in DEADLY:
        text = f"worker process {process.pid} was ended by {name}; its batch never comes"
        recorder.note("warning", f"{text} ({REPAIRS.get(name, CRASH)})")
