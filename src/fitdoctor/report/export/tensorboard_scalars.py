"""The steps as TensorBoard scalars, one run per workload."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from fitdoctor.analysis.rows import rows_of
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
    written = 0
    began = float(recording.header.started_unix_ns or 0) * _S
    for workload in recording.workloads:
        rows = rows_of(workload)
        if rows:
            _write(workload, rows, folder / _run_name(workload), began)
            written += 1
    return written


def _write(workload: RecordedWorkload, rows: list[Any], folder: Path, began: float) -> None:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder))
    step = 0
    for row in rows:
        values = {
            "fitdoctor/step_ms": None if row.period is None else row.period / row.executions * _MS,
            "fitdoctor/training_step_ms": row.step / row.executions * _MS,
            "fitdoctor/input_wait_ms": None
            if row.wait is None
            else row.wait / row.executions * _MS,
            "fitdoctor/callbacks_ms": row.callbacks / row.executions * _MS,
        }
        known = [
            Summary.Value(tag=tag, simple_value=value)
            for tag, value in values.items()
            if value is not None
        ]
        moment = began + (row.t - rows[0].t) * _S
        writer.add_event(Event(wall_time=moment, step=step, summary=Summary(value=known)))
        step += row.executions
    writer.close()


def _run_name(workload: RecordedWorkload) -> str:
    kind = re.sub(r"[^\w-]+", "-", workload.kind)[:40] or "workload"
    return f"{workload.number:02d}-{kind}-line-{workload.line or 0}"
