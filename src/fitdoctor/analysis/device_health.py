"""Doubts about times on a GPU: others that use it, and a clock that is held down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fitdoctor.contract.records import Accelerator, DeviceProcess, Recording, Sample
from fitdoctor.units import percent

Message = tuple[str, str]  # level, text

# At less load than this a device is not at work, and its clock says nothing.
AT_WORK_PERCENT = 20
# Of the samples at work.
OFTEN = 0.1
# A device that gives all it can is at its power limit: told, not warned of.
NORMAL = ("power limit",)


def device_health(recording: Recording) -> list[Message]:
    """What the reader must know of the GPUs before trusting times on them."""
    found: list[Message] = []
    for number, device in enumerate(recording.machine.accelerators):
        found.extend(_others(number, device))
        found.extend(_held_down(number, recording.samples))
    return found


def _others(number: int, device: Accelerator) -> list[Message]:
    names = ", ".join(_named(process) for process in device.processes or ())
    text = (
        f"GPU {number} was in use by others when the script started: {names}; times on it may "
        "be too long (close them and run again)"
    )
    return [("warning", text)] if names else []


def _named(process: DeviceProcess) -> str:
    name, memory = process.name, process.memory_bytes
    text = f"{name} (process {process.pid}" if name else f"(process {process.pid}"
    return text + (f", {memory / 2**30:.1f} GiB)" if memory else ")")


def _held_down(number: int, samples: Sequence[Sample]) -> list[Message]:
    at_work = 0
    reasons: Counter[str] = Counter()
    for sample in samples:
        devices = sample.gpu or ()
        if number >= len(devices) or (devices[number].util or 0) < AT_WORK_PERCENT:
            continue
        at_work += 1
        reasons.update(devices[number].held or ())
    return [
        (
            "info" if reason in NORMAL else "warning",
            f"the clock of GPU {number} was held down ({reason}) in {percent(count / at_work)} of "
            "the time it worked",
        )
        for reason, count in reasons.most_common()
        if count >= OFTEN * at_work
    ]
