"""One probe's frame: it may fail or be impossible, and the recording then says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fitdoctor.recorder.backends.base import NotAvailable
from fitdoctor.recorder.session import Recorder

Data = dict[str, Any]


def run_probe(
    recorder: Recorder, workload: int, name: str, experiment: Callable[[], Data]
) -> Data | None:
    """Run an experiment and record its result, or the reason why there is none."""
    begin = recorder.clock()
    record: dict[str, Any] = {"k": "probe", "w": workload, "name": name, "t": begin}
    data: Data | None = None
    try:
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


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else ""
