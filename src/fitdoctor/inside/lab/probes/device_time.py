"""How long the device works during a step on the frozen batch, kernel by kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.backends.device_work import device_work

# Enough for a mean; a profile of many thousand kernels takes long to read.
STEPS = 10
WARM_UP_STEPS = 3


def device_time(
    backend: Backend, call: Call, function: Callable[..., Any], batch: Any, result: Any
) -> Data:
    """Nanoseconds of device work per step.

    The profiler slows the host down, not the device: the step's own length is taken from the
    frozen batch, timed without it.
    """
    stepper = backend.stepper(call, function, batch, result)
    for _ in range(WARM_UP_STEPS):
        stepper.step()
    stepper.synchronize()

    def run() -> None:
        for _ in range(STEPS):
            stepper.step()
        stepper.synchronize()

    seen = device_work(backend.name, run)
    steps = STEPS * call.executions
    return {name: value / steps for name, value in seen.items()}
