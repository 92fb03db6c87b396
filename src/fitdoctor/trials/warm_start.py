"""Starts the script twice in fresh processes: what the first one compiled, the second one reads."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from fitdoctor.analysis.beginning import Beginning, beginning_of
from fitdoctor.analysis.build_view import view_of
from fitdoctor.contract.errors import FitdoctorError
from fitdoctor.contract.evidence.compile_cache import WarmStart
from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.contract.options import RunOptions, StepLimit
from fitdoctor.contract.records import ProbeRun, RecordedWorkload, Recording
from fitdoctor.contract.results import recorded_name, to_record
from fitdoctor.contract.writer import append, record_of
from fitdoctor.devices.runs import silent_run
from fitdoctor.launch.sampler import describe_machine
from fitdoctor.pricing.cold_start import is_worth_keeping

# Two starts that take longer are not for an examination; the bound stands then.
LONGEST_START_S = 90.0
# Ended after these: only the start is timed.
STEPS = StepLimit(2, 1.0)
# JAX keeps what took a second to compile; many small programs take as long together.
KEPT_FROM_S = "0"


def try_warm_start(
    recording: Path, seen: Recording, command: Sequence[str], say: Callable[[str], None]
) -> None:
    """Where the recording gives a reason to; the result is appended to it as a probe's."""
    workload = _cold(seen)
    if workload is None:
        return
    name = recorded_name(WarmStart)
    say("compiling takes a notable part of the run: starting the script twice, with a cache")
    try:
        found = _two_starts(command)
    except FitdoctorError as error:
        failed = ProbeRun(name, "failed", error.message)
        append(recording, record_of("probe", failed, w=workload.number))
        return
    done = ProbeRun(name, "ok")
    append(recording, record_of("probe", done, w=workload.number, data=to_record(found)))


def _cold(seen: Recording) -> RecordedWorkload | None:
    """The workload whose start may be worth two more."""
    if not seen.examined and seen.exit_code != 0:
        return None
    for workload in seen.workloads:
        view = view_of(seen, workload)
        if view is None or view.beginning is None or not is_worth_keeping(view):
            continue
        if view.beginning.ns <= LONGEST_START_S * NS_PER_S:
            return workload
    return None


def _two_starts(command: Sequence[str]) -> WarmStart:
    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as folder:
        cold, warm = _start(command, folder), _start(command, folder)
        kept = sum(one.stat().st_size for one in Path(folder).rglob("*") if one.is_file())
    if not kept:
        raise FitdoctorError("the script kept no compiled program when a cache was given to it")
    return WarmStart(
        cold_ns=cold.ns,
        warm_ns=warm.ns,
        cold_compile_ns=cold.compile_ns,
        warm_compile_ns=warm.compile_ns,
        bytes=kept,
    )


def _start(command: Sequence[str], folder: str) -> Beginning:
    variables = {
        "JAX_COMPILATION_CACHE_DIR": folder,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": KEPT_FROM_S,
    }
    options = RunOptions(probes=False, limit=STEPS)
    _, found = silent_run(command, options, describe_machine(), variables)
    begun = [beginning_of(found, one) for one in found.workloads if one.parent is None]
    if not begun or begun[0] is None:
        raise FitdoctorError("the script did not train when it was started again")
    return begun[0]
