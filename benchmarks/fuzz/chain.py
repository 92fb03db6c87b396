"""One damaged recording through reader, rules, screen, JSON, page and exports."""

from __future__ import annotations

import json
import traceback
from dataclasses import dataclass, field, replace
from pathlib import Path

from fitdoctor.contract.errors import RecordingError
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import Recording
from fitdoctor.devices.judgement import device_run, judge
from fitdoctor.diagnosis import diagnose
from fitdoctor.report.device_comparison import devices_text
from fitdoctor.report.export.perfetto_trace import perfetto_trace
from fitdoctor.report.export.steps_csv import steps_csv
from fitdoctor.report.html.page import render as render_page
from fitdoctor.report.machine import to_text
from fitdoctor.report.no_source import without_source
from fitdoctor.report.terminal import render as render_screen
from fitdoctor.trials.suspicion import suspected

OURS = "fitdoctor"


@dataclass
class Tally:
    """What became of the recordings so far."""

    count: int = 0
    refused: int = 0  # in one clear line
    damaged: int = 0  # read, with records left out
    findings: int = 0  # recordings in which rules found something
    failures: dict[str, int] = field(default_factory=dict)  # by place
    examples: dict[str, str] = field(default_factory=dict)


def run_one(path: Path, tally: Tally, *, exports: bool) -> None:
    """Read a recording and show it in every form."""
    tally.count += 1
    try:
        recording = read_recording(path)
    except RecordingError:
        tally.refused += 1
        return
    except Exception as error:  # noqa: BLE001 - any is a failure, and counted
        _failed(error, tally)
        return
    tally.damaged += bool(recording.broken_lines)
    try:
        diagnosis = diagnose(recording)
        tally.findings += any(one.findings for one in diagnosis.workloads)
        for text in (
            render_screen(diagnosis, verbose=True, cwd="/u"),
            to_text(diagnosis),
            render_page(diagnosis, recording, cwd="/u"),
            steps_csv(recording),
        ):
            text.encode("utf-8")
        suspected(recording, ("jax",))
        _devices(recording)
        if exports:
            perfetto_trace(recording)
            hidden, shared = without_source(diagnosis, recording)
            render_page(hidden, shared, cwd="/u")
    except Exception as error:  # noqa: BLE001 - any is a failure, and counted
        _failed(error, tally)


def _devices(recording: Recording) -> None:
    """The recording as that of both devices, as `fitdoctor devices` reads it."""
    run = device_run("cpu", recording)
    if not isinstance(run, str):
        json.dumps(judge({"cpu": run}, ()).to_json())
        devices_text(judge({"cpu": run, "gpu": replace(run, name="gpu")}, ()))


def _failed(error: Exception, tally: Tally) -> None:
    """Count a traceback by the last place in our own code."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if OURS in one.filename]
    last = frames[-1]
    name = last.filename.rpartition(f"{OURS}/")[2]
    place = f"{name}:{last.lineno} {type(error).__name__}"
    tally.failures[place] = tally.failures.get(place, 0) + 1
    tally.examples.setdefault(place, "".join(traceback.format_exception(error))[-2000:])
