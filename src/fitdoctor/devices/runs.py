"""Runs the script on each device, in fresh processes, one after the other."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fitdoctor.contract.errors import FitdoctorError
from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import Machine, Recording, Script
from fitdoctor.devices.initialisation import initialisation_ns
from fitdoctor.devices.judgement import DeviceRun, Judgement, device_run, judge
from fitdoctor.launch.launcher import Outcome, command_line, launch
from fitdoctor.launch.recording_files import begin
from fitdoctor.launch.sampler import describe_machine

# What each backend understands as "no GPU"; set before it is imported.
CPU_ONLY = {"CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu"}


def choices(machine: Machine) -> dict[str, dict[str, str]]:
    """The CPU, and the GPU where there is one, each with the variables that choose it."""
    return {"cpu": CPU_ONLY, "gpu": {}} if machine.accelerators else {"cpu": CPU_ONLY}


def compare_devices(script: Script, *, budget_s: float, say: Callable[[str], None]) -> Judgement:
    """Sweep the script's fit on every device of this machine."""
    machine = describe_machine()
    found: dict[str, DeviceRun] = {}
    reasons: list[str] = []
    devices = choices(machine)
    for name, variables in devices.items():
        say(f"running on the {name.upper()}: training for a moment, then batch sizes")
        run = _run(script, name, variables, machine, budget_s)
        if isinstance(run, str):
            reasons.append(f"{name}: {run}")
        elif run.device.kind != name:
            reasons.append(f"{name}: the backend computed on {run.device.name} all the same")
            found.setdefault(run.device.kind, run)
        else:
            found[name] = run
    if not machine.accelerators:
        reasons.append(f"gpu: {machine.accelerators_note or 'none is in this machine'}")
    return judge(found, tuple(reasons), tried=len(devices))


def _run(
    script: Script, name: str, variables: Mapping[str, str], machine: Machine, budget_s: float
) -> DeviceRun | str:
    command = command_line(script.path, script.argv, module=script.module)
    options = RunOptions(budget_s=budget_s, sweep=True)
    try:
        outcome, recording = silent_run(command, options, machine, variables)
    except FitdoctorError as error:
        return error.message
    run = device_run(name, recording)
    if isinstance(run, DeviceRun):
        alone = initialisation_ns(command[:1], str(recording.keras.backend), variables)
        return replace(run, initialisation_ns=alone)
    return f"the script failed there with exit code {outcome.code}" if outcome.code else run


def silent_run(
    command: Sequence[str], options: RunOptions, machine: Machine, variables: Mapping[str, str]
) -> tuple[Outcome, Recording]:
    """Run a command without the terminal: how it ended, and what was recorded.

    Raises:
        RecordingError: The recording cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as folder:
        path = Path(folder) / "silent.rec"
        begin(path, Script(command[-1]), options, machine)
        outcome = launch(command, recording=path, options=options, silent=True, variables=variables)
        return outcome, read_recording(path)
