"""One probe's frame: it may fail or be impossible, and the recording then says why."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from fitdoctor.inside.lab.watchdog import LONGEST_S, Watchdog
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.backends.base import NotAvailable

Data = dict[str, Any]


def run_probe(
    recorder: Recorder,
    workload: int,
    name: str,
    experiment: Callable[[], Data],
    longest_s: float = LONGEST_S,
) -> Data | None:
    """Run an experiment and record its result, or the reason why there is none."""
    begin = recorder.clock()
    record: dict[str, Any] = {"k": "probe", "w": workload, "name": name, "t": begin}
    data: Data | None = None
    try:
        with _guarded(recorder, record, longest_s):
            data = experiment()
        record.update(status="ok", data=data)
    except NotAvailable as reason:
        record.update(status="not available", reason=str(reason))
    except StopIteration:
        record.update(status="failed", reason="the data ended before one batch was read")
    except Exception as error:  # noqa: BLE001 - a failed probe never breaks the user's script
        record.update(status="failed", reason=f"{type(error).__name__}: {_first_line(error)}")
    record["dur"] = recorder.clock() - begin
    recorder.writer.write(record)
    return data


def _guarded(recorder: Recorder, record: Data, longest_s: float) -> AbstractContextManager[Any]:
    """A loader that hangs must not keep the report from coming."""
    if not recorder.ends_script:
        return nullcontext()

    def on_hang() -> None:
        reason = f"gave no answer for {longest_s:.0f} s and was left; does the loader hang?"
        recorder.writer.write({**record, "status": "failed", "reason": reason, "dur": 0})
        recorder.writer.write({"k": "examined", "t": recorder.clock()})

    return Watchdog(on_hang, longest_s)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else ""
