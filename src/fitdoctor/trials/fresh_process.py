"""Runs the script again in a fresh process with one thing changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fitdoctor.analysis.fit_costs import fit_costs
from fitdoctor.analysis.start_up import process_start_ns
from fitdoctor.contract.codec import encode
from fitdoctor.contract.errors import FitdoctorError
from fitdoctor.contract.evidence.device import FreshRun
from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.contract.options import ForcedSettings, RunOptions
from fitdoctor.contract.records import ProbeRun, RecordedWorkload, Recording
from fitdoctor.contract.results import to_record
from fitdoctor.contract.writer import append, record_of
from fitdoctor.devices.runs import CPU_ONLY, silent_run
from fitdoctor.launch.sampler import describe_machine
from fitdoctor.trials.suspicion import Trial

# Half of it is recorded, see the examiner.
BUDGET_S = 6.0
# A ratio like this to the recorded steps is enough; a smaller one is compared once more.
CLEAR = 3.0
# Ends of a process, and what a start takes longer than the one before.
SLACK_S = 2.0
# From the first step to the verdict: a second run must end before that.
VERDICT_S = 60.0


def run_trial(
    recording: Path,
    seen: Recording,
    command: Sequence[str],
    trial: Trial,
    say: Callable[[str], None],
) -> None:
    """Time the workload with the setting forced, and where that is not clear, once more as it is.

    As it is, it has just been recorded: that is the first thing to compare with. The result is
    appended as a probe.
    """
    workload = next(w for w in seen.workloads if w.number == trial.workload)
    words = ", ".join(f"{name} = {value}" for name, value in encode(trial.forced).items())
    needed_s = _start_s(seen) + BUDGET_S / 2 + SLACK_S
    say(f"{trial.reason}: trying {words} in a fresh process (about {needed_s:.0f} s)")
    try:
        changed = _step_ns(command, workload, trial.forced)
        recorded = _steady_ns(workload)
        as_is = [] if recorded is None else [recorded]
        is_clear = bool(as_is) and (changed >= as_is[0] or as_is[0] > CLEAR * changed)
        # Without a fresh run of the same length there may be no result at all.
        if not is_clear and (not as_is or _has_time(seen, trial, needed_s)):
            say(f"the script as it is, to compare with (about {needed_s:.0f} s)")
            as_is.append(_step_ns(command, workload, ForcedSettings()))
    except FitdoctorError as error:
        failed = ProbeRun(trial.name, "failed", error.message)
        append(recording, record_of("probe", failed, w=workload.number))
        return
    found = FreshRun(tuple(as_is), (changed,) * len(as_is), encode(trial.forced))
    done = ProbeRun(trial.name, "ok")
    append(recording, record_of("probe", done, w=workload.number, data=to_record(found)))


def _start_s(seen: Recording) -> float:
    """From the start of the process to its first step."""
    begin, first = process_start_ns(seen), _first_step_ns(seen)
    return 0.0 if begin is None or first is None else max(0.0, (first - begin) / NS_PER_S)


def _has_time(seen: Recording, trial: Trial, seconds: float) -> bool:
    """Whether the verdict need not wait too long for another run; who asked for it waits."""
    first = _first_step_ns(seen)
    if trial.is_asked or first is None:
        return True
    return time.perf_counter_ns() + seconds * NS_PER_S <= first + VERDICT_S * NS_PER_S


def _first_step_ns(seen: Recording) -> int | None:
    blocks = [block for one in seen.workloads for block in one.blocks]
    return min((block.t[0] for block in blocks if block.t), default=None)


def _step_ns(command: Sequence[str], workload: RecordedWorkload, forced: ForcedSettings) -> float:
    """One fresh run, ended after a few seconds of training: nanoseconds per step."""
    options = RunOptions(budget_s=BUDGET_S, probes=False, forced=forced)
    variables = CPU_ONLY if forced.device == "cpu" else {}
    _, found = silent_run(command, options, describe_machine(), variables)
    same = [w for w in found.workloads if (w.file, w.line) == (workload.file, workload.line)]
    step_ns = _steady_ns(same[0]) if same else None
    if step_ns is None:
        raise FitdoctorError(
            "the script did not train when it was run again with "
            f"{encode(forced) or 'nothing changed'}"
        )
    return step_ns


def _steady_ns(workload: RecordedWorkload) -> float | None:
    """Nanoseconds per step of a workload, as recorded.

    Without what compiles again and again: that is another cause, and the same on any device.
    """
    costs = fit_costs(workload)
    if costs is None:
        return None
    return max(1.0, costs.total.value - costs.parts.get("compile", 0.0))
