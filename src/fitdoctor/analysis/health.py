"""What the reader must know before trusting the numbers; each with what to do about it."""

from __future__ import annotations

from fitdoctor.analysis.device_health import Message, device_health
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.contract.records import RecordedWorkload, Recording

FEW_STEPS = 30
NOISY_SPREAD = 2.5  # p90 over p10 of step times in groups of 50 ms
# A frozen step cannot really take longer than a real one.
FROZEN_LONGER = 1.05


def workload_health(view: View) -> list[Message]:
    """Doubts about one workload's numbers."""
    costs = view.costs
    found: list[Message] = []
    if costs.steady_steps < FEW_STEPS:
        found.append(("warning", f"only {costs.steady_steps} steady steps: intervals are wide"))
    if costs.disturbed_share > 0:
        text = (
            "other processes used the CPU while training was recorded; times may be too long "
            "(close them and run again)"
        )
        found.append(("warning", text))
    dirty = sorted(
        name
        for name, found in view.recorded.evidence.by_name.items()
        if isinstance(found, Timed) and not found.clean
    )
    if dirty:
        text = f"measured under load: {', '.join(dirty)} (other processes used the CPU)"
        found.append(("warning", text))
    real = view.costs.total if view.runs_ahead else view.core
    if view.frozen is not None and view.frozen.low > FROZEN_LONGER * real.high:
        text = (
            "steps on a frozen batch took longer than real ones: the machine was slower while "
            "probing, and gains are uncertain (run again)"
        )
        found.append(("warning", text))
    if not (view.is_group or view.runs_ahead) and costs.p90_ns > NOISY_SPREAD * costs.p10_ns > 0:
        found.append(("info", "step times vary widely; the mean is used"))
    found.extend(view.recorded.notes)
    return found


def not_measured(workload: RecordedWorkload) -> list[str]:
    """Experiments that could not be made, with the reason."""
    return [
        f"{name.replace('_', ' ')}: {probe.reason}"
        for name, probe in workload.probes.items()
        if not probe.is_ok
        and not name.startswith(("steps_per_execution", "trial_"))
        and name
        not in (
            "repeat_call",
            "compiled_step",
            "compiled_agrees",
            "array_conversion",
            "frozen_layers",
            "validation_start",
            "validation_passes",
            "frozen_in_loop",
            "loop_alone",
        )
    ]


def recording_health(recording: Recording) -> list[Message]:
    """Doubts about the whole recording."""
    found: list[Message] = list(recording.notes)
    if recording.broken_lines:
        records, more = (
            ("record was", "") if recording.broken_lines == 1 else ("records were", ", …")
        )
        text = f"{recording.broken_lines} damaged {records} left out: {recording.damage[0]}{more}"
        found.append(("warning", text))
    throttled = [one.throttled for one in recording.samples if one.throttled is not None]
    if len(throttled) > 1 and throttled[-1] > throttled[0]:
        text = (
            f"the container's CPU quota throttled the process {throttled[-1] - throttled[0]} "
            "times; ask for more CPU or fewer threads"
        )
        found.append(("warning", text))
    found.extend(device_health(recording))
    machine = recording.machine
    affinity, cpus = machine.affinity, machine.cpus
    if affinity and cpus and affinity < cpus:
        found.append(("info", f"the process may use {affinity} of {cpus} cores"))
    return found
