"""Runs the script again in fresh processes, as it is and changed, in turns."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fitdoctor.analysis.fit_costs import fit_costs
from fitdoctor.contract.errors import FitdoctorError
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import RecordedWorkload, Recording
from fitdoctor.devices.choices import CPU_ONLY
from fitdoctor.devices.environment import variables
from fitdoctor.launch.launcher import launch
from fitdoctor.launch.recording_files import append, begin, header_record
from fitdoctor.launch.sampler import machine_record
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
    say(f"{trial.reason}: trying {_words(trial)} in {2 * ROUNDS} short runs of the script")
    record: dict[str, Any] = {"k": "probe", "w": workload.number, "name": trial.name, "t": 0}
    try:
        for _ in range(ROUNDS):
            as_is.append(_step_ns(command, workload, {}))
            changed.append(_step_ns(command, workload, trial.forced))
            if changed[-1] >= as_is[-1] or as_is[-1] > CLEAR * changed[-1]:
                break  # a second pair could not change what this one says
    except FitdoctorError as error:
        append(recording, {**record, "status": "failed", "reason": error.message, "dur": 0})
        return
    data = {"as_is": as_is, "changed": changed, "forced": trial.forced}
    append(recording, {**record, "status": "ok", "data": data, "dur": 0})


def _words(trial: Trial) -> str:
    return ", ".join(f"{name} = {value}" for name, value in trial.forced.items())


def _step_ns(command: Sequence[str], workload: RecordedWorkload, forced: dict[str, Any]) -> float:
    """One fresh run, ended after a few seconds of training: nanoseconds per step."""
    options = {"budget_s": BUDGET_S, "continue": False, "probes": False, "trial": forced}
    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as folder:
        path = Path(folder) / "trial.rec"
        header = header_record(script=command[-1], argv=[], module=False, options=options)
        begin(path, header, machine_record())
        with variables(CPU_ONLY if forced.get("device") == "cpu" else {}):
            launch(command, recording=path, options=options, silent=True)
        found = read_recording(path)
    same = [w for w in found.workloads if (w.file, w.line) == (workload.file, workload.line)]
    costs = fit_costs(same[0]) if same else None
    if costs is None:
        raise FitdoctorError(
            f"the script did not train when it was run again with {forced or 'nothing changed'}"
        )
    return costs.total.value
