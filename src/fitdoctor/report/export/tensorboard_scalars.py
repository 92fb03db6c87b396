"""The steps as TensorBoard scalars, one run per workload."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

from fitdoctor.analysis.rows import Row, rows_of
from fitdoctor.contract.errors import UsageError
from fitdoctor.contract.records import RecordedWorkload, Recording

_MS = 1e-6
_S = 1e-9


def check_tensorboard() -> None:
    """Find out early whether scalars can be written.

    Raises:
        UsageError: The tensorboard package is not installed.
    """
    # The switch with which tensorboard leaves TensorFlow alone: its import takes seconds, and
    # writing scalars does not need it.
    sys.modules.setdefault("tensorboard.compat.notf", ModuleType("tensorboard.compat.notf"))
    try:
        importlib.import_module("tensorboard.compat.proto.event_pb2")
    except ImportError as error:
        raise UsageError(
            "scalars are written with the tensorboard package, which is not installed",
            expected="fitdoctor with its extra `tensorboard`",
            advice="pip install 'fitdoctor[tensorboard]'",
        ) from error


def write_scalars(recording: Recording, folder: Path) -> int:
    """Write an event file per workload under the folder and return how many there are.

    Raises:
        UsageError: The tensorboard package is not installed.
    """
    check_tensorboard()
    began = float(recording.header.started_unix_ns or 0) * _S
    timed = [(one, rows) for one in recording.workloads if (rows := rows_of(one))]
    for workload, rows in timed:
        _write(rows, folder / _run_name(workload), began)
    return len(timed)


def _write(rows: list[Row], folder: Path, began: float) -> None:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder))
    step = 0
    for row in rows:
        parts = {
            "step_ms": row.period,
            "training_step_ms": row.step,
            "input_wait_ms": row.wait,
            "callbacks_ms": row.callbacks,
        }
        known = [
            Summary.Value(tag=f"fitdoctor/{name}", simple_value=ns / row.executions * _MS)
            for name, ns in parts.items()
            if ns is not None
        ]
        moment = began + (row.t - rows[0].t) * _S
        writer.add_event(Event(wall_time=moment, step=step, summary=Summary(value=known)))
        step += row.executions
    writer.close()


def _run_name(workload: RecordedWorkload) -> str:
    kind = re.sub(r"[^\w-]+", "-", workload.kind)[:40] or "workload"
    return f"{workload.number:02d}-{kind}-line-{workload.line or 0}"
