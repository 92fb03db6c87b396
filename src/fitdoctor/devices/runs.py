"""Runs the script on each device, in fresh processes, one after the other."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from fitdoctor.contract.errors import FitdoctorError
from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import Machine, Script
from fitdoctor.devices.choices import Choice, choices
from fitdoctor.devices.environment import variables
from fitdoctor.devices.initialisation import initialisation_ns
from fitdoctor.devices.judgement import DeviceRun, Judgement, device_run, judge
from fitdoctor.launch.launcher import launch
from fitdoctor.launch.recording_files import begin
from fitdoctor.launch.sampler import describe_machine


def compare_devices(
    command: Sequence[str], script: str, *, budget_s: float, say: Callable[[str], None]
) -> Judgement:
    """Sweep the script's fit on every device of this machine."""
    machine = describe_machine()
    found: dict[str, DeviceRun] = {}
    reasons: list[str] = []
    devices = choices(machine)
    for choice in devices:
        say(f"running on the {choice.name.upper()}: training for a moment, then batch sizes")
        run = _run(command, script, choice, machine, budget_s)
        if isinstance(run, str):
            reasons.append(f"{choice.name}: {run}")
        elif run.device.kind != choice.name:
            reasons.append(f"{choice.name}: the backend computed on {run.device.name} all the same")
            found.setdefault(run.device.kind, run)
        else:
            found[choice.name] = run
    if not machine.accelerators:
        note = machine.accelerators_note or "none is in this machine"
        reasons.append(f"gpu: {note}")
    return judge(found, tuple(reasons), tried=len(devices))


def _run(
    command: Sequence[str], script: str, choice: Choice, machine: Machine, budget_s: float
) -> DeviceRun | str:
    options = RunOptions(budget_s=budget_s, sweep=True)
    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as folder:
        path = Path(folder) / "device.rec"
        begin(path, Script(script), options, machine)
        with variables(choice.environment):
            outcome = launch(command, recording=path, options=options, silent=True)
        try:
            recording = read_recording(path)
        except FitdoctorError as error:
            return error.message
        run = device_run(choice.name, recording)
    if isinstance(run, str) and outcome.code not in (0, None):
        return f"the script failed there with exit code {outcome.code}"
    if isinstance(run, DeviceRun):
        backend = str(recording.keras.backend)
        alone = initialisation_ns(command[:1], backend, choice.environment)
        return replace(run, initialisation_ns=alone)
    return run
