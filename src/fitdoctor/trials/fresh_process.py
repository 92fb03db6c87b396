"""Runs the script again in fresh processes, as it is and changed, in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fitdoctor.analysis.fit_costs import fit_costs
from fitdoctor.contract.codec import encode
from fitdoctor.contract.errors import FitdoctorError
from fitdoctor.contract.evidence.device import FreshRun
from fitdoctor.contract.options import ForcedSettings, RunOptions
from fitdoctor.contract.records import ProbeRun, RecordedWorkload, Recording
from fitdoctor.contract.results import to_record
from fitdoctor.contract.writer import append, record_of
from fitdoctor.devices.runs import CPU_ONLY, silent_run
from fitdoctor.launch.sampler import describe_machine
from fitdoctor.trials.suspicion import Trial

# Half of it is recorded, see the examiner.
BUDGET_S = 10.0
ROUNDS = 2
# One pair with a ratio like this is enough.
CLEAR = 3.0


def run_trial(
    recording: Path,
    seen: Recording,
    command: Sequence[str],
    trial: Trial,
    say: Callable[[str], None],
) -> None:
    """Time the workload as it is and with the setting forced; append the result as a probe."""
    workload = next(w for w in seen.workloads if w.number == trial.workload)
    as_is: list[float] = []
    changed: list[float] = []
    words = ", ".join(f"{name} = {value}" for name, value in encode(trial.forced).items())
    say(f"{trial.reason}: trying {words} in {2 * ROUNDS} short runs of the script")
    try:
        for _ in range(ROUNDS):
            as_is.append(_step_ns(command, workload, ForcedSettings()))
            changed.append(_step_ns(command, workload, trial.forced))
            if changed[-1] >= as_is[-1] or as_is[-1] > CLEAR * changed[-1]:
                break  # a second pair could not change what this one says
    except FitdoctorError as error:
        failed = ProbeRun(trial.name, "failed", error.message)
        append(recording, record_of("probe", failed, w=workload.number))
        return
    found = FreshRun(tuple(as_is), tuple(changed), encode(trial.forced))
    done = ProbeRun(trial.name, "ok")
    append(recording, record_of("probe", done, w=workload.number, data=to_record(found)))


def _step_ns(command: Sequence[str], workload: RecordedWorkload, forced: ForcedSettings) -> float:
    """One fresh run, ended after a few seconds of training: nanoseconds per step."""
    options = RunOptions(budget_s=BUDGET_S, probes=False, forced=forced)
    variables = CPU_ONLY if forced.device == "cpu" else {}
    _, found = silent_run(command, options, describe_machine(), variables)
    same = [w for w in found.workloads if (w.file, w.line) == (workload.file, workload.line)]
    costs = fit_costs(same[0]) if same else None
    if costs is None:
        raise FitdoctorError(
            "the script did not train when it was run again with "
            f"{encode(forced) or 'nothing changed'}"
        )
    # Steady steps: what compiles again and again is another cause, and the same on any device.
    return max(1.0, costs.total.value - costs.parts.get("compile", 0.0))
