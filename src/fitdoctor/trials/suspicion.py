"""Which settings are worth a fresh process, from what a recording shows."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from fitdoctor.analysis.fit_costs import fit_costs
from fitdoctor.contract.evidence.device import Device
from fitdoctor.contract.evidence.loading import InputFacts, LoaderAlone
from fitdoctor.contract.evidence.operations import Operations
from fitdoctor.contract.evidence.step import FrozenBatch, Threads
from fitdoctor.contract.options import ForcedSettings
from fitdoctor.contract.records import RecordedWorkload, Recording

# On a GPU, steps shorter than this may well be start-up only.
SHORT_STEP_NS = 5_000_000
# Of a step: less of it spent on starting kernels leaves a CPU nothing to gain.
STARTING_SHARE = 0.5
# On a CPU, shorter ones leave a GPU nothing to gain.
GPU_STEP_NS = 1_000_000
# A loader on the host that takes this share of a step is the limit on any device.
LOADER_SHARE = 0.8


@dataclass(frozen=True)
class Trial:
    """One setting to force upon a fresh run of the script."""

    name: str  # of the probe that it becomes in the recording
    workload: int
    forced: ForcedSettings
    reason: str
    is_asked: bool = False  # by the user, who waits for the answer


def suspected(recording: Recording, backends: tuple[str, ...] = ()) -> list[Trial]:
    """Trials that the recording gives a reason for, and those asked for.

    Args:
        recording: The finished recording.
        backends: Other backends to try, when the user wants to know.
    """
    workload = _main_workload(recording)
    # Ended by us, or by itself and well: a script that fails would only fail again.
    if workload is None or (not recording.examined and recording.exit_code != 0):
        return []
    trials = []
    threads = workload.found(Threads)
    if threads is not None and threads.asked and threads.asked > threads.allowed:
        cores = f"{threads.allowed} allowed core{'s' if threads.allowed != 1 else ''}"
        reason = f"{threads.asked} threads are asked for on {cores}"
        forced = ForcedSettings(threads=threads.allowed)
        trials.append(Trial("fresh_threads", workload.number, forced, reason))
    trials += _device_trials(recording, workload)
    trials += (
        Trial(
            f"fresh_{name}", workload.number, ForcedSettings(backend=name), f"Keras on {name}", True
        )
        for name in backends
        if name != recording.keras.backend
    )
    return trials


def _device_trials(recording: Recording, workload: RecordedWorkload) -> list[Trial]:
    """The other device, or one device instead of several, where that may be faster."""
    device, frozen = workload.found(Device), workload.found(FrozenBatch)
    if device is None:
        return []
    if device.replicas > 1:
        reason = f"a batch is split over {device.replicas} devices"
        return [Trial("fresh_one_device", workload.number, ForcedSettings(replicas=1), reason)]
    step_ns = min(frozen.ns, default=0.0) if frozen is not None else 0.0
    if not step_ns or _waits_for_its_loader(workload):
        return []
    found = []
    if device.kind == "gpu" and step_ns < SHORT_STEP_NS and _mostly_starts(workload, step_ns):
        reason = "steps this short may be faster without the GPU"
        found.append(Trial("fresh_cpu", workload.number, ForcedSettings(device="cpu"), reason))
    hidden = device.kind == "cpu" and recording.machine.accelerators
    # A build for the CPU has nothing to try; the health lines say so.
    if hidden and device.built_for_gpu is not False and step_ns > GPU_STEP_NS:
        reason = "there is a GPU in this machine, and Keras computes on the CPU"
        found.append(Trial("fresh_gpu", workload.number, ForcedSettings(device="gpu"), reason))
    return found


def _mostly_starts(workload: RecordedWorkload, step_ns: float) -> bool:
    """A GPU that computes most of the step does what no CPU could do sooner."""
    seen = workload.found(Operations)
    if seen is None or not seen.on_device:
        return True
    return seen.starting_ns(step_ns) >= STARTING_SHARE * step_ns


def _waits_for_its_loader(workload: RecordedWorkload) -> bool:
    """Batches made on the host take as long as a step: another device would wait just as long.

    Arrays are no such loader: their rows are picked on the device.
    """
    costs = fit_costs(workload)
    facts, alone = workload.found(InputFacts), workload.found(LoaderAlone)
    if costs is None or facts is None or alone is None or not alone.ns:
        return False
    if facts.kind in ("", "arrays"):
        return False
    return median(alone.ns) >= LOADER_SHARE * costs.total.value


def _main_workload(recording: Recording) -> RecordedWorkload | None:
    fits = [w for w in recording.workloads if w.kind == "fit" and w.parent is None]
    return max(fits, key=lambda w: sum(call.dur for call in w.calls), default=None)
