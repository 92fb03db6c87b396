"""The frame of one experiment: it may fail, be impossible or hang; the recording says why."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn, TypeVar

from fitdoctor.contract.records import ProbeRun
from fitdoctor.contract.results import to_record
from fitdoctor.contract.writer import record_of
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable

Found = TypeVar("Found")

MOST_TEXT = 300
LONGEST_S = 45.0


def run_and_record(
    context: Context,
    name: str,
    experiment: Callable[[], Found],
    longest_s: float = LONGEST_S,
) -> Found | None:
    """Run an experiment and record its result, or the reason why there is none."""
    recorder = context.recorder
    begin = recorder.clock()
    status, reason = "failed", ""
    found: Found | None = None
    data: dict[str, Any] | None = None
    try:
        with _guarded(context, name, begin, longest_s):
            found = experiment()
        data, status = to_record(found), "ok"
        context.keep(found, name)
    except NotAvailable as why:
        status, reason = "not available", str(why)
    except StopIteration:
        reason = "the data ended before one batch was read"
    except Exception as error:  # noqa: BLE001 - a failed probe never breaks the user's script
        reason = f"{type(error).__name__}: {_first_line(error)}"
    _write(context, ProbeRun(name, status, reason, begin, recorder.clock() - begin), data)
    return found


def refuse(reason: str) -> NoReturn:
    """An experiment that may not be made here."""
    raise NotAvailable(reason)


def _write(context: Context, run: ProbeRun, data: dict[str, Any] | None = None) -> None:
    more = {} if data is None else {"data": data}
    context.recorder.writer.write(record_of("probe", run, w=context.workload.number, **more))


def _guarded(
    context: Context, name: str, begin: int, longest_s: float
) -> AbstractContextManager[Any]:
    """A loader that hangs must not prevent the report; only where the script is ended anyway."""
    recorder = context.recorder
    if not recorder.ends_script:
        return nullcontext()

    def on_hang() -> None:
        reason = f"gave no answer for {longest_s:.0f} s and was left; does the loader hang?"
        _write(context, ProbeRun(name, "failed", reason, begin))
        recorder.writer.write({"k": "examined", "t": recorder.clock()})

    return Watchdog(on_hang, longest_s)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:MOST_TEXT] if lines else ""


class Watchdog:
    """Ends the process if a probe takes too long; only where the script is ended anyway."""

    def __init__(self, on_hang: Callable[[], None], seconds: float = LONGEST_S) -> None:
        """`on_hang` writes what must be said before the end."""
        self._on_hang = on_hang
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Watchdog:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _end(self) -> None:
        self._on_hang()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
        os._exit(0)
