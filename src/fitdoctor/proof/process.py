"""Runs one side in a fresh process and keeps its recording."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import Recording, Script
from fitdoctor.launch import recording_files
from fitdoctor.launch.launcher import child_environment
from fitdoctor.launch.sampler import Sampler, describe_machine
from fitdoctor.launch.source_digests import append_sources
from fitdoctor.proof.side import Side

# Importing, compiling and unwinding, beyond the training that was asked for.
START_AND_END_S = 240.0
END_GRACE_S = 5.0
_POLL_S = 0.05
_ERROR_LINES = 400


@dataclass(frozen=True)
class Run:
    """What one process left behind; times in nanoseconds of the monotonic clock."""

    side: str
    recording: Recording
    path: Path
    launched_ns: int
    exit_code: int | None  # None where a signal ended it
    error: str  # last line of stderr of a run that failed
    timed_out: bool = False

    @property
    def ended_by_us(self) -> bool:
        """Whether it was stopped after the compared steps, rather than by its own end."""
        return self.recording.examined

    @property
    def failed(self) -> bool:
        """Whether the script crashed, was killed or hung before its compared steps were done."""
        return not self.ended_by_us and (self.timed_out or self.exit_code != 0)

    @property
    def how(self) -> str:
        """How it failed."""
        return self.error or f"exit code {self.exit_code}"


def run_side(
    side: Side, folder: Path, *, options: RunOptions, limit_s: float, sampled: bool = False
) -> Run:
    """Start one side and wait for it.

    Args:
        side: what to run; in our working directory and environment, with no input.
        folder: where the recording and the served text go.
        options: for the recorder in the process.
        limit_s: seconds of training it may take before it is ended by force.
        sampled: whether CPU and memory are sampled from here, as an examination needs.
    """
    recording, environment = _begun(side, folder, options)
    errors = recording.with_suffix(".err")
    launched = time.perf_counter_ns()
    with open(errors, "wb") as stderr:
        # A session of its own, so that workers that it leaves behind can be ended with it.
        process = subprocess.Popen(
            side.command(),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
        timed_out = _see_through(process, recording, START_AND_END_S + limit_s, sampled=sampled)
    code = process.returncode if process.returncode >= 0 else None
    by_signal = -process.returncode if code is None else None
    recording_files.append_exit(recording, code=code, signal=by_signal, overstayed=timed_out)
    if sampled:
        append_sources(recording)
    return Run(
        side=side.name,
        recording=read_recording(recording),
        path=recording,
        launched_ns=launched,
        exit_code=code,
        error=_last_line(errors),
        timed_out=timed_out,
    )


def _begun(side: Side, folder: Path, options: RunOptions) -> tuple[Path, dict[str, str]]:
    """A recording with its first lines, and the environment of the process that continues it."""
    handle, name = tempfile.mkstemp(suffix=".rec", prefix=f"{side.name}-", dir=folder)
    os.close(handle)
    recording = Path(name)
    if side.sources is not None:
        options = options.changed(sources=str(manifest(side, folder)))
    options = options.changed(calls=side.calls)
    script = Script(side.target, side.args, side.module)
    recording_files.begin(recording, script, options, describe_machine())
    environment = child_environment(recording, options)
    # Sets and dicts of strings in the same order on both sides.
    environment.setdefault("PYTHONHASHSEED", "0")
    return recording, environment


def manifest(side: Side, folder: Path) -> Path:
    """The file from which the process serves the side's text."""
    path = folder / f"{side.name}-sources.json"
    sources = {str(file): text for file, text in (side.sources or {}).items()}
    path.write_text(json.dumps(sources), encoding="utf-8")
    return path


def _see_through(
    process: subprocess.Popen[bytes], recording: Path, limit_s: float, *, sampled: bool
) -> bool:
    """Wait for the end, sampled or not; True where the process had to be ended."""
    sampler = Sampler(process.pid, recording) if sampled else None
    if sampler is not None:
        sampler.start()
    try:
        return _wait(process, recording, limit_s)
    finally:
        _end_group(process)
        if sampler is not None:
            sampler.stop()


def _wait(process: subprocess.Popen[bytes], recording: Path, limit_s: float) -> bool:
    """Wait for the end; True where the process had to be ended."""
    tail = recording_files.Tail(recording)
    deadline = time.monotonic() + limit_s
    asked_to_end = False
    while True:
        try:
            process.wait(_POLL_S if asked_to_end else 0.2)
            return False
        except subprocess.TimeoutExpired:
            pass
        if not asked_to_end and any(b'"k":"examined"' in line for line in tail.lines()):
            asked_to_end = True
            deadline = min(deadline, time.monotonic() + END_GRACE_S)
        if time.monotonic() > deadline:
            return True


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the process and what it started; most often nothing is left."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()


def _last_line(path: Path) -> str:
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines()[-_ERROR_LINES:] if line.strip()]
    return lines[-1] if lines else ""
